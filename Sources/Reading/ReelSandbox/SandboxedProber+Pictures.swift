import CReel
import ReelCore
import ReelWire

/// Posters, each made by a confined process that reads nothing else and then ends.
extension SandboxedProber: PosterMaker {
  /// Makes the poster of `file`.
  /// - Throws: What the sniffer or the worker reports about the file; `timeout`, `memoryLimit`, `crashed`,
  ///   `sandboxViolation`, `implausible` if the worker returned no plausible picture; errors of the installation or
  ///   the machine, as ``probe(_:sniffed:patience:cancellation:)``; `cancelled`.
  public func poster(
    of file: SourceFile, sniffed container: MediaContainer?, options: PosterOptions,
    cancellation: CancellationFlag
  ) throws(PosterError) -> Poster {
    let request = try fileRequest(of: file, sniffed: container)
    let descriptor = try Self.reopened(file)
    let (reply, bytes) = try pictures(.poster(request, options), descriptor, cancellation)
    guard case .poster(let facts, _) = reply else { throw PosterError(.garbled("another kind of answer")) }
    return try PictureValidation.poster(facts, bytes, options)
  }

  /// Makes pictures spread evenly over a video: at least one, at most `count`, none with a side longer than `side`.
  /// - Throws: As ``poster(of:sniffed:options:cancellation:)``.
  package func frames(
    of file: SourceFile, count: Int, side: Int, cancellation: CancellationFlag
  ) throws(PosterError) -> [VideoFrame] {
    let request = try fileRequest(of: file, sniffed: nil)
    let descriptor = try Self.reopened(file)
    let (reply, bytes) = try pictures(
      .frames(request, count: count, side: side), descriptor, cancellation)
    guard case .frames(let facts) = reply else { throw PosterError(.garbled("another kind of answer")) }
    return try PictureValidation.frames(facts, bytes, count: count, side: side)
  }

  /// Encodes a picture as a JPEG in a confined process.
  /// - Throws: As above.
  package func jpeg(
    of picture: RawPicture, cancellation: CancellationFlag
  ) throws(PosterError) -> [UInt8] {
    let number = picture.bytes.withUnsafeBytes { reel_channel_sealed($0.baseAddress, $0.count) }
    guard number >= 0 else {
      throw PosterError(.noReader(SystemError(code: -number, call: "memfd_create")))
    }
    let request = PictureRequest.jpeg(width: picture.width, height: picture.height)
    let (reply, bytes) = try pictures(request, Descriptor(adopting: number), cancellation)
    guard case .jpeg = reply else { throw PosterError(.garbled("another kind of answer")) }
    try PictureValidation.check(bytes, width: picture.width, height: picture.height)
    return bytes
  }

  private func fileRequest(
    of file: SourceFile, sniffed container: MediaContainer?
  ) throws(PosterError) -> ReadRequest {
    let container = try rethrowing(as: PosterError.init) { () throws(ProbeError) in
      if let container { container } else { try FirstBytes.container(of: file) }
    }
    return settings.request(size: file.size, container: container)
  }

  private static func reopened(_ file: SourceFile) throws(PosterError) -> Descriptor {
    do throws(ProbeError) { return try .reopening(file.handle) } catch { throw PosterError(error) }
  }

  private func pictures(
    _ request: PictureRequest, _ descriptor: Descriptor, _ cancellation: CancellationFlag
  ) throws(PosterError) -> (PictureReply, [UInt8]) {
    let flag = CancellationFlag(parent: cancellation)
    guard let slot = pool.take(flag) else { throw PosterError(ProbeError.cancelled) }
    defer { pool.giveBack(flag) }
    return try slot.pictures(PictureJob(request: request, descriptor: descriptor, cancellation: flag))
  }
}
