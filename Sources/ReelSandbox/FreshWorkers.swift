import CSandbox
import ReelModel
import ReelSystem
import ReelWire

/// A fresh worker for each file, from a warm process that has read no stranger's byte.
final class FreshWorkers: WorkerSource {
  private let starter: WorkerStarter
  private let buffer = FrameBuffer()
  private var nursery: GreetedWorker?

  init(_ starter: WorkerStarter) {
    self.starter = starter
  }

  func worker(alone: Bool, _ interruption: CancellationFlag) throws(ProbeError) -> GreetedWorker {
    let isKept = nursery != nil
    let ready = try ready(interruption)
    if let worker = try birth(from: ready) { return worker }
    nursery = nil
    // One that was kept may have died meanwhile; one that has just started should not fail.
    if isKept, let worker = try birth(from: try self.ready(interruption)) { return worker }
    starter.breaker.failed("it starts no process")
    throw .noReader("the process that starts readers started none")
  }

  func prepare(_ interruption: CancellationFlag) throws(ProbeError) -> ReaderVersion {
    try ready(interruption).hello.version
  }

  func takeBack(_ worker: GreetedWorker, sound: Bool) {}

  private func ready(_ interruption: CancellationFlag) throws(ProbeError) -> GreetedWorker {
    if let nursery, starter.settings.letsReadOn(nursery.worker) { return nursery }
    let started = try starter.start(buffer, interruption)
    nursery = started
    return started
  }

  /// Nil when the nursery gave none.
  private func birth(from nursery: GreetedWorker) throws(ProbeError) -> GreetedWorker? {
    let ends: ChannelEnds
    do throws(SystemError) { ends = try ChannelEnds() } catch {
      throw .shortage(error) ?? .noReader("\(error)")
    }
    guard let request = try? BirthRequest().encoded() else { return nil }
    let deadline = ContinuousClock.now + starter.settings.startDeadline
    guard nursery.worker.send(request, descriptor: ends.theirs),
      let (frame, descriptor) = nursery.worker.receiveWithDescriptor(until: deadline),
      let notice = try? BirthNotice(decoding: frame)
    else { return nil }
    let child = ChildProcess(
      pid: notice.process, descriptor: descriptor, processorSeconds: starter.settings.start.processorSeconds)
    let worker = Worker(process: child, channel: ends.ours, buffer: buffer)
    guard case .frame(let greeting) = worker.receive(until: deadline),
      let hello = try? WorkerHello(decoding: greeting), hello.isolation == .strict
    else { return nil }
    return GreetedWorker(worker: worker, hello: hello)
  }
}
