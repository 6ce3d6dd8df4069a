import Foundation
import ReelIngest

/// In a debug build, `REEL_DIE_AT=STEP` or `STEP:N` kills the process at once, as a power cut would, after the Nth
/// time that a file has come to that step. `REEL_FAILPOINT=STEP[:N]=crash|stop|delay:MS` does that, stops the
/// process until it is woken (SIGCONT), or holds it up, each once. A release build has no such thing.
enum DebugSteps {
  static func observer() -> @Sendable (IntakeStep) -> Void {
    #if DEBUG
      let environment = ProcessInfo.processInfo.environment
      let failpoint =
        Failpoint(environment["REEL_FAILPOINT"])
        ?? Failpoint(environment["REEL_DIE_AT"].map { $0 + "=crash" })
      guard let failpoint else { return { _ in } }
      return { failpoint.reached($0) }
    #else
      return { _ in }
    #endif
  }

  /// In a debug build, `REEL_LEASE_SECONDS` shortens the lease of this process; nil otherwise.
  static var lease: Duration? {
    #if DEBUG
      let text = ProcessInfo.processInfo.environment["REEL_LEASE_SECONDS"]
      return text.flatMap { Double($0) }.map { .seconds($0) }
    #else
      return nil
    #endif
  }
}

#if DEBUG
  import Synchronization

  private final class Failpoint: Sendable {
    private enum Effect {
      case crash, stop
      case delay(milliseconds: UInt32)

      init?(_ text: Substring) {
        let parts = text.split(separator: ":")
        switch parts.first {
        case "crash": self = .crash
        case "stop": self = .stop
        case "delay": self = .delay(milliseconds: parts.count > 1 ? UInt32(parts[1]) ?? 100 : 100)
        default: return nil
        }
      }
    }

    private let step: IntakeStep
    private let effect: Effect
    private let count: Atomic<Int>

    init?(_ text: String?) {
      let halves = (text ?? "").split(separator: "=", maxSplits: 1)
      guard halves.count == 2, let effect = Effect(halves[1]) else { return nil }
      let parts = halves[0].split(separator: ":")
      guard let name = parts.first, let step = IntakeStep(rawValue: String(name)) else { return nil }
      self.step = step
      self.effect = effect
      count = Atomic(parts.count > 1 ? Int(parts[1]) ?? 1 : 1)
    }

    func reached(_ step: IntakeStep) {
      guard step == self.step else { return }
      guard count.subtract(1, ordering: .sequentiallyConsistent).newValue == 0 else { return }
      switch effect {
      case .crash: kill(getpid(), SIGKILL)
      case .stop: kill(getpid(), SIGSTOP)
      case .delay(let milliseconds): usleep(milliseconds * 1000)
      }
    }
  }
#endif
