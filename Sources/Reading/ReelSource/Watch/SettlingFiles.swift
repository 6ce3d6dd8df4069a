import ReelCore

/// When the files of a watched folder are taken in: as soon as their writer has closed them, else once they have not
/// changed for a while.
///
/// It is told what is seen, and when; it asks nothing itself. Times are counted from any one moment.
package struct SettlingFiles: Sendable {
  /// How long a file is left alone.
  package struct Waits: Hashable, Sendable {
    /// One that nobody is known to have closed.
    package var settle: Duration
    /// One that looks cut off, or has parts that were never written.
    package var secondLook: Duration
    /// One of which nobody can tell whether it is still open.
    package var unknown: Duration

    /// How many times longer such a one is left alone than others.
    private static let patience = 30

    /// - Parameters: as the properties; `unknown` by default follows from `settle`.
    package init(
      settle: Duration = .seconds(2), secondLook: Duration = .seconds(30), unknown: Duration? = nil
    ) {
      (self.settle, self.secondLook) = (settle, max(settle, secondLook))
      self.unknown = unknown ?? settle * Self.patience
    }
  }

  /// What becomes of a file that was seen.
  package enum Verdict: Hashable, Sendable {
    /// It is looked at again when it is due.
    case waits
    /// It has not changed for so long.
    case settled(Duration)
    /// It was settled in this very state.
    case known
  }

  private struct Waiting {
    var identity: FileIdentity?
    /// Since when it has not changed, as far as that was seen.
    var since: Duration
    var due: Duration
    /// How long it has to be left alone.
    var needed: Duration
    /// Whether that its writer closes it says nothing.
    var mustRest = false
    /// What it was when its writer was seen to close it last.
    var closed: FileIdentity?
    /// Whether it was told that somebody keeps it open.
    var isTold = false
    /// Of its one entry in the schedule.
    var ticket = 0
  }

  private let waits: Waits
  private var waiting: [SourcePath: Waiting] = [:]
  private var schedule = DueTimes()
  private var lastTicket = 0
  /// What was settled and is there, by hashes of path and state: a few bytes for each file.
  private var done: [Int: Int] = [:]
  /// Those of them, by their paths' hashes, of which nobody could tell whether they were closed.
  private var unproven: Set<Int> = []

  package init(_ waits: Waits = Waits()) { self.waits = waits }

  /// Files that are waited for.
  package var count: Int { waiting.count }

  /// When the next file is due; nil where none is waited for. It may turn out that one is due later.
  package var nextDue: Duration? { schedule.first }

  /// Something has happened to `path` that says nothing of its being done.
  package mutating func noticed(_ path: SourcePath, at now: Duration) {
    guard waiting[path] == nil else { return }
    wait(for: path, Waiting(identity: nil, since: now, due: now + waits.settle, needed: waits.settle))
  }

  /// `path` is there, in the state `identity`.
  /// - Parameters:
  ///   - age: how long it has not changed by its own times; zero where these can't be trusted.
  ///   - isClosed: whether its writer has just closed it.
  package mutating func saw(
    _ path: SourcePath, _ identity: FileIdentity, age: Duration, isClosed: Bool, at now: Duration
  ) -> Verdict {
    if done[path.hashValue] == identity.hashValue {
      // Now it is known, so it can be disposed of.
      guard isClosed, unproven.remove(path.hashValue) != nil else { return .known }
    }
    let known = waiting[path]
    let isSame = known?.identity == identity
    let since = isSame ? known?.since ?? now : now - max(.zero, age)
    let needed = isSame ? known?.needed ?? waits.settle : waits.settle
    let mustRest = known?.mustRest ?? false
    let closed = isClosed ? identity : known?.closed
    if now - since >= needed || isClosed && needed == waits.settle && !mustRest {
      waiting[path] = nil
      done[path.hashValue] = identity.hashValue
      return .settled(now - since)
    }
    wait(
      for: path,
      Waiting(
        identity: identity, since: since, due: since + needed, needed: needed, mustRest: mustRest,
        closed: closed, isTold: isSame && known?.isTold ?? false))
    return .waits
  }

  /// What `path` was when its writer was seen to close it last; nil where that was not seen. To be asked before
  /// ``saw(_:_:age:isClosed:at:)``, which forgets it with the file.
  func closing(of path: SourcePath) -> FileIdentity? { waiting[path]?.closed }

  /// It was settled, has not changed for `rest`, and is given again once that is `needed`, or its writer closes it.
  mutating func rests(
    _ path: SourcePath, _ identity: FileIdentity, after rest: Duration, until needed: Duration,
    closed: FileIdentity?, at now: Duration
  ) {
    wait(
      for: path,
      Waiting(
        identity: identity, since: now - rest, due: now - rest + needed, needed: waits.settle, closed: closed)
    )
  }

  /// It was settled, has not changed for `rest`, and somebody has it open for writing: it is looked at again and again.
  /// - Returns: whether that is to be told: it has not changed for as long as one that looks cut off, and it is new.
  mutating func isOpen(
    _ path: SourcePath, _ identity: FileIdentity, after rest: Duration, wasTold: Bool, at now: Duration
  ) -> Bool {
    let isNew = !wasTold && rest >= waits.secondLook
    wait(
      for: path,
      Waiting(
        identity: identity, since: now - rest, due: now + max(waits.settle, Self.shortestPause),
        needed: waits.settle, isTold: wasTold || isNew))
    return isNew
  }

  /// Whether it was told of `path` that somebody keeps it open. To be asked before ``saw(_:_:age:isClosed:at:)``.
  func isTold(_ path: SourcePath) -> Bool { waiting[path]?.isTold ?? false }

  /// Between two looks at a file that is open.
  private static let shortestPause = Duration.seconds(1)

  /// It was settled, has not changed for `rest`, and looks cut off: it is settled again when it has been left alone for
  /// longer.
  /// - Returns: false when it has been for long enough.
  package mutating func looksCutOff(
    _ path: SourcePath, _ identity: FileIdentity, after rest: Duration, closed: FileIdentity? = nil,
    at now: Duration
  ) -> Bool {
    guard rest < waits.secondLook else { return false }
    wait(
      for: path,
      Waiting(
        identity: identity, since: now - rest, due: now - rest + waits.secondLook, needed: waits.secondLook,
        closed: closed))
    return true
  }

  /// It could not be dealt with, and is settled again after `delay` if it does not change.
  package mutating func retry(
    _ path: SourcePath, _ identity: FileIdentity, after delay: Duration, closed: FileIdentity? = nil,
    at now: Duration
  ) {
    wait(
      for: path, Waiting(identity: identity, since: now, due: now + delay, needed: delay, closed: closed))
  }

  /// It was settled, and changed while it was dealt with: its writer closes it and goes on, so it has to rest.
  /// - Parameter closed: what it was when its writer was seen to close it.
  package mutating func changed(_ path: SourcePath, closed: FileIdentity? = nil, at now: Duration) {
    wait(
      for: path,
      Waiting(
        identity: nil, since: now, due: now + waits.settle, needed: waits.settle, mustRest: true,
        closed: closed))
  }

  /// It can't even be opened.
  /// - Returns: whether that is new.
  package mutating func isUnreachable(_ path: SourcePath) -> Bool {
    waiting[path] = nil
    return done.updateValue(0, forKey: path.hashValue) != 0
  }

  /// It was settled, and nobody could tell whether it was closed: once its writer is seen to close it, it is settled again.
  mutating func isUnproven(_ path: SourcePath) { unproven.insert(path.hashValue) }

  /// It is not there any more, or is none to be taken.
  package mutating func forget(_ path: SourcePath) {
    waiting[path] = nil
    done[path.hashValue] = nil
    unproven.remove(path.hashValue)
  }

  /// The files that are to be looked at by now, at most `count`. Whoever looks tells what is seen; until then they are due
  /// again and again.
  package mutating func due(upTo count: Int, at now: Duration) -> [SourcePath] {
    var paths: [SourcePath] = []
    while paths.count < count, let entry = schedule.popFirst(by: now) {
      guard var known = waiting[entry.path], known.ticket == entry.ticket else { continue }
      if known.due <= now {
        paths.append(entry.path)
        known.due = now + waits.settle
        waiting[entry.path] = known
      }
      schedule.insert(entry.path, at: known.due, ticket: entry.ticket)
    }
    return paths
  }

  /// A walk has come to its end: what it has not seen is not there any more.
  /// - Parameter seen: the `hashValue` of each path.
  mutating func keep(_ seen: Set<Int>) {
    done = done.filter { seen.contains($0.key) }
    unproven.formIntersection(seen)
  }

  private mutating func wait(for path: SourcePath, _ next: Waiting) {
    done[path.hashValue] = nil
    unproven.remove(path.hashValue)
    var next = next
    if let known = waiting[path], known.due <= next.due {
      // Its entry comes early, and finds out.
      next.ticket = known.ticket
    } else {
      lastTicket += 1
      next.ticket = lastTicket
      schedule.insert(path, at: next.due, ticket: next.ticket)
    }
    waiting[path] = next
  }
}

/// Paths by the time when they are due: a heap.
private struct DueTimes: Sendable {
  typealias Entry = (time: Duration, path: SourcePath, ticket: Int)
  private var entries: [Entry] = []

  var first: Duration? { entries.first?.time }

  mutating func insert(_ path: SourcePath, at time: Duration, ticket: Int) {
    entries.append((time, path, ticket))
    var index = entries.count - 1
    while index > 0, entries[(index - 1) / 2].time > entries[index].time {
      entries.swapAt(index, (index - 1) / 2)
      index = (index - 1) / 2
    }
  }

  mutating func popFirst(by now: Duration) -> Entry? {
    guard let first = entries.first, first.time <= now else { return nil }
    entries.swapAt(0, entries.count - 1)
    entries.removeLast()
    var index = 0
    while true {
      let children = [2 * index + 1, 2 * index + 2].filter { $0 < entries.count }
      guard let least = children.min(by: { entries[$0].time < entries[$1].time }),
        entries[least].time < entries[index].time
      else { break }
      entries.swapAt(index, least)
      index = least
    }
    return first
  }
}
