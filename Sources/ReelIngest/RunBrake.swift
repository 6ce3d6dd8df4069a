import Synchronization

/// How a run comes to its end.
enum RunEnding: Sendable {
  case completed
  case stopped
  case cancelled
  case aborted(FileFailure)
}

/// Stops a run from the inside: the first reason counts, but an abort outweighs a stop.
final class RunBrake: Sendable {
  private let state = Mutex<RunEnding?>(nil)

  var ending: RunEnding? { state.withLock { $0 } }

  /// No further file is started.
  var isPressed: Bool { ending != nil }

  /// What is in flight is cancelled, too.
  var isAborted: Bool {
    if case .aborted = ending { true } else { false }
  }

  func press(_ reason: RunEnding) {
    state.withLock { current in
      switch (current, reason) {
      case (nil, _), (.stopped, .aborted): current = reason
      default: break
      }
    }
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
