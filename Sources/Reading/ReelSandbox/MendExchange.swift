import Glibc
import ReelCore
import ReelWire

/// A request to mend a file, or to compute its digests, to a worker that has read nothing else, and that ends with
/// its answer.
struct MendExchange {
  let request: MendRequest
  /// The file, opened for the worker.
  let descriptor: Descriptor
  /// The file to write, opened for the worker; nil for digests.
  let output: Descriptor?
  let worker: Worker
  let settings: WorkerSettings
  let cancellation: CancellationFlag
  /// Called when the worker begins to write.
  let onWriting: () -> Void

  /// Waits for the answer. Blocks.
  func run() throws(MendError) -> MendReply {
    let killing = cancellation.onSet { [process = worker.process] in process.kill() }
    defer { cancellation.clear(killing) }
    do throws(MendError) {
      return try answer(until: .now + settings.deadline)
    } catch {
      guard cancellation.isSet else { throw error }
      throw MendError(ProbeError.cancelled)
    }
  }

  private func answer(until end: ContinuousClock.Instant) throws(MendError) -> MendReply {
    guard let frame = try? request.encoded() else {
      throw MendError(.unreadable, "its size is not a valid size")
    }
    guard worker.send(frame, descriptor: descriptor) else { throw died }
    if let output {
      guard let second = try? MendOutputRequest().encoded(), worker.send(second, descriptor: output) else {
        throw died
      }
    }
    var reply = try reply(until: end)
    if output != nil, case .writing = reply {
      onWriting()
      reply = try self.reply(until: end)
    }
    switch reply {
    case .writing: throw MendError(.garbled("a second message that it is writing"))
    case .failure(let error): throw error
    case .mended, .digests: return reply
    }
  }

  private func reply(until end: ContinuousClock.Instant) throws(MendError) -> MendReply {
    switch worker.receive(until: end) {
    case .frame(let frame):
      return try rethrowing(as: { MendError(.garbled("\($0)")) }) { () throws(WireError) in
        try MendReply(decoding: frame)
      }
    case .late:
      worker.process.kill()
      throw MendError(.late(settings.deadline))
    case .gone: throw died
    case .tooMuch: throw MendError(.garbled("more than an answer can hold"))
    }
  }

  private var died: MendError {
    switch worker.process.finish() {
    case .signalled(SIGXFSZ):
      MendError(
        .notWritten,
        "the mended file would be larger than the source allows, or than this process may write (ulimit -f)")
    case let ending: MendError(ending.failure)
    }
  }
}
