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
    confinement.hasFilter = reel_confine_system_calls(false, false) == 0
    return confinement
  }

  /// Confines this process, as one that reads nothing and forks workers.
  /// - Parameter mends: whether some of them write.
  static func ofForkServer(_ start: WorkerStart, mends: Bool) -> Confinement {
    var confinement = withoutFilter(start, outputSize: mends ? .max : nil)
    confinement.hasFilter = reel_confine_system_calls(true, mends) == 0
    return confinement
  }

  private static func withoutFilter(_ start: WorkerStart, outputSize: Int64? = nil) -> Confinement {
    let bounds = bounds(start.processorSeconds, memory: start.memory, outputSize: outputSize)
    let hasPrivileges = reel_confine_privileges() == 0
    let limits = withUnsafePointer(to: bounds) { reel_confine_limits($0) == 0 }
    return Confinement(
      hasLimits: hasPrivileges && limits, hasLandlock: reel_confine_landlock() == 0, hasFilter: false)
  }

  /// Confines this process, which a fork server of this confinement has forked, as one that does what `request` asks for.
  func ofForkedWorker(_ request: ForkRequest) -> Confinement {
    let bounds = Self.bounds(request.processorSeconds, memory: 0, outputSize: request.purpose.outputSize)
    let limits = withUnsafePointer(to: bounds) { reel_confine_forked_limits($0) == 0 }
    let filter = reel_confine_system_calls(false, request.purpose.outputSize != nil)
    return Confinement(hasLimits: hasLimits && limits, hasLandlock: hasLandlock, hasFilter: filter == 0)
  }

  /// - Parameter outputSize: nil for a process that gets no file to write.
  private static func bounds(_ processorSeconds: Int, memory: Int64, outputSize: Int64?) -> reel_bounds {
    reel_bounds(
      memory: memory, seconds: Int32(clamping: processorSeconds), descriptors: outputSize == nil ? 1 : 2,
      output: outputSize ?? 0)
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
