import ReelCore
import ReelSource

/// Takes batches of files through all their steps, one step after the other for the whole batch (docs/publish.md). Runs
/// on a thread of its own, and blocks.
///
/// Whatever has to wait for something else than this machine's disk is handed over: uploads over a network, a video
/// that another file or another process is at just now, a file that its reader takes long for.
struct Lane {
  let context: IngestContext
  /// Takes over a file that goes on alone. Blocks while too many do.
  let handOver: @Sendable (LoneFile) -> Void
  /// Says that a file will most likely have to be read.
  let expectReading: @Sendable () -> Void
  /// Written with the next transaction.
  var notes: [CatalogNote] = []
  /// Told with the next emission.
  var events: [IngestEvent.Body] = []

  init(
    context: IngestContext, handOver: @escaping @Sendable (LoneFile) -> Void,
    expectReading: @escaping @Sendable () -> Void
  ) {
    self.context = context
    self.handOver = handOver
    self.expectReading = expectReading
  }

  /// Takes in what comes, to the end of the queue.
  mutating func run(_ queue: BatchQueue<[NumberedItem]>) {
    while let batch = queue.take() {
      if context.stop.isSet { continue }
      do throws(StepFailure) {
        try takeIn(batch)
      } catch {
        // One that was cancelled ends because the run does.
        if !error.failure.isCancellation { context.stop.set(.aborted(error.failure)) }
      }
      emit()
    }
    // What was noted is for a later run's convenience: that it can't be written is not a failure of this one.
    _ = try? write { catalog, notes throws(CatalogError) in try catalog.complete([], noting: notes) }
  }

  private mutating func takeIn(_ batch: [NumberedItem]) throws(StepFailure) {
    let filtered = try KnownFileFilter(context: context).filter(batch)
    events += filtered.events
    note(filtered.notes)
    guard !filtered.admitted.isEmpty else { return }
    publish(read(filtered.admitted))
  }

  // MARK: Ends

  mutating func end(_ ending: FileEnding, _ file: FileReference) {
    end(context.reporter.report(ending, of: file))
  }

  mutating func end(_ failure: StepFailure, _ file: FileReference) {
    end(context.reporter.report(failure, of: file))
  }

  private mutating func end(_ report: OutcomeReporter.Report) {
    events.append(report.event)
    note(report.notes)
    if let ending = report.ending { context.stop.set(ending) }
  }

  /// The file goes on alone; what was true of it before is told first.
  mutating func letGo(_ file: LoneFile) {
    emit()
    handOver(file)
  }

  /// Tells what has become true.
  mutating func emit() {
    guard !events.isEmpty else { return }
    context.hub.emit(events)
    let told = events.compactMap { event in
      if case .postPublished(_, let post) = event { post.id } else { nil }
    }
    for _ in told { context.services.onStep(.told) }
    events.removeAll(keepingCapacity: true)
    if !told.isEmpty, !context.options.isAcknowledged { note([.announced(told)]) }
  }

  // MARK: Writing

  mutating func note(_ more: [CatalogNote]) {
    if !context.options.dryRun { notes += more }
  }

  /// Writes, and the notes with it; they stay where that fails.
  mutating func write<Value>(
    _ body: (any PostCatalog, [CatalogNote]) throws(CatalogError) -> Value
  ) throws(CatalogError) -> Value {
    let value = try body(context.services.catalog, notes)
    notes.removeAll(keepingCapacity: true)
    return value
  }
}
