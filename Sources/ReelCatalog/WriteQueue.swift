/// What waits to be written, and whether somebody is writing: decides, and does nothing itself.
struct WriteQueue {
  /// What whoever changed the queue has to do next.
  enum Step {
    /// Nothing: the writer comes by.
    case wait
    /// Write the next group now.
    case commit
    /// Look again in a moment.
    case flushLater
    /// Nothing was taken in.
    case refuse
  }

  /// Rows in a group; about 50 ms of work.
  static let largestGroup = 512
  /// Writes that nobody waits for are kept over a failure while fewer than this are pending.
  static let mostKept = 10_000

  /// Whoever hands in what nobody waits for waits while more than this is pending.
  static let crowd = 4 * largestGroup

  private(set) var pending: [any PendingWrite] = []
  private var isCommitting = false
  private var isFlushDue = false
  private var isClosed = false

  var isCrowded: Bool { pending.count > Self.crowd }

  /// Takes a write in. An idle queue writes one that somebody waits for at once.
  mutating func handIn(_ write: any PendingWrite) -> Step {
    if isClosed { return .refuse }
    pending.append(write)
    if isCommitting { return .wait }
    return write.isAwaited || pending.count >= Self.largestGroup ? beginCommitting() : flushDue()
  }

  /// The moment of `flushLater` has come.
  mutating func flush() -> Step {
    isFlushDue = false
    return isCommitting || isClosed || pending.isEmpty ? .wait : beginCommitting()
  }

  mutating func takeGroup() -> [any PendingWrite] {
    let group = Array(pending.prefix(Self.largestGroup))
    pending.removeFirst(group.count)
    return group
  }

  /// What to do after a group. Writes of a failed one that nobody waits for are tried again a little later,
  /// as long as they are few.
  mutating func next(after group: [any PendingWrite], failed: Bool) -> Step {
    isCommitting = false
    if failed, pending.count < Self.mostKept {
      pending.insert(contentsOf: group.filter { !$0.isAwaited }, at: 0)
    }
    if pending.isEmpty { return .wait }
    return !failed || pending.contains { $0.isAwaited } ? beginCommitting() : flushDue()
  }

  /// Takes nothing in any more; what is pending is still written.
  mutating func close() {
    isClosed = true
  }

  /// Gives up: nothing is taken in or written any more. Gives what was pending.
  mutating func abandon() -> [any PendingWrite] {
    isClosed = true
    defer { pending = [] }
    return pending
  }

  private mutating func beginCommitting() -> Step {
    isCommitting = true
    return .commit
  }

  private mutating func flushDue() -> Step {
    defer { isFlushDue = true }
    return isFlushDue ? .wait : .flushLater
  }
}
