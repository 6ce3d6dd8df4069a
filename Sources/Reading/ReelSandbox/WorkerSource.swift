import ReelCore
import ReelWire

/// Provides a slot of the pool with the worker for its next file. Used by one thread at a time.
protocol WorkerSource: AnyObject {
  /// Returns a worker that is ready. Blocks while one starts.
  /// - Parameter alone: Whether it must not have read any other file.
  /// - Throws: As ``WorkerStarter/start(_:_:)``.
  func worker(alone: Bool, _ cancellation: CancellationFlag) throws(ProbeError) -> ReadyWorker

  /// Returns a worker for pictures: it has read no file, and is not taken back. Blocks.
  /// - Throws: As ``worker(alone:_:)``.
  func workerForPictures(_ cancellation: CancellationFlag) throws(ProbeError) -> ReadyWorker

  /// Starts whatever can be started before there is a file, and returns its version.
  func prepare(_ cancellation: CancellationFlag) throws(ProbeError) -> ReaderVersion

  /// Takes back a worker that has read a file. If it is `sound`, it may read another.
  func takeBack(_ worker: ReadyWorker, sound: Bool)
}

/// A worker that is kept for many files until it retires or becomes unusable.
final class PersistentWorker: WorkerSource {
  private let starter: WorkerStarter
  private let server: ForkServer?
  private let buffer = FrameBuffer()
  private var kept: ReadyWorker?

  /// - Parameter server: Forks the workers; nil to start each as a program of its own.
  init(_ starter: WorkerStarter, _ server: ForkServer?) {
    self.starter = starter
    self.server = server
  }

  func worker(alone: Bool, _ cancellation: CancellationFlag) throws(ProbeError) -> ReadyWorker {
    if alone { kept = nil }
    let worker = try ready(cancellation)
    kept = nil
    return worker
  }

  func workerForPictures(_ cancellation: CancellationFlag) throws(ProbeError) -> ReadyWorker {
    try fresh(.pictures, cancellation)
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
    return try fresh(.reading, cancellation)
  }

  private func fresh(
    _ purpose: ForkRequest.Purpose, _ cancellation: CancellationFlag
  ) throws(ProbeError) -> ReadyWorker {
    if let server { return try server.fork(starter.settings.fork(purpose), buffer, cancellation) }
    return try starter.start(buffer, cancellation)
  }
}

/// Provides a fresh worker for each file.
final class FreshWorkers: WorkerSource {
  private let settings: WorkerSettings
  private let server: ForkServer
  private let buffer = FrameBuffer()

  init(_ settings: WorkerSettings, _ server: ForkServer) {
    self.settings = settings
    self.server = server
  }

  func worker(alone: Bool, _ cancellation: CancellationFlag) throws(ProbeError) -> ReadyWorker {
    try worker(for: .reading, cancellation)
  }

  func workerForPictures(_ cancellation: CancellationFlag) throws(ProbeError) -> ReadyWorker {
    try worker(for: .pictures, cancellation)
  }

  private func worker(
    for purpose: ForkRequest.Purpose, _ cancellation: CancellationFlag
  ) throws(ProbeError) -> ReadyWorker {
    let ready = try server.fork(settings.fork(purpose), buffer, cancellation)
    guard ready.hello.isolation == .full else { throw .lessIsolation(ready.hello.isolation) }
    // The worker reads only this file.
    return ReadyWorker(
      worker: ready.worker, hello: WorkerHello(version: ready.hello.version, isolation: .strict))
  }

  func prepare(_ cancellation: CancellationFlag) throws(ProbeError) -> ReaderVersion {
    try server.version(cancellation)
  }

  func takeBack(_ worker: ReadyWorker, sound: Bool) {}
}
