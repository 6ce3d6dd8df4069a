import CReel
import ReelCore

/// The layers that confine a process permanently. Every process that it forks inherits them.
struct Confinement {
  private var hasLimits: Bool
  private var hasLandlock: Bool
  private var hasFilter: Bool

  /// Confines this process as one that reads files.
  static func ofWorker(_ start: WorkerStart) -> Confinement {
    var confinement = withoutFilter(start)
    confinement.hasFilter = reel_confine_system_calls(false, false) == 0
    return confinement
  }

  /// Confines this process as one that reads nothing and forks workers.
  /// - Parameter mends: Whether some of the workers write.
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

  /// Confines this process, which a fork server with this confinement has forked, for what `request` asks.
  func ofForkedWorker(_ request: ForkRequest) -> Confinement {
    let bounds = Self.bounds(request.processorSeconds, memory: 0, outputSize: request.purpose.outputSize)
    let limits = withUnsafePointer(to: bounds) { reel_confine_forked_limits($0) == 0 }
    let filter = reel_confine_system_calls(false, request.purpose.outputSize != nil)
    return Confinement(hasLimits: hasLimits && limits, hasLandlock: hasLandlock, hasFilter: filter == 0)
  }

  /// - Parameter outputSize: The maximum size of the file to be written; nil for a process that writes none.
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
