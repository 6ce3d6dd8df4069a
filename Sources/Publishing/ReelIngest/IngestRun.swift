import ReelCore
import ReelSource
import Synchronization

/// One run over files and folders, on no actor: a sequence of its events, and a summary.
///
/// ```swift
/// let run = services.ingest([SourceInput(path: SourcePath("clips"))])
/// for await event in run { print(event.body.type) }
/// let summary = await run.summary
/// ```
///
/// The run begins with the first loop over it, or when its ``summary`` is asked for, and it belongs to the task that
/// does so: when that is cancelled, no further file is started, and what is in flight is finished or rolled back. The loop
/// goes on until the run's last event all the same. Who leaves the loop early cancels the run, too; its ``summary``
/// waits for its end.
public final class IngestRun: AsyncSequence, Sendable {
  /// One event.
  public typealias Element = IngestEvent
  /// Events never fail; a run that does says so in `run.finished`.
  public typealias Failure = Never

  private struct Progress {
    var task: Task<RunSummary, Never>?
    var isCancelled = false
  }
  private let progress = Mutex(Progress())
  /// - Parameter: whether it only counts.
  private let makeWalk: @Sendable (Bool) -> any FileFeed
  private let pipeline: IngestPipeline

  /// A run that has not begun.
  /// - Parameters:
  ///   - inputs: files and folders, in the order they are to be taken in.
  ///   - walkOptions: what of them is looked at.
  public init(
    inputs: [SourceInput], walkOptions: WalkOptions = WalkOptions(),
    options: IngestOptions = IngestOptions(), services: IngestServices
  ) {
    makeWalk = { counts in
      var walkOptions = walkOptions
      // Once is enough.
      if counts { walkOptions.onPassed = nil }
      return SourceWalk(inputs: inputs, options: walkOptions)
    }
    pipeline = IngestPipeline(
      services: services, options: options, hub: EventHub(clock: services.clock, wording: services.wording))
  }

  /// A run over what `feed` hands out, for as long as it does. It is not counted ahead.
  package init(feed: any FileFeed, options: IngestOptions, services: IngestServices) {
    makeWalk = { _ in feed }
    var options = options
    options.countsAhead = false
    // The number it would be, said: slow files are not left for the end, which may never come.
    options.maxInFlight = options.maxInFlight ?? 64 * Swift.max(1, options.jobs)
    pipeline = IngestPipeline(
      services: services, options: options, hub: EventHub(clock: services.clock, wording: services.wording))
  }

  /// A run over one video; a folder fails with `isDirectory`.
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
    // Whoever observes one that never began must not wait for ever.
    if progress.withLock({ $0.task == nil }) { pipeline.hub.finish() }
  }

  /// What the run looks like now.
  public var state: IngestState { pipeline.hub.snapshot }

  /// How the run ended, as `run.finished` tells it. Begins it unless it has begun, and waits for its end.
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

  /// Cancels the run, from anywhere; one that has not begun ends as soon as it begins.
  public func cancel() {
    let task = progress.withLock { progress in
      progress.isCancelled = true
      return progress.task
    }
    task?.cancel()
  }

  /// The events from now on, for one more observer; does not begin the run. Dropping the stream changes nothing for the run.
  public func events() -> IngestEvents {
    IngestEvents(hub: pipeline.hub)
  }

  func tell(_ notices: [WatchNotice]) { pipeline.hub.emit(notices.map { .watchNotice($0) }) }

  /// Says that something came, until the run's end: for who looks at ``state`` then.
  func changes() -> AsyncStream<Void> {
    pipeline.hub.changes()
  }

  /// Says that `events` have gone where they were to go: what is told of posts in them is not told again. Call it
  /// before the catalog is closed, of each batch in order. See ``IngestOptions/isAcknowledged``.
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

  /// Begins the run unless it has begun, and reads its events from now on.
  public func makeAsyncIterator() -> Iterator {
    // Subscribed first, so that nothing is missed.
    let iterator = Iterator(run: self, events: events())
    begin()
    return iterator
  }

  /// Reads the events of a run, which is cancelled when nobody reads on.
  public struct Iterator: AsyncIteratorProtocol {
    private let owner: Owner
    private var events: IngestEvents.Iterator

    fileprivate init(run: IngestRun, events: IngestEvents) {
      owner = Owner(run: run)
      self.events = events.makeAsyncIterator()
    }

    /// The next event, or nil after the run's last one. Cancelling the task cancels the run, whose last events come all
    /// the same.
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
  /// Publishes one video, and returns how that ended.
  ///
  /// Cancelling the calling task rolls it back, or lets it end where it has gone too far for that.
  /// - Parameters:
  ///   - file: the video; a folder fails with `isDirectory`.
  ///   - onEvent: called with each event, in order, where the caller is.
  public func publish(
    _ file: SourceInput, options: IngestOptions = IngestOptions(), walkOptions: WalkOptions = WalkOptions(),
    isolation: isolated (any Actor)? = #isolation, onEvent: (IngestEvent) async -> Void = { _ in }
  ) async -> PublishResult {
    let run = IngestRun(publishing: file, walkOptions: walkOptions, options: options, services: self)
    return await run.result(onEvent: onEvent)
  }

  /// A run over files and folders, which begins when somebody reads it: see ``IngestRun``.
  public func ingest(
    _ inputs: [SourceInput], options: IngestOptions = IngestOptions(),
    walkOptions: WalkOptions = WalkOptions()
  ) -> IngestRun {
    IngestRun(inputs: inputs, walkOptions: walkOptions, options: options, services: self)
  }
}

extension IngestRun {
  /// The end of the run's one file.
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
