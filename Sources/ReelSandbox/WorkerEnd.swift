import CSandbox
import Glibc
import ReelModel

/// How a worker's process ended.
enum WorkerEnd: Hashable, Sendable {
  /// By itself, with this status.
  case exited(Int32)
  /// By a signal that this process did not send.
  case signalled(Int32)
  /// By this process.
  case killed
  /// Somebody else collected it.
  case unknown

  /// What that says about the file that was being read.
  var failure: ProbeError {
    switch self {
    case .signalled(SIGSYS):
      ProbeError(
        .sandboxViolation,
        "reading it made the reader try something that it may not; the reader was ended: treat the file as hostile"
      )
    case .signalled(SIGXCPU):
      ProbeError(.timeout, "reading it takes more processor time than a file may")
    case .signalled(SIGKILL):
      ProbeError(
        .memoryLimit, "the system ended its reader, most likely for lack of memory; try again with fewer jobs"
      )
    case .signalled(let signal):
      ProbeError(.crashed, "its reader crashed (\(Self.name(of: signal))); the file is damaged or hostile")
    case .exited(let status):
      ProbeError(.crashed, "its reader ended without an answer (exit status \(status))")
    case .killed:
      ProbeError(.crashed, "its reader closed the connection without an answer")
    case .unknown:
      ProbeError(
        .crashed,
        "its reader ended without an answer, and how is lost: this process ignores SIGCHLD, or something in it collects "
          + "children that are not its own")
    }
  }

  /// For a sentence about a worker that never got as far as a file.
  var description: String {
    switch self {
    case .exited(127): "exit status 127: a library that it needs is missing"
    case .exited(let status): "exit status \(status)"
    case .signalled(let signal): Self.name(of: signal)
    case .killed: "it did not say a word"
    case .unknown: "for a reason unknown"
    }
  }

  private static func name(of signal: Int32) -> String {
    guard let name = reel_child_signal_name(signal) else { return "signal \(signal)" }
    return "SIG" + String(cString: name)
  }
}
