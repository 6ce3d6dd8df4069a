import Crypto
import ReelModel
import ReelSystem

/// A source's bytes in chunks, read off the cooperative pool and proved: for uploaders that send what they
/// read.
///
/// The last chunk comes only when all bytes together have the source's length and digest. So a store that
/// makes an object visible after the last chunk never shows one that changed, shrank, grew or could not be
/// read.
public struct SourceChunks: AsyncSequence, Sendable {
  /// A chunk of bytes.
  public typealias Element = [UInt8]
  /// `sourceChanged`, `sourceUnreadable` or `cancelled`.
  public typealias Failure = UploadError

  private let source: UploadSource
  private let size: Int

  /// - Parameter size: bytes of each chunk but the last, which may be shorter; at least 1. An empty source
  ///   has no chunk.
  public init(of source: UploadSource, size: Int = 1 << 20) {
    self.source = source
    self.size = Swift.max(1, size)
  }

  /// Begins at the first byte.
  public func makeAsyncIterator() -> Iterator { Iterator(source, size) }

  /// Gives one chunk after the other.
  public struct Iterator: AsyncIteratorProtocol {
    private let source: UploadSource
    private let size: Int
    private let queue = BlockingQueue(label: "reel.source", width: 1)
    private var hash = SHA256()
    private var offset: Int64 = 0
    private var isOver = false

    init(_ source: UploadSource, _ size: Int) {
      self.source = source
      self.size = size
    }

    /// The next chunk; nil after the last.
    /// - Throws: `sourceChanged`, `sourceUnreadable`, `cancelled`.
    public mutating func next(
      isolation actor: isolated (any Actor)?
    ) async throws(UploadError) -> [UInt8]? {
      if isOver { return nil }
      let step = SourceStep(source: source, offset: offset, size: size, hash: hash)
      let done = try await queue.runCancellable { flag throws(UploadError) in try step.run(flag) }
      hash = done.hash
      offset += Int64(done.chunk.count)
      isOver = offset == source.size
      return done.chunk.isEmpty ? nil : done.chunk
    }
  }
}

/// One chunk: read, hashed, and at the end held against the source's word.
private struct SourceStep: Sendable {
  let source: UploadSource
  let offset: Int64
  let size: Int
  let hash: SHA256

  func run(_ cancellation: CancellationFlag) throws(UploadError) -> (chunk: [UInt8], hash: SHA256) {
    let chunk = try read(Int(min(Int64(size), source.size - offset)), at: offset, cancellation)
    var hash = hash
    hash.update(data: chunk)
    if offset + Int64(chunk.count) == source.size { try prove(hash, cancellation) }
    return (chunk, hash)
  }

  private func read(
    _ count: Int, at offset: Int64, _ cancellation: CancellationFlag
  ) throws(UploadError) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: count)
    var filled = 0
    while filled < count {
      try cancellation.check()
      let more = try read(into: &bytes, from: filled, at: offset + Int64(filled))
      if more == 0 { throw UploadError.changed(source, "it shrank") }
      filled += more
    }
    return bytes
  }

  private func prove(_ hash: SHA256, _ cancellation: CancellationFlag) throws(UploadError) {
    var beyond: [UInt8] = [0]
    if try read(into: &beyond, from: 0, at: source.size) > 0 { throw UploadError.changed(source, "it grew") }
    if Array(hash.finalize()) != source.digest.bytes { throw UploadError.changed(source, "its bytes differ") }
    do throws(SourceError) {
      try source.bytes.checkUnchanged()
    } catch {
      throw UploadError(error)
    }
    try cancellation.check()
  }

  private func read(into bytes: inout [UInt8], from filled: Int, at offset: Int64) throws(UploadError) -> Int
  {
    let count = bytes.withUnsafeMutableBytes { buffer in
      Result { () throws(SourceError) in
        try source.bytes.read(into: UnsafeMutableRawBufferPointer(rebasing: buffer[filled...]), at: offset)
      }
    }
    return try count.mapError { UploadError($0) }.get()
  }
}
