import CReel
import Dispatch
import ReelCore
import ReelWire

/// The process that a pool's workers are forked from: it has loaded what they need, and has read no stranger's byte.
///
/// `@unchecked Sendable`: everything that changes is touched only by whoever has the lock.
final class ForkServer: @unchecked Sendable {
  private let starter: WorkerStarter
  private let lock = DispatchSemaphore(value: 1)
  private let buffer = FrameBuffer()
  private var server: ReadyWorker?

  init(_ starter: WorkerStarter) {
    self.starter = starter
  }

  /// A worker that is ready and has read nothing. Blocks.
  /// - Throws: as ``WorkerStarter/start(_:_:)``.
  func fork(
    _ request: ForkRequest, _ buffer: FrameBuffer, _ cancellation: CancellationFlag
  ) throws(ProbeError) -> ReadyWorker {
    lock.wait()
    defer { lock.signal() }
    while true {
      let server = try ready(cancellation)
      // A server that hangs must not outlast a run that is cancelled.
      let killing = cancellation.onSet { [process = server.worker.process] in process.kill() }
      defer { cancellation.clear(killing) }
      if let worker = try fork(request, from: server, buffer) {
        starter.breaker.succeeded()
        return worker
      }
      self.server = nil
      guard !cancellation.isSet else { throw .cancelled }
      // The one that was kept may have died; when that goes on, something is broken.
      starter.breaker.failed("it starts no process")
    }
  }

  /// Starts it. Blocks.
  func version(_ cancellation: CancellationFlag) throws(ProbeError) -> ReaderVersion {
    lock.wait()
    defer { lock.signal() }
    return try ready(cancellation).hello.version
  }

  /// Ends it.
  func close() {
    lock.wait()
    defer { lock.signal() }
    server = nil
  }

  private func ready(_ cancellation: CancellationFlag) throws(ProbeError) -> ReadyWorker {
    if let server, starter.settings.letsReadOn(server.worker) { return server }
    let started = try starter.start(buffer, cancellation)
    server = started
    return started
  }

  /// Nil when the server, or what it has forked, is of no use.
  private func fork(
    _ request: ForkRequest, from server: ReadyWorker, _ buffer: FrameBuffer
  ) throws(ProbeError) -> ReadyWorker? {
    let deadline = ContinuousClock.now + starter.settings.startDeadline
    guard let channel = try ask(request, of: server),
      case .frame(let frame) = server.worker.receive(until: deadline),
      let reply = try? ForkReply(decoding: frame)
    else { return nil }
    let process: Int32
    switch reply {
    case .forked(let number): process = number
    case .failed(let error): throw .noReader(SystemError(code: error, call: "clone"))
    }
    var child = reel_child()
    let error = reel_child_adopt(process, &child)
    guard error == 0 else { throw .noReader(SystemError(code: -error, call: "pidfd_open")) }
    let worker = Worker(
      process: ChildProcess(adopting: child, processorSeconds: request.processorSeconds),
      channel: channel, buffer: buffer)
    guard case .frame(let answer) = worker.receive(until: deadline),
      let hello = try? WorkerHello(decoding: answer),
      worker.process.allow(processorSeconds: request.processorSeconds)
    else { return nil }
    return ReadyWorker(worker: worker, hello: hello)
  }

  /// The worker alone holds the other end, so that its end is seen here.
  /// - Returns: this side's end of the worker's channel; nil when the server is gone.
  private func ask(_ request: ForkRequest, of server: ReadyWorker) throws(ProbeError) -> Descriptor? {
    let ends = try rethrowing(
      as: { ProbeError.noReader($0) }
    ) { () throws(SystemError) in try ChannelEnds() }
    guard let frame = try? request.encoded(), server.worker.send(frame, descriptor: ends.theirs)
    else { return nil }
    return ends.ours
  }
}
