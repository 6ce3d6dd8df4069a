import ReelCore
import Synchronization

/// The events of a run, from the moment the stream was created until `run.finished`.
///
/// Several observers each get every event. One stream is for one reader.
public struct IngestEvents: AsyncSequence, Sendable {
  /// One event.
  public typealias Element = IngestEvent
  /// Events never fail; a run that fails reports it in `run.finished`.
  public typealias Failure = Never

  private let slot: ObserverSlot

  init(hub: EventHub) {
    slot = ObserverSlot(hub: hub)
  }

  /// Creates a reader of the stream. Only one may wait at a time; use two streams for two readers.
  public func makeAsyncIterator() -> Iterator {
    Iterator(slot: slot)
  }

  /// The same events in batches, as they accumulate while the reader is busy; no batch is empty. Cheaper for a reader
  /// that writes them out.
  public func batches() -> AsyncStream<[IngestEvent]> {
    let slot = slot
    return AsyncStream { await slot.subscription.nextBatch() }
  }

  /// Reads the events; those that arrived while the reader was busy are taken all at once.
  public struct Iterator: AsyncIteratorProtocol {
    private let slot: ObserverSlot
    private var batch: ArraySlice<IngestEvent> = []

    fileprivate init(slot: ObserverSlot) {
      self.slot = slot
    }

    var subscription: Subscription { slot.subscription }

    /// Returns an event that has already been taken from the buffer, if any.
    mutating func popFirst() -> IngestEvent? { batch.popFirst() }

    mutating func refill(_ fresh: [IngestEvent]?) { batch = fresh.map { $0[...] } ?? [] }

    /// Waits for the next event and returns it. Returns nil after the run's last event, or when the reading task is
    /// cancelled.
    public mutating func next(isolation actor: isolated (any Actor)? = #isolation) async -> IngestEvent? {
      if batch.isEmpty { refill(await subscription.nextBatch()) }
      return batch.popFirst()
    }
  }
}

/// An observer's subscription, ended when the last copy of its stream is released.
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
  /// Readers to resume, once no lock is held.
  struct Wakeup {
    fileprivate let continuations: [CheckedContinuation<Void, Never>]

    func fire() {
      for continuation in continuations { continuation.resume() }
    }
  }

  fileprivate struct State {
    /// The unread events, oldest first, in the batches in which they are handed out. Nil for progress that a newer
    /// event has replaced.
    var batches: [[IngestEvent?]] = []
    var unread = 0
    var overtaken = 0
    /// The number of batches taken before the first of `batches`.
    var taken = 0
    /// The position of the newest progress event of each file; key 0 is the walk's.
    var progress: [Int: (batch: Int, index: Int)] = [:]
    var isFinished = false
    var lastRead = ContinuousClock.now
    var readers: [CheckedContinuation<Void, Never>] = []
  }
  private let state = Mutex(State())

  init(patience: Duration) {
    self.patience = patience
  }

  /// Appends `events` to the buffer. Fire the result once no lock is held.
  func offer(_ events: [IngestEvent]) -> Wakeup? {
    state.withLock { state in
      for event in events { state.append(event) }
      return state.takeReaders()
    }
  }

  /// The number of unread events, some 10 MB, beyond which a reader is far behind.
  private static let far = 8192
  /// A reader that has taken nothing for this long has stopped.
  private let patience: Duration
  /// The largest number of events handed out at once. A reader that needs longer than `patience` for them reads only
  /// about a hundred per second.
  fileprivate static let batch = 512

  /// Whether many events are unread although the reader is active.
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

  /// Returns the events since the last call (or since the subscription), waiting for some to arrive; nil at the end.
  /// - Parameter endsWithTask: whether to return nil also when the reading task is cancelled.
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

  /// Takes the oldest batch, which is empty if newer progress has replaced all of it; nil if there is none.
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

  /// Removes the replaced events, so that progress alone can't make a stuck observer's buffer grow.
  private mutating func closeGaps() {
    let kept = batches.joined().compactMap { $0 }
    (batches, unread, overtaken) = ([], 0, 0)
    progress.removeAll(keepingCapacity: true)
    for event in kept { place(event) }
  }
}
