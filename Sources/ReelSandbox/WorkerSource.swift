import CReel
import ReelCore
import ReelWire

/// Where a slot of the pool gets the worker for its next file from. Used by one thread at a time.
protocol WorkerSource: AnyObject {
  /// A worker that is ready. Blocks while one starts.
  /// - Parameter alone: whether it must have read no other file.
  /// - Throws: as ``WorkerStarter/start(_:_:)``.
  func worker(alone: Bool, _ cancellation: CancellationFlag) throws(ProbeError) -> ReadyWorker

  /// Starts what can be started before there is a file. Gives its version.
  func prepare(_ cancellation: CancellationFlag) throws(ProbeError) -> ReaderVersion

  /// Takes back a worker that has read a file: one that is `sound` may read another.
  func takeBack(_ worker: ReadyWorker, sound: Bool)
}

/// One worker, kept for many files until it retires or is of no use any more.
final class PersistentWorker: WorkerSource {
  private let starter: WorkerStarter
  private let buffer = FrameBuffer()
  private var kept: ReadyWorker?

  init(_ starter: WorkerStarter) {
    self.starter = starter
  }

  func worker(alone: Bool, _ cancellation: CancellationFlag) throws(ProbeError) -> ReadyWorker {
    if alone { kept = nil }
    let worker = try ready(cancellation)
    kept = nil
    return worker
  }

  func prepare(_ cancellation: CancellationFlag) throws(ProbeError) -> ReaderVersion {
    let worker = try ready(cancellation)
    kept = worker
    return worker.hello.version
  }

  func takeBack(_ worker: ReadyWorker, sound: Bool) {
    guard sound, worker.worker.files < starter.settings.filesPerWorker else { return }
    kept = worker
  }

  private func ready(_ cancellation: CancellationFlag) throws(ProbeError) -> ReadyWorker {
    if let kept, starter.settings.letsReadOn(kept.worker) { return kept }
    return try starter.start(buffer, cancellation)
  }
}

/// A fresh worker for each file, from a warm process that has read no stranger's byte.
final class ForkServer: WorkerSource {
  private let starter: WorkerStarter
  private let buffer = FrameBuffer()
  private var server: ReadyWorker?

  init(_ starter: WorkerStarter) {
    self.starter = starter
  }

  func worker(alone: Bool, _ cancellation: CancellationFlag) throws(ProbeError) -> ReadyWorker {
    let isKept = server != nil
    let ready = try ready(cancellation)
    if let worker = try fork(from: ready) { return worker }
    server = nil
    // One that was kept may have died meanwhile; one that has just started should not fail.
    if isKept, let worker = try fork(from: try self.ready(cancellation)) { return worker }
    starter.breaker.failed("it starts no process")
    throw .noReader("the process that starts readers started none")
  }

  func prepare(_ cancellation: CancellationFlag) throws(ProbeError) -> ReaderVersion {
    try ready(cancellation).hello.version
  }

  func takeBack(_ worker: ReadyWorker, sound: Bool) {}

  private func ready(_ cancellation: CancellationFlag) throws(ProbeError) -> ReadyWorker {
    if let server, starter.settings.letsReadOn(server.worker) { return server }
    let started = try starter.start(buffer, cancellation)
    server = started
    return started
  }

  /// Nil when the server gave none.
  private func fork(from server: ReadyWorker) throws(ProbeError) -> ReadyWorker? {
    let ends: ChannelEnds
    do throws(SystemError) { ends = try ChannelEnds() } catch {
      throw .exhausted(error) ?? .noReader("\(error)")
    }
    guard let request = try? BirthRequest().encoded() else { return nil }
    let deadline = ContinuousClock.now + starter.settings.startDeadline
    guard server.worker.send(request, descriptor: ends.theirs),
      let (frame, descriptor) = server.worker.receiveWithDescriptor(until: deadline),
      let notice = try? BirthNotice(decoding: frame)
    else { return nil }
    let child = ChildProcess(
      pid: notice.process, descriptor: descriptor, processorSeconds: starter.settings.start.processorSeconds)
    let worker = Worker(process: child, channel: ends.ours, buffer: buffer)
    guard case .frame(let answer) = worker.receive(until: deadline),
      let hello = try? WorkerHello(decoding: answer), hello.isolation == .strict
    else { return nil }
    return ReadyWorker(worker: worker, hello: hello)
  }
}
