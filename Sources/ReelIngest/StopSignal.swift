import ReelCore
import Synchronization

/// How a run comes to its end.
enum RunEnding: Sendable {
  case completed
  case stopped
  case cancelled
  case aborted(FileFailure)
}

/// Ends a run early. The first reason counts, but an abort outweighs a stop.
final class StopSignal: Sendable {
  private let state = Mutex<RunEnding?>(nil)
  /// Set when what is in flight is to end, too: the run was cancelled or aborted.
  let cancellation = CancellationFlag()

  var ending: RunEnding? { state.withLock { $0 } }

  /// No further file is begun.
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
    planned = state.planned
    refused = state.refused
    failed = state.failed
    ignored = state.ignored
    publishedBytes = state.publishedBytes
    reasons = state.reasons
    self.seconds = seconds
  }
}
