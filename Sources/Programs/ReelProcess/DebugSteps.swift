import FoundationEssentials
import ReelCore
import ReelIngest

/// In a debug build, the steps of a file are failpoints, too (`Failpoint`), by the names of `IntakeStep`. They only
/// tell that something has been done, so an error that is armed there has no effect: the place within the next
/// effect is where it fails.
package enum DebugSteps {
  package static func observer() -> @Sendable (IntakeStep) -> Void {
    #if DEBUG
      return { step in _ = try? ArmedFailpoint.ofThisProcess.reach(step.rawValue) }
    #else
      return { _ in }
    #endif
  }

  /// A place of a command that is no step of a file.
  package static func reach(_ place: String) {
    #if DEBUG
      try? ArmedFailpoint.ofThisProcess.reach(place)
    #endif
  }

  /// In a debug build, `REEL_LEASE_SECONDS` shortens the lease of this process; nil otherwise.
  package static var lease: Duration? { seconds("REEL_LEASE_SECONDS") }

  /// In a debug build, `REEL_PATIENCE_SECONDS` is how long a server that is away is waited for; nil otherwise.
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
