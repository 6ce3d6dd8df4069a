import CReel
import ReelCore

/// Closes the doors of this process, for good.
enum Confinement {
  /// For a process that reads files. Says which layers took hold.
  static func close(_ start: WorkerStart) -> IsolationLevel {
    let layers = closeFiles(start, descriptors: 1)
    return level(layers, hasFilter: reel_confine_system_calls() == 0)
  }

  /// For a nursery, which besides starts processes. A fresh process has, for a moment, its channel and the
  /// descriptor that names it.
  static func closeNursery(_ start: WorkerStart) -> IsolationLevel {
    let layers = closeFiles(start, descriptors: 2)
    return level(layers, hasFilter: reel_confine_system_calls_of_nursery() == 0)
  }

  /// For a fresh process of a nursery. Says whether the last door closed.
  static func closeSister() -> Bool {
    reel_confine_descriptors(1) == 0 && reel_confine_system_calls() == 0
  }

  private static func closeFiles(
    _ start: WorkerStart, descriptors: Int32
  ) -> (limits: Bool, landlock: Bool) {
    let bounds = reel_bounds(
      memory: start.memory, seconds: Int32(clamping: start.processorSeconds), descriptors: descriptors)
    let hasPrivileges = reel_confine_privileges() == 0
    let limits = withUnsafePointer(to: bounds) { reel_confine_limits($0) == 0 }
    return (hasPrivileges && limits, reel_confine_landlock() == 0)
  }

  private static func level(_ layers: (limits: Bool, landlock: Bool), hasFilter: Bool) -> IsolationLevel {
    switch (layers.limits, layers.landlock, hasFilter) {
    case (false, _, _): .none
    case (true, false, false): .limits
    case (true, false, true): .seccomp
    case (true, true, false): .landlock
    case (true, true, true): .full
    }
  }
}
