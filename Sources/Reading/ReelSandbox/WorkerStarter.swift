import CReel
import Glibc
import ReelCore
import ReelWire
import Synchronization

/// A worker that has answered the handshake.
struct ReadyWorker {
  let worker: Worker
  let hello: WorkerHello
}

/// Starts workers. A worker counts as started once it has answered the handshake.
struct WorkerStarter: Sendable {
  let settings: WorkerSettings
  let thread: SpawnThread
  let breaker: StartCircuitBreaker
  let losses = WorkerLosses()

  /// Why a worker could not be started.
  private enum Failure: Error {
    /// Another attempt would fail, too.
    case final(ProbeError)
    case died(String)
  }

  /// Starts a worker and waits for its handshake. Blocks.
  ///
  /// - Throws: `workerMissing`, `workerBroken`, `isolationUnavailable`, `tooManyOpenFiles`, `noReader`,
  ///   `cancelled`.
  func start(_ buffer: FrameBuffer, _ cancellation: CancellationFlag) throws(ProbeError) -> ReadyWorker {
    while true {
      try breaker.check()
      guard !cancellation.isSet else { throw .cancelled }
      do throws(Failure) {
        let worker = try attempt(buffer, cancellation)
        // A fork server has not proved useful until it has forked a worker.
        if !settings.forks { breaker.succeeded() }
        return worker
      } catch {
        switch error {
        case .final(let error): throw error
        case .died where cancellation.isSet: throw .cancelled
        case .died(let reason):
          usleep(breaker.failed(reason))
        }
      }
    }
  }

  private func attempt(
    _ buffer: FrameBuffer, _ cancellation: CancellationFlag
  ) throws(Failure) -> ReadyWorker {
    let worker = try spawn(buffer)
    let killing = cancellation.onSet { [process = worker.process] in process.kill() }
    defer { cancellation.clear(killing) }
    let hello = try handshake(with: worker)
    guard hello.version.reel == ReelVersion.current else { throw otherVersion(hello.version.reel) }
    if settings.isolation == .strict, hello.isolation != .full {
      throw .final(.lessIsolation(hello.isolation))
    }
    return ReadyWorker(worker: worker, hello: hello)
  }

  private func handshake(with worker: Worker) throws(Failure) -> WorkerHello {
    guard let start = try? settings.start.encoded(), worker.send(start) else {
      throw .died(worker.process.finish().description)
    }
    switch worker.receive(until: .now + settings.startDeadline) {
    case .frame(let frame):
      do throws(WireError) {
        return try WorkerHello(decoding: frame)
      } catch .version(let version) {
        throw otherVersion("unknown; it uses version \(version) of the wire format")
      } catch {
        throw .died("its first message is not a handshake")
      }
    case .late: throw .died("no message within \(settings.startDeadline.components.seconds) s")
    case .gone: throw .died(worker.process.finish().description)
    case .tooMuch: throw .died("its first message is not a handshake")
    }
  }

  private func otherVersion(_ version: String) -> Failure {
    breaker.metOtherVersion()
    return .final(.otherVersion(version))
  }

  /// A shortage on this machine may be over by the next file.
  private static func failure(_ error: SystemError) -> Failure {
    (ProbeError.exhausted(error) ?? .refused(error)).map { .final($0) } ?? .died("\(error)")
  }

  private func spawn(_ buffer: FrameBuffer) throws(Failure) -> Worker {
    let path: String
    do throws(ProbeError) { path = try settings.location.resolve() } catch { throw .final(error) }
    let ends: ChannelEnds
    do throws(SystemError) { ends = try ChannelEnds() } catch { throw Self.failure(error) }
    let theirs = ends.theirs
    let (child, error) = thread.run { () -> (reel_child, Int32) in
      var child = reel_child()
      let error = path.withCString { reel_child_spawn($0, theirs.rawValue, &child) }
      return (child, -error)
    }
    switch error {
    case 0:
      let process = ChildProcess(adopting: child, processorSeconds: settings.start.processorSeconds)
      return Worker(process: process, channel: ends.ours, buffer: buffer)
    case EACCES, ENOENT, ENOEXEC:
      guard WorkerLocation.isProgram(path) else { throw .final(WorkerLocation.missing(at: [path])) }
      throw .final(WorkerLocation.notStarted(path, SystemError(code: error, call: "posix_spawn")))
    default:
      let call = child.pid == 0 ? "posix_spawn" : "pidfd_open"
      throw Self.failure(SystemError(code: error, call: call))
    }
  }
}

/// Counts workers that did not survive a file, or were killed while reading it.
final class WorkerLosses: Sendable {
  private let losses = Mutex(0)

  var count: Int { losses.withLock { $0 } }

  func add() { losses.withLock { $0 += 1 } }
}

/// Detects that no worker can be started, so that a broken installation causes one clear error rather than one for
/// each file.
final class StartCircuitBreaker: Sendable {
  private struct State {
    var failuresInARow = 0
    var verdict: (error: ProbeError, expiry: ContinuousClock.Instant)?
    var hasMetOtherVersion = false
  }
  private let state = Mutex(State())
  private let validity: Duration
  private let now: @Sendable () -> ContinuousClock.Instant

  /// How many consecutive failures stop further attempts for a while.
  static let patience = 3
  /// How long they are not tried again.
  static let validity = Duration.seconds(5)

  /// - Parameter validity: How long to wait before the next attempt: a library that is being replaced is back by
  ///   then.
  init(
    validity: Duration = StartCircuitBreaker.validity,
    now: @escaping @Sendable () -> ContinuousClock.Instant = { .now }
  ) {
    (self.validity, self.now) = (validity, now)
  }

  /// Whether the program that was started is of another version than this one, which no further attempt can change.
  var hasMetOtherVersion: Bool { state.withLock { $0.hasMetOtherVersion } }

  func metOtherVersion() {
    state.withLock { $0.hasMetOtherVersion = true }
  }

  /// Checks whether a start may be attempted.
  /// - Throws: `workerBroken` for a while after repeated failures.
  func check() throws(ProbeError) {
    if let verdict = state.withLock({ $0.verdict }), now() < verdict.expiry { throw verdict.error }
  }

  func succeeded() {
    state.withLock { ($0.failuresInARow, $0.verdict) = (0, nil) }
  }

  /// Records another failed start, for `reason`.
  /// - Returns: Microseconds to wait before the next attempt: a program that is being installed is busy for a
  ///   moment.
  @discardableResult
  func failed(_ reason: String) -> UInt32 {
    state.withLock { state in
      state.failuresInARow = min(state.failuresInARow + 1, Self.patience)
      guard state.failuresInARow == Self.patience else { return state.failuresInARow == 1 ? 50_000 : 500_000 }
      // An attempt that was already under way fails for the same reason.
      if let verdict = state.verdict, now() < verdict.expiry { return 0 }
      let error = ProbeError(
        .workerBroken,
        "the program that reads media failed to start, \(Self.patience) times in a row"
          + " (\(reason)); reinstall Reel, and make sure that this system, or this container, lets it run")
      state.verdict = (error, now() + validity)
      return 0
    }
  }
}
