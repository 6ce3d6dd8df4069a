import ReelModel
import Synchronization

/// Notices when no worker can be started: a broken installation is one clear error, not one for each file.
final class StartBreaker: Sendable {
  private struct State {
    var failuresInARow = 0
    var verdict: ProbeError?
  }
  private let state = Mutex(State())

  /// How many starts in a row fail before nobody tries again.
  static let patience = 3

  /// - Throws: `workerBroken` once it is known.
  func check() throws(ProbeError) {
    if let verdict = state.withLock({ $0.verdict }) { throw verdict }
  }

  func succeeded() {
    state.withLock { $0.failuresInARow = 0 }
  }

  /// One more start failed, for `reason`.
  func failed(_ reason: String) {
    state.withLock { state in
      state.failuresInARow += 1
      guard state.failuresInARow >= Self.patience, state.verdict == nil else { return }
      state.verdict = ProbeError(
        .workerBroken,
        "the program that reads media ends before it is ready, \(Self.patience) times in a row"
          + " (\(reason)); \(WorkerLocation.remedy)")
    }
  }
}
