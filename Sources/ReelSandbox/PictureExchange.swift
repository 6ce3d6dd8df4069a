import ReelCore
import ReelWire

/// Pictures to be made.
struct PictureJob: Sendable {
  let request: PictureRequest
  /// What they are made of, opened for the worker.
  let descriptor: Descriptor
  /// Of this job alone.
  let cancellation: CancellationFlag
}

/// A worker that has read nothing else, and what it is asked for: pictures. It ends with its answer.
struct PictureExchange {
  let job: PictureJob
  let worker: Worker
  let settings: WorkerSettings

  /// Blocks for the answer and the bytes that go with it; neither is looked at here beyond its length.
  func run() throws(PosterError) -> (PictureReply, [UInt8]) {
    let killing = job.cancellation.onSet { [process = worker.process] in process.kill() }
    defer { job.cancellation.clear(killing) }
    do throws(PosterError) {
      return try answer(until: .now + settings.deadline)
    } catch {
      guard job.cancellation.isSet else { throw error }
      throw PosterError(ProbeError.cancelled)
    }
  }

  private func answer(
    until end: ContinuousClock.Instant
  ) throws(PosterError) -> (PictureReply, [UInt8]) {
    guard let request = try? job.request.encoded() else {
      throw PosterError(.unreadable, "its size is no size")
    }
    guard worker.send(request, descriptor: job.descriptor) else { throw died }
    let reply: PictureReply
    let head = try frame(until: end)
    do throws(WireError) { reply = try PictureReply(decoding: head) } catch {
      throw PosterError(.garbled("\(error)"))
    }
    if case .failure(let error) = reply { throw error }
    let wanted = reply.byteCount
    guard wanted <= job.request.mostBytes else { throw PosterError(.garbled("more than was asked for")) }
    var bytes: [UInt8] = []
    bytes.reserveCapacity(wanted)
    while bytes.count < wanted {
      let piece = try frame(until: end)
      do throws(WireError) { bytes += try PictureBytes.decoded(piece) } catch {
        throw PosterError(.garbled("\(error)"))
      }
    }
    guard bytes.count == wanted else { throw PosterError(.garbled("more than it announced")) }
    return (reply, bytes)
  }

  private func frame(until end: ContinuousClock.Instant) throws(PosterError) -> [UInt8] {
    switch worker.receive(until: end) {
    case .frame(let frame): return frame
    case .late:
      worker.process.kill()
      throw PosterError(.late(settings.deadline))
    case .gone: throw died
    case .tooMuch: throw PosterError(.garbled("more than an answer can hold"))
    }
  }

  private var died: PosterError { PosterError(worker.process.finish().failure) }
}

extension PictureRequest {
  /// The most bytes that an answer may need: a JPEG is never larger than its pixels and its tables.
  var mostBytes: Int {
    switch self {
    case .poster(_, let options): Self.jpegBytes(options.size, options.size)
    case .frames(_, let count, let side): 3 * count * side * side
    case .jpeg(let width, let height): Self.jpegBytes(width, height)
    }
  }

  private static func jpegBytes(_ width: Int, _ height: Int) -> Int { 3 * width * height + 4096 }
}
