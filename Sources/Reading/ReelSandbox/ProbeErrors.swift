import Glibc
import ReelCore

/// Errors about a file or an installation that do not come from a worker's answer.
extension ProbeError {
  static let cancelled = ProbeError(.cancelled, "it was cancelled before it was read")

  static func otherVersion(_ version: String) -> ProbeError {
    ProbeError(
      .workerMissing,
      "the program that reads media, \(WorkerLocation.name), is of another version (\(version)) than this one"
        + " (\(ReelVersion.current)); if Reel was updated while this ran, start it again, else "
        + WorkerLocation.remedy)
  }

  static func lessIsolation(_ level: IsolationLevel) -> ProbeError {
    ProbeError(
      .isolationUnavailable,
      "\(setting: .isolation) strict needs Landlock and seccomp, and this system gives only \"\(level.rawValue)\";"
        + " use a kernel with both (Linux 5.13 or newer, landlock among its LSMs), or \(setting: .isolation) auto"
    )
  }

  static func late(_ deadline: Duration) -> ProbeError {
    ProbeError(
      .timeout,
      "reading it took longer than \(deadline.formattedSeconds); the file is damaged or hostile, or the disk is slow; "
        + "for a slow disk, raise \(setting: .deadline)"
    )
  }

  static func garbled(_ detail: String) -> ProbeError {
    ProbeError(
      .implausible, "its reader gave an answer that is not valid (\(detail)); the file is damaged or hostile")
  }
}

/// Errors about a machine that is short of a resource, which are no fault of the file or the installation.
extension ProbeError {
  /// The error for a resource that was missing when a reader was to be started or passed a file; nil if `error` has
  /// another cause.
  static func exhausted(_ error: SystemError) -> ProbeError? {
    switch error.code {
    case EMFILE, ENFILE:
      ProbeError(
        .tooManyOpenFiles,
        "it was not read, because no descriptor was left for its reader (\(error)); raise the limit (`ulimit -n`) "
          + "or use fewer \(setting: .jobs), then try again")
    case EAGAIN, ENOMEM, ENOBUFS: noReader("\(error)")
    default: nil
    }
  }

  /// The error for an operation that this system never allows; nil if `error` has another cause.
  static func refused(_ error: SystemError) -> ProbeError? {
    guard [ENOSYS, EPERM].contains(error.code) else { return nil }
    return ProbeError(
      .workerBroken,
      "the program that reads media can't be used: this kernel, or the filter of this container, does not allow "
        + "\(error.call) (\(error.reason)), which Reel needs; use Linux 5.4 or newer, and a runtime that allows it"
    )
  }

  /// The error for a reader process that could not be started.
  static func noReader(_ error: SystemError) -> ProbeError {
    exhausted(error) ?? refused(error) ?? noReader("\(error)")
  }

  /// - Parameter reason: Why no process could be started.
  static func noReader(_ reason: String) -> ProbeError {
    ProbeError(
      .noReader,
      "it was not read, because no process could be started for it (\(reason)); use fewer \(setting: .jobs), or "
        + "raise the limits on processes and memory, then try again")
  }
}

extension Duration {
  /// Seconds for a sentence: `10 s`, `1.5 s`.
  fileprivate var formattedSeconds: String {
    let tenths = wholeMilliseconds / 100
    return tenths % 10 == 0 ? "\(tenths / 10) s" : "\(tenths / 10).\(tenths % 10) s"
  }
}
