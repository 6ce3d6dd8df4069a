import ReelCore
import ReelSource
import Synchronization

/// One run over files and folders, bound to no actor: a sequence of its events, and a summary.
///
/// ```swift
/// let run = services.ingest([SourceInput(path: SourcePath("clips"))])
/// for await event in run { print(event.body.type) }
/// let summary = await run.summary
/// ```
///
/// The run begins with the first loop over it, or when its ``summary`` is requested, and belongs to the task that does
/// so. When that task is cancelled, no further file is started, and files in flight are finished or rolled back; the
/// loop still continues to the run's last event. Leaving the loop early cancels the run, too; its ``summary`` waits for
/// its end.
public final class IngestRun: AsyncSequence, Sendable {
  /// One event.
  public typealias Element = IngestEvent
  /// Events never fail; a run that fails reports it in `run.finished`.
  public typealias Failure = Never

  private struct Progress {
    var task: Task<RunSummary, Never>?
    var isCancelled = false
  }
  private let progress = Mutex(Progress())
  /// - Parameter: whether the walk only counts.
  private let makeWalk: @Sendable (Bool) -> any FileFeed
  private let pipeline: IngestPipeline

  /// Creates a run that has not begun.
  /// - Parameters:
  ///   - inputs: files and folders, in the order in which they are to be processed.
  ///   - walkOptions: which of their files are considered.
  public init(
    inputs: [SourceInput], walkOptions: WalkOptions = WalkOptions(),
    options: IngestOptions = IngestOptions(), services: IngestServices
  ) {
    makeWalk = { counts in
      var walkOptions = walkOptions
      // The walk that hands out the files already reports these.
      if counts { walkOptions.onPassed = nil }
      return SourceWalk(inputs: inputs, options: walkOptions)
    }
    pipeline = IngestPipeline(
      services: services, options: options, hub: EventHub(clock: services.clock, wording: services.wording))
  }

  /// Creates a run over what `feed` hands out, until the feed ends. Its files are not counted ahead.
  package init(feed: any FileFeed, options: IngestOptions, services: IngestServices) {
    makeWalk = { _ in feed }
    var options = options
    options.countsAhead = false
    // The default number, but stated explicitly, so that slow files are not left for the end, which may never come.
    options.maxInFlight = options.maxInFlight ?? 64 * Swift.max(1, options.jobs)
    pipeline = IngestPipeline(
      services: services, options: options, hub: EventHub(clock: services.clock, wording: services.wording))
  }

  /// Creates a run over one video; a folder fails with `isDirectory`.
  convenience init(
    publishing file: SourceInput, walkOptions: WalkOptions, options: IngestOptions, services: IngestServices
  ) {
    var (walkOptions, options) = (walkOptions, options)
    walkOptions.entersFolders = false
    options.jobs = 1
    self.init(inputs: [file], walkOptions: walkOptions, options: options, services: services)
  }

  deinit {
    cancel()
    // An observer of a run that never began must not wait forever.
    if progress.withLock({ $0.task == nil }) { pipeline.hub.finish() }
  }

  /// The current state of the run.
  public var state: IngestState { pipeline.hub.snapshot }

  /// How the run ended, as in `run.finished`. Begins the run if necessary, and waits for its end.
  public var summary: RunSummary {
    get async {
      let task = begin()
      return await withTaskCancellationHandler {
        await task.value
      } onCancel: {
        cancel()
      }
    }
  }

  /// Cancels the run; one that has not begun will end as soon as it begins. May be called from anywhere.
  public func cancel() {
    let task = progress.withLock { progress in
      progress.isCancelled = true
      return progress.task
    }
    task?.cancel()
  }

  /// Returns the events from now on, for one more observer, without beginning the run. Dropping the stream does not
  /// affect the run.
  public func events() -> IngestEvents {
    IngestEvents(hub: pipeline.hub)
  }

  func tell(_ notices: [WatchNotice]) { pipeline.hub.emit(notices.map { .watchNotice($0) }) }

