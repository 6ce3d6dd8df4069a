import Dispatch
import ReelCore
import ReelSource

/// Reads batches of files, one step at a time for the whole batch, and claims their intents (docs/publish.md). Runs on
/// its own thread, and blocks.
///
/// After that, each batch continues in its own task, and so does a file that has to wait earlier.
struct Lane {
  let context: IngestContext
  let tasks: PublishingTasks
  /// Announces that a file will probably have to be read.
  let expectReading: @Sendable () -> Void
  var report: BatchReport
  /// The number of notes, from batches without a post, that may wait for a transaction.
  private static let mostNotes = 256
  /// How long the notes may wait for the next batch, which in a watched folder may be days away.
  private static let patience = DispatchTimeInterval.milliseconds(200)

  init(
    context: IngestContext, tasks: PublishingTasks, expectReading: @escaping @Sendable () -> Void
  ) {
    self.context = context
    self.tasks = tasks
    self.expectReading = expectReading
    report = BatchReport(context)
  }

  /// Processes batches until the queue ends.
  mutating func run(_ queue: BatchQueue<[NumberedItem]>) {
    while let batch = queue.take(after: Self.patience, { report.writeNotes() }) {
      if context.stop.isSet { continue }
      // Wait now, while no intents are held: files under way may be waiting for those of this batch.
      tasks.waitForRoom()
      if context.stop.isSet { continue }
      context.feed?.begin(batch.map(\.file))
      do {
        try takeIn(batch)
      } catch {
        let failure = StepFailure(error).failure
        // A cancelled batch ends because the run does.
        if !failure.isCancellation { context.stop.set(.aborted(failure)) }
      }
      report.emit()
      if report.notes.count >= Self.mostNotes {
        report.writeNotes()
        report.notes.removeAll(keepingCapacity: true)
      }
    }
    report.writeNotes()
  }

  private mutating func takeIn(_ batch: [NumberedItem]) throws {
    let watch = context.watch(.recall)
    let filtered = try KnownFileFilter(context: context).filter(batch)
    watch.end()
    report.events += filtered.events
    report.note(filtered.notes)
    guard !filtered.admitted.isEmpty else { return }
    claim(read(filtered.admitted))
  }

  /// Hands a file or batch over to a task of its own, after emitting the events that precede it.
  mutating func handOver(_ work: PublishingWork) {
    report.emit()
    tasks.add(work)
  }

  /// Makes the posters, if posts are to have them, and returns the files that continue.
  private mutating func withPosters(_ files: [AcceptedFile]) -> [AcceptedFile] {
    files.compactMap { accepted in
      var accepted = accepted
      do {
        try context.makePoster(of: &accepted, telling: &report.events)
        return accepted
      } catch {
        report.fail(accepted, error)
        return nil
      }
    }
  }

  private mutating func claim(_ files: [AcceptedFile]) {
    guard !files.isEmpty else { return }
    if context.stop.cancellation.isSet {
      for accepted in files { report.fail(accepted, StepFailure.failed(.cancelled)) }
      return
    }
    let posted = withPosters(files)
    let watch = context.watch(.claim)
    let answers = report.claim(posted)
    watch.end()
    var batch: [ClaimedFile] = []
    for answer in answers {
      switch answer {
      case .granted(let claimed): batch.append(claimed)
      case .published(let accepted, let existing): report.end(context.ending(of: existing), accepted.file)
      case .removed(let accepted, let removed): report.end(.removed(removed), accepted.file)
      case .held(let accepted): handOver(.waiting(accepted))
      }
    }
    if !batch.isEmpty { handOver(.claimed(ClaimedBatch(batch))) }
  }
}
