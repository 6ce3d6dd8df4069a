import ReelModel

/// One worker, kept for many files until it retires or is of no use any more.
final class KeptWorker: WorkerSource {
  private let starter: WorkerStarter
  private let buffer = FrameBuffer()
  private var kept: GreetedWorker?

  init(_ starter: WorkerStarter) {
    self.starter = starter
  }

  func worker(alone: Bool, _ interruption: CancellationFlag) throws(ProbeError) -> GreetedWorker {
    if alone { kept = nil }
    let worker = try ready(interruption)
    kept = nil
    return worker
  }

  func prepare(_ interruption: CancellationFlag) throws(ProbeError) -> ReaderVersion {
    let worker = try ready(interruption)
    kept = worker
    return worker.hello.version
  }

  func takeBack(_ worker: GreetedWorker, sound: Bool) {
    guard sound, worker.worker.files < starter.settings.filesPerWorker else { return }
    kept = worker
  }

  private func ready(_ interruption: CancellationFlag) throws(ProbeError) -> GreetedWorker {
    if let kept, starter.settings.letsReadOn(kept.worker) { return kept }
    return try starter.start(buffer, interruption)
  }
}
