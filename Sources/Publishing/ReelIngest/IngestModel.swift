import Observation
import ReelCore
import ReelSource

/// Takes a batch of videos in: the view model of `reel ingest`, and of any app that does the same.
///
/// A view observes ``state``, and calls ``run()`` once:
///
/// ```swift
/// let model = IngestModel(inputs: [SourceInput(path: "clips")], options: IngestOptions(), services: services)
/// let summary = await model.run()
/// ```
///
/// Code that has no view takes an ``IngestRun``, which needs no main actor.
@MainActor
@Observable
public final class IngestModel {
  /// The newest state, some sixty times a second at most, and always the last one.
  public private(set) var state = IngestState()

  @ObservationIgnored private let ingest: IngestRun
  @ObservationIgnored private var running: Task<RunSummary, Never>?

  /// - Parameters:
  ///   - inputs: files and folders, in the order they are to be taken in.
  ///   - walkOptions: what of them is looked at.
  public init(
    inputs: [SourceInput], walkOptions: WalkOptions = WalkOptions(),
    options: IngestOptions = IngestOptions(), services: IngestServices
  ) {
    ingest = IngestRun(inputs: inputs, walkOptions: walkOptions, options: options, services: services)
  }

  /// Takes in what `feed` hands out, for as long as it does.
  package init(feed: any FileFeed, options: IngestOptions, services: IngestServices) {
    ingest = IngestRun(feed: feed, options: options, services: services)
  }

  /// A stream of the run's events from now on, one for each observer. Dropping it changes nothing for the run
  /// or for others.
  public func events() -> IngestEvents {
    ingest.events()
  }

  /// Tells what is worth knowing of where files come from, until the run's end.
  package nonisolated func tell(_ notices: [WatchNotice]) { ingest.tell(notices) }

  /// As ``IngestRun/acknowledge(_:)``.
  public nonisolated func acknowledge(_ events: [IngestEvent]) async {
    await ingest.acknowledge(events)
  }

  /// Takes everything in, and ends with the one summary that `run.finished` tells too. Cancelling the calling task
  /// cancels the run. A second call gives the first one's result.
  @discardableResult
  public func run() async -> RunSummary {
    let task = running ?? launch()
    return await withTaskCancellationHandler {
      await task.value
    } onCancel: {
      cancel()
    }
  }

  /// Cancels the run: what is in flight is rolled back or finished.
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
