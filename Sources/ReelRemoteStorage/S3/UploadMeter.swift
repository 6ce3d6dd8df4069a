import ReelCore
import Synchronization

/// Adds up what parallel requests have sent, and reports it: growing, about twice a megabyte at most.
final class UploadMeter: Sendable {
  private let total: Int64
  private let reporting: @Sendable (TransferProgress) -> Void
  private let state = Mutex(State())

  private struct State: Sendable {
    var parts: [Int: Int64] = [:]
    var sum: Int64 = 0
    var reported: Int64 = -1
  }

  private static let step: Int64 = 1 << 19

  init(total: Int64, reporting: @escaping @Sendable (TransferProgress) -> Void) {
    self.total = total
    self.reporting = reporting
    set(part: 0, to: 0)
  }

  /// Part `part` has come to `sent` bytes. One that is sent anew does not fall back.
  func set(part: Int, to sent: Int64) {
    // Within the lock, so that two reports never pass each other.
    state.withLock { state in
      let before = state.parts[part] ?? 0
      guard sent > before || state.reported < 0 else { return }
      state.parts[part] = max(sent, before)
      state.sum = min(total, state.sum + max(0, sent - before))
      report(&state)
    }
  }

  /// All of it is stored.
  func finish() {
    state.withLock { state in
      state.sum = total
      report(&state)
    }
  }

  private func report(_ state: inout State) {
    guard state.sum > state.reported,
      state.reported < 0 || state.sum == total || state.sum - state.reported >= Self.step
    else { return }
    state.reported = state.sum
    reporting(TransferProgress(sent: state.sum, total: total))
  }
}
