import CSandbox
import Glibc
import ReelModel
import ReelSystem
import ReelWire

/// A worker that has said who it is.
struct GreetedWorker {
  let worker: Worker
  let hello: WorkerHello
}

/// Starts workers, and believes in them once they have answered the handshake.
struct WorkerStarter: Sendable {
  let settings: WorkerSettings
  let thread: SpawnThread
  let breaker: StartBreaker

  /// Microseconds before the next try: a program that is just being installed is busy for a moment.
  private static let pause: UInt32 = 50_000

  /// Why a worker did not come to be.
  private enum Failure: Error {
    /// No other try will fare better.
    case final(ProbeError)
    case died(String)
  }

  /// A worker that is ready, and its first word. Blocks.
  ///
  /// - Throws: `workerMissing`, `workerBroken`, `isolationUnavailable`, `tooManyOpenFiles`, `noReader`, `cancelled`.
  func start(_ buffer: FrameBuffer, _ interruption: CancellationFlag) throws(ProbeError) -> GreetedWorker {
    while true {
      try breaker.check()
      guard !interruption.isSet else { throw .cancelled }
      do throws(Failure) {
        let worker = try attempt(buffer, interruption)
        breaker.succeeded()
        return worker
      } catch {
        switch error {
        case .final(let error): throw error
        case .died where interruption.isSet: throw .cancelled
        case .died(let reason):
          breaker.failed(reason)
          usleep(Self.pause)
        }
      }
    }
  }

  private func attempt(
    _ buffer: FrameBuffer, _ interruption: CancellationFlag
  ) throws(Failure) -> GreetedWorker {
    let worker = try spawn(buffer)
    let killing = interruption.onSet { [process = worker.process] in process.kill() }
    defer { interruption.clear(killing) }
    let hello = try greeting(of: worker)
    guard hello.version.reel == ReelVersion.current else { throw .final(.otherVersion(hello.version.reel)) }
    if settings.isolation == .strict, hello.isolation != .full {
      throw .final(.lessIsolation(hello.isolation))
    }
    return GreetedWorker(worker: worker, hello: hello)
  }

  private func greeting(of worker: Worker) throws(Failure) -> WorkerHello {
    guard let start = try? settings.start.encoded(), worker.send(start) else {
      throw .died(worker.process.finish().description)
    }
    switch worker.receive(until: .now + settings.startDeadline) {
    case .frame(let frame):
      do throws(WireError) {
        return try WorkerHello(decoding: frame)
      } catch .version(let version) {
        throw .final(.otherVersion("unknown, it speaks version \(version) of the wire format"))
      } catch {
        throw .died("its first word is none")
      }
    case .late: throw .died("no word within \(settings.startDeadline.components.seconds) s")
    case .gone: throw .died(worker.process.finish().description)
    case .tooMuch: throw .died("its first word is none")
    }
  }

  /// A machine that is short of something may have it again for the next file.
  private static func failure(_ error: SystemError) -> Failure {
    if let shortage = ProbeError.shortage(error) { return .final(shortage) }
    return .died("\(error)")
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
    default: throw Self.failure(SystemError(code: error, call: "posix_spawn"))
    }
  }
}

/// Both ends of a new channel.
struct ChannelEnds {
  let ours: Descriptor
  let theirs: Descriptor

  init() throws(SystemError) {
    var ends: [Int32] = [-1, -1]
    let error = reel_channel_pair(&ends)
    guard error == 0 else { throw SystemError(code: -error, call: "socketpair") }
    ours = Descriptor(adopting: ends[0])
    theirs = Descriptor(adopting: ends[1])
  }
}

extension ProbeError {
  static let cancelled = ProbeError(.cancelled, "it was cancelled before it was read")

  static func otherVersion(_ version: String) -> ProbeError {
    ProbeError(
      .workerMissing,
      "the program that reads media, \(WorkerLocation.name), is of another version (\(version)) than this one"
        + " (\(ReelVersion.current)); \(WorkerLocation.remedy)")
  }

  static func lessIsolation(_ level: IsolationLevel) -> ProbeError {
    ProbeError(
      .isolationUnavailable,
      "--isolation strict needs Landlock and seccomp, and this system gives only \"\(level.rawValue)\";"
        + " use a kernel with both (Linux 5.13 or newer, landlock among its LSMs), or --isolation auto")
  }
}
