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
  func fork(_ buffer: FrameBuffer, _ cancellation: CancellationFlag) throws(ProbeError) -> ReadyWorker {
    lock.wait()
    defer { lock.signal() }
    let isKept = server != nil
    if let worker = try fork(from: try ready(cancellation), buffer) { return worker }
    server = nil
    // One that was kept may have died meanwhile; one that has just started should not fail.
    if isKept, let worker = try fork(from: try ready(cancellation), buffer) { return worker }
    server = nil
    starter.breaker.failed("it starts no process")
    throw .noReader("the process that starts readers started none")
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

  /// Nil when the server gave none.
  private func fork(from server: ReadyWorker, _ buffer: FrameBuffer) throws(ProbeError) -> ReadyWorker? {
    let ends: ChannelEnds
    do throws(SystemError) { ends = try ChannelEnds() } catch {
      throw .exhausted(error) ?? .noReader("\(error)")
    }
    guard let request = try? ForkRequest().encoded() else { return nil }
    let deadline = ContinuousClock.now + starter.settings.startDeadline
    guard server.worker.send(request, descriptor: ends.theirs),
      let (frame, descriptor) = server.worker.receiveWithDescriptor(until: deadline),
      let reply = try? ForkReply(decoding: frame)
    else { return nil }
    let child = ChildProcess(
      pid: reply.process, descriptor: descriptor, processorSeconds: starter.settings.start.processorSeconds)
    let worker = Worker(process: child, channel: ends.ours, buffer: buffer)
    guard case .frame(let answer) = worker.receive(until: deadline),
      let hello = try? WorkerHello(decoding: answer)
    else { return nil }
    return ReadyWorker(worker: worker, hello: hello)
  }
}
