import ReelCore
import Synchronization

// Turns a file's end into its one terminal event, and into the record that `reel status` shows.
extension IngestContext {
  /// The event and the notes of a file's end.
  struct Report {
    let event: IngestEvent.Body
    var notes: [CatalogNote] = []
    /// How the run ends, if the file's end is also the run's.
    var ending: RunEnding?
  }

  /// The report of a file whose steps ended without a failure.
  func report(_ result: PublishResult, of file: FileReference) -> Report {
    var report = Report(event: result.event(of: file))
    if case .planned = result { return report }
    report.notes = [note(nil, of: file)]
    return report
  }

  func report(_ failure: StepFailure, of file: FileReference) -> Report {
    var report = Report(event: failure.result.event(of: file))
    switch failure {
    case .failed(let failure), .endsTheRun(let failure):
      guard feed?.postpones(file, after: failure) ?? false else { break }
      report = Report(event: .filePostponed(file, failure))
      // A file that is still being written to is not at fault, so nothing is recorded.
      if failure.isSourceChanged || failure.isOfMissingBytes { return report }
    case .refused: break
    }
    if file.path.bytes.isEmpty {
      // With no path, the record could be neither shown nor cleared.
    } else if case .failed(let failure) = failure, failure.isOfNoFile, feed?.expectsFiles != true {
      report.notes.append(note(nil, of: file))
    } else if let record = record(failure) {
      report.notes.append(note(record, of: file))
    }
    switch failure {
    case .refused: break
    case .failed(let failure):
      if options.onError == .stop, !failure.isCancellation { report.ending = .stopped }
    case .endsTheRun(let failure): report.ending = .aborted(failure)
    }
    return report
  }

  /// The record that `reel status` shows; nil if the file was not at fault.
  func record(_ failure: StepFailure) -> FailureRecord? {
    let now = services.clock.now()
    switch failure {
    case .refused(let refusal):
      return FailureRecord(
        code: refusal.code.rawValue, message: services.worded(refusal.text), refused: true, at: now)
    case .failed(let failure) where !failure.isCancellation:
      return FailureRecord(
        code: failure.code.rawValue, message: services.worded(failure.text), refused: false, at: now)
    case .failed, .endsTheRun: return nil
    }
  }

  /// The note that replaces an older record; a nil record clears it.
  func note(_ record: FailureRecord?, of file: FileReference) -> CatalogNote {
    .failure(record, at: options.absolute(file.path))
  }
}

/// How a run ends.
enum RunEnding: Sendable {
  case completed
  case stopped
  case cancelled
  case aborted(FileFailure)
}

/// Ends a run early. The first reason counts, but an abort overrides a stop.
final class StopSignal: Sendable {
  private let state = Mutex<RunEnding?>(nil)
  /// Set when files in flight must end, too, because the run was cancelled or aborted.
  let cancellation = CancellationFlag()

  var ending: RunEnding? { state.withLock { $0 } }

  /// Whether no further file may be begun.
  var isSet: Bool { cancellation.isSet || ending != nil }

  func set(_ reason: RunEnding) {
    state.withLock { current in
      switch (current, reason) {
      case (nil, _), (.stopped, .aborted): current = reason
      default: break
      }
    }
    if case .aborted = reason { cancellation.set() }
  }
}

extension RunSummary {
  init(_ ending: RunEnding, of state: IngestState, seconds: Double) {
    switch ending {
    case .completed: self.init(outcome: .completed)
    case .stopped: self.init(outcome: .stopped)
    case .cancelled: self.init(outcome: .cancelled)
    case .aborted(let failure): self.init(outcome: .aborted, error: failure)
    }
    published = state.published
    duplicates = state.duplicates
    removed = state.removed
    planned = state.planned
    refused = state.refused
    failed = state.failed
    cancelled = state.cancelled
    ignored = state.ignored
    leftAlone = state.leftAlone
    publishedBytes = state.publishedBytes
    postersFailed = state.postersFailed
    reasons = state.reasons
    self.seconds = seconds
  }
}
