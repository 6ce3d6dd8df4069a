import Dispatch
import ReelCore
import ReelSource

/// Reads batches of files, one step after the other for the whole batch, and claims their intents (docs/publish.md).
/// Runs on a thread of its own, and blocks.
///
/// From there on each batch is in a task of its own, and so is a file that has to wait before.
struct Lane {
  let context: IngestContext
  let tasks: PublishingTasks
  /// Says that a file will most likely have to be read.
  let expectReading: @Sendable () -> Void
  var report: BatchReport
  /// Notes of batches without a post that may wait for a transaction.
  private static let mostNotes = 256
  /// How long they may wait for the next batch: in a watched folder, that may be days away.
  private static let patience = DispatchTimeInterval.milliseconds(200)

  init(
    context: IngestContext, tasks: PublishingTasks, expectReading: @escaping @Sendable () -> Void
  ) {
    self.context = context
    self.tasks = tasks
    self.expectReading = expectReading
    report = BatchReport(context)
  }

  /// Takes batches until the queue ends.
  mutating func run(_ queue: BatchQueue<[NumberedItem]>) {
    while let batch = queue.take(after: Self.patience, { report.writeNotes() }) {
      if context.stop.isSet { continue }
      // Now, and not while it holds intents: those that are under way may be waiting for just these.
      tasks.waitForRoom()
      if context.stop.isSet { continue }
      context.feed?.begin(batch.map(\.file))
      do {
        try takeIn(batch)
      } catch {
        let failure = StepFailure(error).failure
        // One that was cancelled ends because the run does.
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

  /// What is handed over goes on in a task of its own; what was true of it before is reported first.
  mutating func handOver(_ work: PublishingWork) {
    report.emit()
    tasks.add(work)
  }

  /// Those that go on, with their posters where posts are to have some.
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
