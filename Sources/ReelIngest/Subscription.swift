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
    /// Nil where progress was overtaken.
    var buffer: [IngestEvent?] = []
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

  /// Whether much is unread although somebody reads.
  var isFarBehind: Bool {
    state.withLock { state in
      state.buffer.count > Self.far && state.lastRead.duration(to: .now) < Self.patience
    }
  }

  func finish() -> Wakeup? {
    state.withLock { state in
      state.isFinished = true
      return state.takeReaders()
    }
  }

  /// Everything that has come since the last call; waits for the first; nil at the end or when the reading task
  /// is cancelled.
  func nextBatch() async -> [IngestEvent]? {
    while !Task.isCancelled {
      let (batch, isFinished) = state.withLock { state in (state.drain(), state.isFinished) }
      if !batch.isEmpty { return batch }
      if isFinished { return nil }
      await waitForMore()
    }
    return nil
  }

  private func waitForMore() async {
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let isReady = state.withLock { state in
          if !state.buffer.isEmpty || state.isFinished || Task.isCancelled { return true }
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

  fileprivate mutating func append(_ event: IngestEvent) {
    if event.body.coalesces {
      let file = event.body.file?.number ?? 0
      if let older = progress[file] {
        buffer[older] = nil
        overtaken += 1
      }
      progress[file] = buffer.count
    }
    buffer.append(event)
    compactIfWorthwhile()
  }

  fileprivate mutating func drain() -> [IngestEvent] {
    lastRead = .now
    defer { self.forgetBuffer() }
    return buffer.compactMap { $0 }
  }

  private mutating func forgetBuffer() {
    buffer.removeAll(keepingCapacity: buffer.count < 1024)
    progress.removeAll(keepingCapacity: true)
    overtaken = 0
  }

  /// Keeps a stuck observer's buffer from growing by progress alone.
  fileprivate mutating func compactIfWorthwhile() {
    guard overtaken > 64, overtaken > buffer.count / 2 else { return }
    let kept = buffer.compactMap { $0 }
    forgetBuffer()
    buffer = kept
    for (index, event) in kept.enumerated() where event.body.coalesces {
      progress[event.body.file?.number ?? 0] = index
    }
  }
}
