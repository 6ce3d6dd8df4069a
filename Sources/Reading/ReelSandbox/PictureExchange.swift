import ReelCore
import ReelWire

/// A request for pictures, with its source.
struct PictureJob: Sendable {
  let request: PictureRequest
  /// The source of the pictures, opened for the worker.
  let descriptor: Descriptor
  /// The flag for this job alone.
  let cancellation: CancellationFlag
}

/// A request for pictures to a worker that has read nothing else, and that ends with its answer.
struct PictureExchange {
  let job: PictureJob
  let worker: Worker
  let settings: WorkerSettings

  /// Waits for the answer and the bytes that accompany it, without checking more than their length. Blocks.
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
      throw PosterError(.unreadable, "its size is not a valid size")
    }
    guard worker.send(request, descriptor: job.descriptor) else { throw died }
    let head = try frame(until: end)
    let reply = try rethrowing(as: Self.garbled) { () throws(WireError) in try PictureReply(decoding: head) }
    if case .failure(let error) = reply { throw error }
    let wanted = reply.byteCount
    guard wanted <= job.request.mostBytes(of: reply) else {
      throw PosterError(.garbled("more than was requested"))
    }
    var bytes: [UInt8] = []
    bytes.reserveCapacity(wanted)
    while bytes.count < wanted { bytes += try piece(min(PictureBytes.largest, wanted - bytes.count), end) }
    return (reply, bytes)
  }

  private static func garbled(_ error: WireError) -> PosterError { PosterError(.garbled("\(error)")) }

  /// Every chunk except the last must have the maximum size, so that a worker cannot prolong the exchange with tiny
  /// ones.
  private func piece(
    _ count: Int, _ end: ContinuousClock.Instant
  ) throws(PosterError) -> ArraySlice<UInt8> {
    let frame = try frame(until: end)
    let piece = try rethrowing(as: Self.garbled) { () throws(WireError) in try PictureBytes.decoded(frame) }
    guard piece.count == count else { throw PosterError(.garbled("a piece of another size")) }
    return piece
  }

  private func frame(until end: ContinuousClock.Instant) throws(PosterError) -> [UInt8] {
    // A worker that keeps sending is late, too.
    guard .now < end else { throw late }
    switch worker.receive(until: end) {
    case .frame(let frame): return frame
    case .late: throw late
    case .gone: throw died
    case .tooMuch: throw PosterError(.garbled("more than an answer can hold"))
    }
  }

  private var late: PosterError {
    worker.process.kill()
    return PosterError(.late(settings.deadline))
  }

  private var died: PosterError { PosterError(worker.process.finish().failure) }
}

extension PictureRequest {
  /// The maximum number of bytes that an answer may need: a JPEG is never larger than its pixels, padded to whole
  /// blocks of 16×16, plus its tables.
  func mostBytes(of reply: PictureReply) -> Int {
    switch (self, reply) {
    case (.poster(_, let options), .poster(let facts, _)):
      Self.jpegBytes(min(facts.width, options.size), min(facts.height, options.size))
    case (.frames(_, let count, let side), _): 3 * count * side * side
    case (.jpeg(let width, let height), _): Self.jpegBytes(width, height)
    // A mismatched kind of answer.
    case (.poster, _): 0
    }
  }

  private static func jpegBytes(_ width: Int, _ height: Int) -> Int {
    let padded = { (side: Int) in (side + 15) & ~15 }
    return 3 * padded(width) * padded(height) + 4096
  }
}
