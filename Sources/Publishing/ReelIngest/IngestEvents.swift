import ReelCore
import Synchronization

/// The events of a run, from the moment it was asked for until `run.finished`.
///
/// Each has a place of its own in the run: several observers each get every event. One stream is for one
/// reader.
public struct IngestEvents: AsyncSequence, Sendable {
  /// One event.
  public typealias Element = IngestEvent
  /// Events never fail; a run that does says so in `run.finished`.
  public typealias Failure = Never

  private let slot: ObserverSlot

  init(hub: EventHub) {
    slot = ObserverSlot(hub: hub)
  }

  /// A reader of the stream. One at a time: two that wait at once are a mistake; ask for two streams instead.
  public func makeAsyncIterator() -> Iterator {
    Iterator(slot: slot)
  }

  /// The same events, as they pile up while the reader is busy; never an empty batch. Cheaper for whoever
  /// writes them somewhere.
  public func batches() -> AsyncStream<[IngestEvent]> {
    let slot = slot
    return AsyncStream { await slot.subscription.nextBatch() }
  }

  /// Reads the events; what came while the reader was busy is taken in one go.
  public struct Iterator: AsyncIteratorProtocol {
    private let slot: ObserverSlot
    private var batch: ArraySlice<IngestEvent> = []

    fileprivate init(slot: ObserverSlot) {
      self.slot = slot
    }

    var subscription: Subscription { slot.subscription }

    /// One that has come already.
    mutating func popFirst() -> IngestEvent? { batch.popFirst() }

    mutating func refill(_ fresh: [IngestEvent]?) { batch = fresh.map { $0[...] } ?? [] }

    /// The next event; waits for it. Nil after the run's last one, or when the reading task is cancelled.
    public mutating func next(isolation actor: isolated (any Actor)? = #isolation) async -> IngestEvent? {
      if batch.isEmpty { refill(await subscription.nextBatch()) }
      return batch.popFirst()
    }
  }
}

/// An observer's place, given back when the last copy of its stream goes.
private final class ObserverSlot: Sendable {
  let subscription: Subscription
  private let hub: EventHub

  init(hub: EventHub) {
    self.hub = hub
    subscription = hub.subscribe()
  }

  deinit {
    hub.unsubscribe(subscription)
  }
}

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
    /// What is unread, the oldest first, as it is handed out. Nil where progress was overtaken.
    var batches: [[IngestEvent?]] = []
    var unread = 0
    var overtaken = 0
    /// How many batches came before the first of `batches`.
    var taken = 0
    /// Where the newest progress of each file stands; 0 is the walk's.
    var progress: [Int: (batch: Int, index: Int)] = [:]
    var isFinished = false
    var lastRead = ContinuousClock.now
    var readers: [CheckedContinuation<Void, Never>] = []
  }
  private let state = Mutex(State())

  init(patience: Duration) {
    self.patience = patience
  }

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
  private let patience: Duration
  /// As many are read at once at most. Who takes longer than `patience` for so few reads some hundred a second.
  fileprivate static let batch = 512

  /// Whether much is unread although somebody reads.
  var isFarBehind: Bool {
    state.withLock { state in
      state.unread > Self.far && state.lastRead.duration(to: .now) < patience
    }
  }

  func finish() -> Wakeup? {
    state.withLock { state in
      state.isFinished = true
      return state.takeReaders()
    }
  }

  /// What has come since the last call, or the first of it; waits for some; nil at the end.
  /// - Parameter endsWithTask: whether it is nil when the reading task is cancelled, too.
  func nextBatch(endsWithTask: Bool = true) async -> [IngestEvent]? {
    while !(endsWithTask && Task.isCancelled) {
      let (batch, isFinished) = state.withLock { state in (state.takeBatch(), state.isFinished) }
      if let batch {
        if batch.isEmpty { continue }
        return batch
      }
      if isFinished { return nil }
      await waitForMore(endsWithTask)
    }
    return nil
  }

  private func waitForMore(_ endsWithTask: Bool) async {
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let isReady = state.withLock { state in
          if state.unread > 0 || state.isFinished || endsWithTask && Task.isCancelled { return true }
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
    place(event)
    if overtaken > 64, overtaken > unread / 2 { closeGaps() }
  }

  private mutating func place(_ event: IngestEvent) {
    if batches.last.map({ $0.count == Subscription.batch }) ?? true { batches.append([]) }
    let newest = batches.count - 1
    if event.body.coalesces {
      let file = event.body.file?.number ?? 0
      if let older = progress[file], older.batch >= taken {
        batches[older.batch - taken][older.index] = nil
        overtaken += 1
      }
      progress[file] = (taken + newest, batches[newest].count)
    }
    batches[newest].append(event)
    unread += 1
  }

  /// The oldest batch, which may have been overtaken as a whole; nil when there is none.
  fileprivate mutating func takeBatch() -> [IngestEvent]? {
    lastRead = .now
    guard !batches.isEmpty else { return nil }
    let oldest = batches.removeFirst()
    let events = oldest.compactMap { $0 }
    for event in events where event.body.coalesces {
      let file = event.body.file?.number ?? 0
      if progress[file]?.batch == taken { progress[file] = nil }
    }
    taken += 1
    unread -= oldest.count
    overtaken -= oldest.count - events.count
    return events
  }

  /// Keeps a stuck observer's buffer from growing by progress alone.
  private mutating func closeGaps() {
    let kept = batches.joined().compactMap { $0 }
    (batches, unread, overtaken) = ([], 0, 0)
    progress.removeAll(keepingCapacity: true)
    for event in kept { place(event) }
  }
}
