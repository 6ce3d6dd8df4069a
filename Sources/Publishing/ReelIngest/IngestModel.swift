import Observation
import ReelCore
import ReelSource

/// Ingests a batch of videos: the view model of `reel ingest`, and of any app that does the same.
///
/// A view observes ``state``, and calls ``run()`` once:
///
/// ```swift
/// let model = IngestModel(inputs: [SourceInput(path: "clips")], options: IngestOptions(), services: services)
/// let summary = await model.run()
/// ```
///
/// Code without a view uses an ``IngestRun``, which needs no main actor.
@MainActor
@Observable
public final class IngestModel {
  /// The current state, updated at most about sixty times a second, and always with the final state.
  public private(set) var state = IngestState()

  @ObservationIgnored private let ingest: IngestRun
  @ObservationIgnored private var running: Task<RunSummary, Never>?

  /// - Parameters:
  ///   - inputs: files and folders, in the order in which they are to be processed.
  ///   - walkOptions: which of their files are considered.
  public init(
    inputs: [SourceInput], walkOptions: WalkOptions = WalkOptions(),
    options: IngestOptions = IngestOptions(), services: IngestServices
  ) {
    ingest = IngestRun(inputs: inputs, walkOptions: walkOptions, options: options, services: services)
  }

  /// Creates a model that processes what `feed` hands out, until the feed ends.
  package init(feed: any FileFeed, options: IngestOptions, services: IngestServices) {
    ingest = IngestRun(feed: feed, options: options, services: services)
  }

  /// Returns a stream of the run's events from now on, one for each observer. Dropping it affects neither the run nor
  /// other observers.
  public func events() -> IngestEvents {
    ingest.events()
  }

  /// Emits notices about where files come from, until the run's end.
  package nonisolated func tell(_ notices: [WatchNotice]) { ingest.tell(notices) }

  /// As ``IngestRun/acknowledge(_:)``.
  public nonisolated func acknowledge(_ events: [IngestEvent]) async {
    await ingest.acknowledge(events)
  }

  /// Processes everything, and returns the summary that `run.finished` reports, too. Cancelling the calling task
  /// cancels the run. A second call returns the first one's result.
  @discardableResult
  public func run() async -> RunSummary {
    let task = running ?? launch()
    return await withTaskCancellationHandler {
      await task.value
    } onCancel: {
      cancel()
    }
  }

  /// Cancels the run; files in flight are rolled back or finished.
  public nonisolated func cancel() {
    ingest.cancel()
  }

  private func launch() -> Task<RunSummary, Never> {
    let (ingest, changes) = (ingest, ingest.changes())
    let task = Task { [weak self] in
      async let summary = ingest.summary
      for await _ in changes {
        self?.state = ingest.state
        try? await Task.sleep(for: .milliseconds(16))
      }
      let ended = await summary
      self?.state = ingest.state
      return ended
    }
    running = task
    return task
  }

  deinit {
    ingest.cancel()
  }
}
