import Foundation
import ReelIngest

/// In a debug build, `REEL_DIE_AT=STEP` or `STEP:N` kills the process at once, as a power cut would, after the Nth
/// time that a file has come to that step. A release build has no such thing.
enum DebugSteps {
  static func observer() -> @Sendable (IntakeStep) -> Void {
    #if DEBUG
      guard let wanted = DeathWish(ProcessInfo.processInfo.environment["REEL_DIE_AT"]) else {
        return { _ in }
      }
      return { wanted.reached($0) }
    #else
      return { _ in }
    #endif
  }
}

#if DEBUG
  import Synchronization

  private final class DeathWish: Sendable {
    private let step: IntakeStep
    private let count: Atomic<Int>

    init?(_ text: String?) {
      let parts = (text ?? "").split(separator: ":")
      guard let name = parts.first, let step = IntakeStep(rawValue: String(name)) else { return nil }
      self.step = step
      count = Atomic(parts.count > 1 ? Int(parts[1]) ?? 1 : 1)
    }

    func reached(_ step: IntakeStep) {
      guard step == self.step else { return }
      if count.subtract(1, ordering: .sequentiallyConsistent).newValue == 0 { kill(getpid(), SIGKILL) }
    }
  }
#endif
