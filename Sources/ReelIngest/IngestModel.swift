import Observation
import ReelCore
import ReelSource

/// Takes a batch of videos in: the view model of `reel ingest`, and of any app that does the same.
///
/// A view observes ``state``, reads ``events()``, and calls ``run()`` once:
///
/// ```swift
/// let model = IngestModel(inputs: [SourceInput(path: "clips")], options: IngestOptions(), services: services)
/// for await event in model.start() { print(event.body.type) }
/// ```
@MainActor
@Observable
public final class IngestModel {
  /// The newest state, some sixty times a second at most, and always the last one.
  public private(set) var state = IngestState()

  @ObservationIgnored private let makeWalk: @Sendable () -> SourceWalk
  @ObservationIgnored private let pipeline: IngestPipeline
  @ObservationIgnored private var running: Task<RunSummary, Never>?

  /// - Parameters:
  ///   - inputs: files and folders, in the order they are to be taken in.
  ///   - walkOptions: what of them is looked at.
  public init(
    inputs: [SourceInput], walkOptions: WalkOptions = WalkOptions(), options: IngestOptions,
    services: IngestServices
  ) {
    makeWalk = { SourceWalk(inputs: inputs, options: walkOptions) }
    pipeline = IngestPipeline(
      services: services, options: options, hub: EventHub(clock: services.clock))
  }

  /// A stream of the run's events from now on, one for each observer. Dropping it changes nothing for the run
  /// or for others.
  public func events() -> IngestEvents {
    IngestEvents(hub: pipeline.hub)
  }

  /// Says that `events` have gone where they were to go: what is told of posts in them is not told again. Call it
  /// before the catalog is closed, of each batch in order. See ``IngestOptions/isAcknowledged``.
  public nonisolated func acknowledge(_ events: [IngestEvent]) async {
    await pipeline.acknowledge(events)
  }

  /// Takes everything in, and ends with the one summary that `run.finished` tells too. Cancelling the calling task
  /// cancels the run: what is in flight is rolled back or finished. A second call gives the first one's result.
  @discardableResult
  public func run() async -> RunSummary {
    let task = launch()
    return await withTaskCancellationHandler {
      await task.value
    } onCancel: {
      task.cancel()
    }
  }

  /// Runs, and gives the events. Dropping the stream cancels the run.
  public func start() -> IngestEvents {
    // Subscribed before the run begins, so that nothing is missed.
    let stream = events()
    return stream.owning(launch(), of: self)
  }

  func launch() -> Task<RunSummary, Never> {
    if let running { return running }
    let (pipeline, makeWalk) = (pipeline, makeWalk)
    let changes = pipeline.hub.changes()
    let task = Task { [weak self] in
      async let summary = pipeline.run(makeWalk)
      for await _ in changes {
        self?.state = pipeline.hub.snapshot
        // A cancelled run hurries; its last state is set below all the same.
        try? await Task.sleep(for: .milliseconds(16))
      }
      let ended = await summary
      self?.state = pipeline.hub.snapshot
      return ended
    }
    running = task
    return task
  }

  deinit {
    running?.cancel()
  }
}
