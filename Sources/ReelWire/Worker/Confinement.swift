import CReel
import ReelCore

/// The layers that hold a process, for good; every process that it forks has them from the start.
struct Confinement {
  private var hasLimits: Bool
  private var hasLandlock: Bool
  private var hasFilter: Bool

  /// Confines this process, as one that reads files.
  static func ofWorker(_ start: WorkerStart) -> Confinement {
    var confinement = withoutFilter(start)
    confinement.hasFilter = reel_confine_system_calls() == 0
    return confinement
  }

  /// Confines this process, as one that reads nothing and forks workers.
  static func ofForkServer(_ start: WorkerStart) -> Confinement {
    var confinement = withoutFilter(start)
    confinement.hasFilter = reel_confine_system_calls_of_fork_server() == 0
    return confinement
  }

  /// Confines this process, as one that reads one file and writes another.
  static func ofMender(_ start: WorkerStart) -> Confinement {
    var confinement = withoutFilter(start, descriptors: 2)
    confinement.hasFilter = reel_confine_system_calls_of_mender() == 0
    return confinement
  }

  private static func withoutFilter(_ start: WorkerStart, descriptors: Int32 = 1) -> Confinement {
    let bounds = reel_bounds(
      memory: start.memory, seconds: Int32(clamping: start.processorSeconds), descriptors: descriptors,
      output: descriptors > 1 ? start.outputSize : 0)
    let hasPrivileges = reel_confine_privileges() == 0
    let limits = withUnsafePointer(to: bounds) { reel_confine_limits($0) == 0 }
    return Confinement(
      hasLimits: hasPrivileges && limits, hasLandlock: reel_confine_landlock() == 0, hasFilter: false)
  }

  /// Confines this process, which a fork server of this confinement has forked, as one that reads files.
  func ofForkedWorker() -> Confinement {
    Confinement(
      hasLimits: hasLimits, hasLandlock: hasLandlock, hasFilter: reel_confine_system_calls() == 0)
  }

  var level: IsolationLevel {
    switch (hasLimits, hasLandlock, hasFilter) {
    case (false, _, _): .none
    case (true, false, false): .limits
    case (true, false, true): .seccomp
    case (true, true, false): .landlock
    case (true, true, true): .full
    }
  }
}