  /// A stream that signals changes of ``state`` until the run's end.
  func changes() -> AsyncStream<Void> {
    pipeline.hub.changes()
  }

  /// Confirms that `events` have been passed on, so that the posts in them are not told again. Call it for each batch
  /// in order, before the catalog is closed. See ``IngestOptions/isAcknowledged``.
  public func acknowledge(_ events: [IngestEvent]) async {
    guard pipeline.options.isAcknowledged else { return }
    let told = events.compactMap { event in
      if case .postPublished(_, let post) = event.body { post.id } else { nil }
    }
    if !told.isEmpty { pipeline.services.catalog.note([.announced(told)]) }
  }

  @discardableResult
  private func begin() -> Task<RunSummary, Never> {
    let (pipeline, makeWalk) = (pipeline, makeWalk)
    let (task, isCancelled) = progress.withLock { progress in
      let task = progress.task ?? Task { await pipeline.run(makeWalk) }
      progress.task = task
      return (task, progress.isCancelled)
    }
    if isCancelled { task.cancel() }
    return task
  }

  /// Begins the run if necessary, and reads its events from now on.
  public func makeAsyncIterator() -> Iterator {
    // Subscribe first, so that no event is missed.
    let iterator = Iterator(run: self, events: events())
    begin()
    return iterator
  }

  /// Reads the events of a run, and cancels the run when it is released.
  public struct Iterator: AsyncIteratorProtocol {
    private let owner: Owner
    private var events: IngestEvents.Iterator

    fileprivate init(run: IngestRun, events: IngestEvents) {
      owner = Owner(run: run)
      self.events = events.makeAsyncIterator()
    }

    /// Returns the next event, or nil after the run's last one. Cancelling the task cancels the run; its last events
    /// still arrive.
    public mutating func next(isolation actor: isolated (any Actor)? = #isolation) async -> IngestEvent? {
      if let event = events.popFirst() { return event }
      let (run, subscription) = (owner.run, events.subscription)
      let batch = await withTaskCancellationHandler {
        await subscription.nextBatch(endsWithTask: false)
      } onCancel: {
        run.cancel()
      }
      events.refill(batch)
      return events.popFirst()
    }
  }

  private final class Owner: Sendable {
    let run: IngestRun

    init(run: IngestRun) {
      self.run = run
    }

    deinit {
      run.cancel()
    }
  }
}

extension IngestServices {
  /// Publishes one video, and returns how it ended.
  ///
  /// Cancelling the calling task rolls the video back, or lets it finish if it is too late for that.
  /// - Parameters:
  ///   - file: the video; a folder fails with `isDirectory`.
  ///   - onEvent: called with each event, in order, in the caller's isolation.
  public func publish(
    _ file: SourceInput, options: IngestOptions = IngestOptions(), walkOptions: WalkOptions = WalkOptions(),
    isolation: isolated (any Actor)? = #isolation, onEvent: (IngestEvent) async -> Void = { _ in }
  ) async -> PublishResult {
    let run = IngestRun(publishing: file, walkOptions: walkOptions, options: options, services: self)
    return await run.result(onEvent: onEvent)
  }

  /// Returns a run over files and folders, which begins when it is first read; see ``IngestRun``.
  public func ingest(
    _ inputs: [SourceInput], options: IngestOptions = IngestOptions(),
    walkOptions: WalkOptions = WalkOptions()
  ) -> IngestRun {
    IngestRun(inputs: inputs, walkOptions: walkOptions, options: options, services: self)
  }
}

extension IngestRun {
  /// Runs to the end and returns the result of the run's one file.
  func result(
    isolation: isolated (any Actor)? = #isolation, onEvent: (IngestEvent) async -> Void
  ) async -> PublishResult {
    var result: PublishResult?
    for await event in self {
      result = result ?? PublishResult(event.body)
      await onEvent(event)
    }
    let error = await summary.error
    return result ?? error.map(PublishResult.failed) ?? .cancelled
  }
}
