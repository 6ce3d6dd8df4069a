import CReel
import Dispatch
import ReelCore
import ReelWire

/// The process from which a pool's workers are forked: it has loaded what they need, and has read no untrusted
/// byte.
///
/// `@unchecked Sendable`: mutable state is accessed only while holding the lock.
final class ForkServer: @unchecked Sendable {
  private let starter: WorkerStarter
  private let lock = DispatchSemaphore(value: 1)
  private let buffer = FrameBuffer()
  private var server: ReadyWorker?

  init(_ starter: WorkerStarter) {
    self.starter = starter
  }

  /// Forks a worker that is ready and has read nothing. Blocks.
  /// - Throws: As ``WorkerStarter/start(_:_:)``.
  func fork(
    _ request: ForkRequest, _ buffer: FrameBuffer, _ cancellation: CancellationFlag
  ) throws(ProbeError) -> ReadyWorker {
    lock.wait()
    defer { lock.signal() }
    while true {
      let server = try ready(cancellation)
      // A server that hangs must not outlive a run that is cancelled.
      let killing = cancellation.onSet { [process = server.worker.process] in process.kill() }
      defer { cancellation.clear(killing) }
      if let worker = try fork(request, from: server, buffer) {
        starter.breaker.succeeded()
        return worker
      }
      self.server = nil
      guard !cancellation.isSet else { throw .cancelled }
      // The server may have died while idle; if this keeps happening, something is broken.
      starter.breaker.failed("it starts no process")
    }
  }

  /// Starts the server if necessary, and returns its version. Blocks.
  func version(_ cancellation: CancellationFlag) throws(ProbeError) -> ReaderVersion {
    lock.wait()
    defer { lock.signal() }
    return try ready(cancellation).hello.version
  }

  /// Ends the server.
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

  /// Nil if the server, or the process that it forked, is unusable.
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

  /// Sends a request, with the other end of the worker's channel. Only the worker keeps that end, so that its exit
  /// is noticed here.
  /// - Returns: The parent's end of the worker's channel; nil if the server is gone.
  private func ask(_ request: ForkRequest, of server: ReadyWorker) throws(ProbeError) -> Descriptor? {
    let ends = try rethrowing(
      as: { ProbeError.noReader($0) }
    ) { () throws(SystemError) in try ChannelEnds() }
    guard let frame = try? request.encoded(), server.worker.send(frame, descriptor: ends.theirs)
    else { return nil }
    return ends.ours
  }
}
