#if DEBUG
  import Glibc
  import Synchronization

  /// What `REEL_FAILPOINT=NAME[:N]=EFFECT` asks for, at the Nth time that the process comes to that place, once:
  /// `crash` (at once, as `kill -9`), `stop` (until SIGCONT), `delay:MS`, or `error:ERRNO` (EIO without a number).
  ///
  /// `REEL_DIE_AT=NAME[:N]` is the same as `NAME[:N]=crash`. To the file that `REEL_FAILPOINTS_SEEN` names, every
  /// place that is reached is added, a line each.
  package final class ArmedFailpoint: Sendable {
    private enum Effect {
      case crash, stop
      case delay(milliseconds: UInt32)
      case error(Int32)

      init?(_ text: Substring) {
        let parts = text.split(separator: ":")
        let number = parts.count > 1 ? Int32(parts[1]) : nil
        switch parts.first {
        case "crash": self = .crash
        case "stop": self = .stop
        case "delay": self = .delay(milliseconds: UInt32(number ?? 100))
        case "error": self = .error(number ?? EIO)
        default: return nil
        }
      }
    }

    /// One for the process, as its environment is; read once and never changed.
    package static let ofThisProcess = ArmedFailpoint(
      variable("REEL_FAILPOINT") ?? variable("REEL_DIE_AT").map { $0 + "=crash" },
      seen: variable("REEL_FAILPOINTS_SEEN"))

    private let name: String
    private let effect: Effect?
    private let count: Atomic<Int>
    private let seen: Int32

    private init(_ text: String?, seen: String?) {
      let halves = (text ?? "").split(separator: "=", maxSplits: 1)
      let parts = halves.first?.split(separator: ":") ?? []
      name = parts.first.map(String.init) ?? ""
      effect = halves.count == 2 ? Effect(halves[1]) : nil
      count = Atomic(parts.count > 1 ? Int(parts[1]) ?? 1 : 1)
      self.seen = seen.map { open($0, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600) } ?? -1
    }

    /// The process has come to the place of that name.
    package func reach(_ place: String) throws(SystemError) {
      if seen >= 0 {
        let line = Array((place + "\n").utf8)
        _ = write(seen, line, line.count)
      }
      guard let effect, place == name else { return }
      guard count.subtract(1, ordering: .sequentiallyConsistent).newValue == 0 else { return }
      switch effect {
      case .crash: kill(getpid(), SIGKILL)
      // To this thread: one to the process may be taken by another, and this one goes on for a while.
      case .stop: raise(SIGSTOP)
      case .delay(let milliseconds):
        let end = ContinuousClock.now + .milliseconds(milliseconds)
        // To its end: this thread may be the one that a signal is given to.
        while ContinuousClock.now < end { usleep(min(milliseconds * 1000, 10_000)) }
      case .error(let code): throw SystemError(code: code, call: place)
      }
    }

    private static func variable(_ name: String) -> String? {
      getenv(name).map { String(cString: $0) }
    }
  }
#endif
