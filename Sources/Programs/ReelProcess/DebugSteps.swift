import FoundationEssentials
import ReelCore
import ReelIngest

/// In a debug build, each step of a file is also a failpoint (`Failpoint`), named after its `IntakeStep`. The observer
/// only hears of steps that are done, so an error armed at one has no effect: arm a place within the next effect
/// instead.
package enum DebugSteps {
  package static func observer() -> @Sendable (IntakeStep) -> Void {
    #if DEBUG
      return { step in _ = try? ArmedFailpoint.ofThisProcess.reach(step.rawValue) }
    #else
      return { _ in }
    #endif
  }

  /// Reaches the failpoint at a place of a command that is not a step of a file.
  package static func reach(_ place: String) {
    #if DEBUG
      try? ArmedFailpoint.ofThisProcess.reach(place)
    #endif
  }

  /// In a debug build, `REEL_LEASE_SECONDS` shortens the lease of this process; nil otherwise.
  package static var lease: Duration? { seconds("REEL_LEASE_SECONDS") }

  /// In a debug build, `REEL_PATIENCE_SECONDS` is how long to wait for an unreachable server; nil otherwise.
  package static var patience: Duration? { seconds("REEL_PATIENCE_SECONDS") }

  private static func seconds(_ name: String) -> Duration? {
    #if DEBUG
      let text = ProcessInfo.processInfo.environment[name]
      return text.flatMap { Double($0) }.map { .seconds(clamping: $0) }
    #else
      return nil
    #endif
  }
}
