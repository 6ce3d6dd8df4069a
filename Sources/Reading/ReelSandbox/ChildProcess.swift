import CReel
import Glibc
import ReelCore
import Synchronization

/// A worker's process. It is killed and reaped when the last reference to this is released.
final class ChildProcess: Sendable {
  private let child: reel_child
  /// The processor time in seconds after which the kernel kills it.
  private let lastSecond: Int64
  /// A pidfd: readable once the process has ended.
  let descriptor: Descriptor
  private let end = Mutex<WorkerEnd?>(nil)
  private let isKilled = Mutex(false)

  /// Takes ownership of a started process and its pidfd.
  /// - Parameter processorSeconds: The processor time that it may use for one file, in seconds.
  init(adopting child: reel_child, processorSeconds: Int = .max >> 2) {
    lastSecond = reel_last_second(Int64(processorSeconds))
    self.child = child
    descriptor = Descriptor(adopting: child.descriptor)
  }

  deinit {
    kill()
    finish()
  }

  /// Kills the process at once. Does nothing if it has already ended.
  func kill() {
    isKilled.withLock { $0 = true }
    withUnsafePointer(to: child) { _ = reel_child_kill($0) }
  }

  /// The processor time used so far; nil if unknown.
  var processorTime: Duration? {
    let nanoseconds = withUnsafePointer(to: child) { reel_child_processor_nanoseconds($0) }
    return nanoseconds < 0 ? nil : .nanoseconds(nanoseconds)
  }

  /// Allows it that many more seconds of processor time; false if the limit could not be raised.
  func allow(processorSeconds: Int) -> Bool {
    withUnsafePointer(to: child) { reel_child_allow_seconds($0, Int32(clamping: processorSeconds)) == 0 }
  }

  /// Returns how the process ended. Waits briefly if it may be about to exit by itself, then kills it.
  @discardableResult
  func finish() -> WorkerEnd {
    if let known = end.withLock({ $0 }) { return known }
    let found = isKilled.withLock { $0 } ? collectKilled() : collect(Self.moment) ?? collectKilled()
    end.withLock { $0 = found }
    return found
  }

  /// How long a process whose channel is closed may take to exit, in milliseconds.
  private static let moment: Int32 = 200
  /// How long a killed process may take to exit, in milliseconds: the kernel first lets it finish a read from a
  /// slow disk. One that takes longer stays behind as a zombie until this process ends.
  private static let patience: Int32 = 2000

  private func collectKilled() -> WorkerEnd {
    kill()
    // The process may have ended by itself before the kill.
    switch collect(Self.patience) {
    case .exited(let status)?: return .exited(status)
    case .signalled(let signal)? where signal != SIGKILL: return .signalled(signal)
    default: return .killed
    }
  }

  private func collect(_ milliseconds: Int32) -> WorkerEnd? {
    var end = reel_end()
    let result = withUnsafePointer(to: child) { reel_child_collect($0, milliseconds, &end) }
    guard result != 0 else { return nil }
    guard result == 1 else { return .unknown }
    if end.signal == 0 { return .exited(end.exit_code) }
    let isOutOfTime = end.signal == SIGKILL && end.seconds >= lastSecond - 1
    return .signalled(isOutOfTime ? SIGXCPU : end.signal)
  }
}

/// How a worker's process ended.
enum WorkerEnd: Hashable, Sendable {
  /// It exited with this status.
  case exited(Int32)
  /// A signal that this process did not send killed it.
  case signalled(Int32)
  /// This process killed it.
  case killed
  /// Other code in this process reaped it.
  case unknown

  /// What this means for the file that was being read.
  var failure: ProbeError {
    switch self {
    case .signalled(SIGSYS):
      ProbeError(
        .sandboxViolation,
        "its reader process was killed because it tried something forbidden; treat the file as hostile"
      )
    case .signalled(SIGXCPU):
      ProbeError(.timeout, "reading it takes more processor time than a file may")
    case .signalled(SIGKILL):
      ProbeError(
        .memoryLimit,
        "the system killed its reader process, most likely for lack of memory; try again with fewer \(setting: .jobs)"
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
        "its reader ended without an answer, and its exit status is lost: this process ignores SIGCHLD, or other code in "
          + "it reaps children that are not its own")
    }
  }

  /// A description for an error about a worker that never received a file.
  var description: String {
    switch self {
    case .exited(127): "exit status 127: a library that it needs is missing"
    case .exited(let status): "exit status \(status)"
    case .signalled(let signal): Self.name(of: signal)
    case .killed: "it sent no message"
    case .unknown: "for an unknown reason"
    }
  }

  private static func name(of signal: Int32) -> String {
    guard let name = reel_child_signal_name(signal) else { return "signal \(signal)" }
    return "SIG" + String(cString: name)
  }
}
