import Synchronization

/// One observer's buffer of events.
final class Subscription: Sendable {
  /// A reader to be woken, outside of every lock.
  struct Wakeup {
    fileprivate let continuations: [CheckedContinuation<Void, Never>]

    func fire() {
      for continuation in continuations { continuation.resume() }
    }
  }

  fileprivate struct State {
    /// Nil where progress was overtaken, and before `head`.
    var buffer: [IngestEvent?] = []
    /// Where what is unread begins in `buffer`.
    var head = 0
    /// How much of what is unread was overtaken.
    var overtaken = 0
    /// Where the newest progress of each file stands in `buffer`; 0 is the walk's.
    var progress: [Int: Int] = [:]
    var isFinished = false
    var lastRead = ContinuousClock.now
    var readers: [CheckedContinuation<Void, Never>] = []
  }
  private let state = Mutex(State())

  /// Takes `events` in. The result is to be fired when no lock is held.
  func offer(_ events: [IngestEvent]) -> Wakeup? {
    state.withLock { state in
      for event in events { state.append(event) }
      return state.takeReaders()
    }
  }

  /// Events in the buffer from which on a reader is far behind: some 10 MB.
  private static let far = 8192
  /// A reader that has taken nothing for so long has stopped.
  private static let patience = Duration.seconds(5)
  /// As many are read at once at most. One who takes longer than `patience` for so few reads less than a hundred a second.
  private static let batch = 512

  /// Whether much is unread although somebody reads.
  var isFarBehind: Bool {
    state.withLock { state in
      state.unread > Self.far && state.lastRead.duration(to: .now) < Self.patience
    }
  }

  func finish() -> Wakeup? {
    state.withLock { state in
      state.isFinished = true
      return state.takeReaders()
    }
  }

  /// What has come since the last call, or the first of it; waits for some; nil at the end or when the reading task is
  /// cancelled.
  func nextBatch() async -> [IngestEvent]? {
    while !Task.isCancelled {
      let (batch, isFinished) = state.withLock { state in (state.take(Self.batch), state.isFinished) }
      if let batch {
        if batch.isEmpty { continue }
        return batch
      }
      if isFinished { return nil }
      await waitForMore()
    }
    return nil
  }

  private func waitForMore() async {
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let isReady = state.withLock { state in
          if state.unread > 0 || state.isFinished || Task.isCancelled { return true }
          state.readers.append(continuation)
          return false
        }
        if isReady { continuation.resume() }
      }
    } onCancel: {
      state.withLock { $0.takeReaders() }?.fire()
    }
  }
}

extension Subscription.State {
  fileprivate mutating func takeReaders() -> Subscription.Wakeup? {
    guard !readers.isEmpty else { return nil }
    defer { readers = [] }
    return Subscription.Wakeup(continuations: readers)
  }

  /// Events in the buffer, and places of overtaken ones.
  fileprivate var unread: Int { buffer.count - head }

  fileprivate mutating func append(_ event: IngestEvent) {
    if event.body.coalesces {
      let file = event.body.file?.number ?? 0
      if let older = progress[file], older >= head {
        buffer[older] = nil
        overtaken += 1
      }
      progress[file] = buffer.count
    }
    buffer.append(event)
    if overtaken > 64, overtaken > unread / 2 { compact() }
  }

  /// The first events of at most `count` places; nil when there is none.
  fileprivate mutating func take(_ count: Int) -> [IngestEvent]? {
    lastRead = .now
    guard unread > 0 else { return nil }
    let taken = head..<min(head + count, buffer.count)
    let events = buffer[taken].compactMap { $0 }
    overtaken -= taken.count - events.count
    head = taken.upperBound
    if head == buffer.count {
      forgetBuffer()
    } else if head > buffer.count / 2 {
      compact()
    } else {
      for index in taken { buffer[index] = nil }
    }
    return events
  }

  private mutating func forgetBuffer() {
    buffer.removeAll(keepingCapacity: buffer.count < 1024)
    progress.removeAll(keepingCapacity: true)
    (head, overtaken) = (0, 0)
  }

  /// Keeps a stuck observer's buffer from growing by progress alone, and a slow one's by what it has read.
  private mutating func compact() {
    let kept = buffer[head...].compactMap { $0 }
    forgetBuffer()
    buffer = kept
    for (index, event) in kept.enumerated() where event.body.coalesces {
      progress[event.body.file?.number ?? 0] = index
    }
  }
}
