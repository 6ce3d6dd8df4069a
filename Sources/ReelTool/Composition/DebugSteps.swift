import FoundationEssentials
import ReelCore
import ReelIngest

/// In a debug build, the steps of a file are failpoints, too (`Failpoint`), by the names of `IntakeStep`. They only
/// tell that something has been done, so an error that is armed there has no effect: the place within the next
/// effect is where it fails.
enum DebugSteps {
  static func observer() -> @Sendable (IntakeStep) -> Void {
    #if DEBUG
      return { step in _ = try? ArmedFailpoint.ofThisProcess.reach(step.rawValue) }
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
