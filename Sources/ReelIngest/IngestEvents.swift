import ReelCore

/// The events of a run, from the moment it was asked for until `run.finished`.
///
/// Each has a place of its own in the run: several observers each get every event. One stream is for one
/// reader.
public struct IngestEvents: AsyncSequence, Sendable {
  /// One event.
  public typealias Element = IngestEvent
  /// Events never fail; a run that does says so in `run.finished`.
  public typealias Failure = Never

  private let seat: ObserverSlot
  private let owner: RunOwner?

  init(hub: EventHub) {
    seat = ObserverSlot(hub: hub)
    owner = nil
  }

  /// The same stream, whose run ends with it.
  func owning(_ run: Task<RunSummary, Never>, of model: IngestModel) -> IngestEvents {
    IngestEvents(seat: seat, owner: RunOwner(run: run, model: model))
  }

  private init(seat: ObserverSlot, owner: RunOwner?) {
    self.seat = seat
    self.owner = owner
  }

  /// A reader of the stream. One at a time: two that wait at once are a mistake; ask for two streams instead.
  public func makeAsyncIterator() -> Iterator {
    Iterator(seat: seat, owner: owner)
  }

  /// The same events, as they pile up while the reader is busy; never an empty batch. Cheaper for whoever
  /// writes them somewhere.
  public func batches() -> AsyncStream<[IngestEvent]> {
    // With its owner: the run lives as long as whoever reads it in batches.
    let stream = self
    return AsyncStream { await stream.seat.subscription.nextBatch() }
  }

  /// Reads the events; what came while the reader was busy is taken in one go.
  public struct Iterator: AsyncIteratorProtocol {
    private let seat: ObserverSlot
    private let owner: RunOwner?
    private var batch: ArraySlice<IngestEvent> = []

    fileprivate init(seat: ObserverSlot, owner: RunOwner?) {
      self.seat = seat
      self.owner = owner
    }

    /// The next event; waits for it. Nil after the run's last one, or when the reading task is cancelled.
    public mutating func next(isolation actor: isolated (any Actor)?) async -> IngestEvent? {
      if let event = batch.popFirst() { return event }
      guard let fresh = await seat.subscription.nextBatch() else { return nil }
      batch = fresh[...]
      return batch.popFirst()
    }

    /// The same, on no actor.
    public mutating func next() async -> IngestEvent? {
      await next(isolation: nil)
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

/// Cancels the run when the last copy of the stream that owns it goes.
private final class RunOwner: Sendable {
  private let run: Task<RunSummary, Never>
  /// Kept: a stream may be all that anybody holds of its run.
  private let model: IngestModel

  init(run: Task<RunSummary, Never>, model: IngestModel) {
    self.run = run
    self.model = model
  }

  deinit {
    run.cancel()
  }
}
