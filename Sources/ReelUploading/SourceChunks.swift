import ReelCrypto
import ReelModel
import ReelSystem

/// A source's bytes in chunks, or those of a range of it, read off the cooperative pool and proved: for uploaders that
/// send what they read.
///
/// The last chunk comes only when all that were given have the digest that they are said to have, whatever the source
/// says of changes. So a store that makes an object visible after the last chunk never shows one that changed, shrank,
/// grew or could not be read.
public struct SourceChunks: AsyncSequence, Sendable {
  /// A chunk of bytes.
  public typealias Element = [UInt8]
  /// `sourceChanged`, `sourceUnreadable` or `cancelled`.
  public typealias Failure = UploadError

  private let range: ProvedRange
  private let size: Int

  /// All of `source`.
  /// - Parameter size: bytes of each chunk but the last, which may be shorter; at least 1. An empty source has no chunk.
  public init(of source: UploadSource, size: Int = 1 << 20) {
    self.init(0..<source.size, of: source, sha256: source.digest.bytes, size: size)
  }

  /// The bytes of `range`, whose SHA-256 is `sha256`.
  package init(_ range: Range<Int64>, of source: UploadSource, sha256: [UInt8], size: Int) {
    self.range = ProvedRange(source: source, range: range, sha256: sha256)
    self.size = Swift.max(1, size)
  }

  /// Begins at the first byte.
  public func makeAsyncIterator() -> Iterator { Iterator(range, size) }

  /// Gives one chunk after the other.
  public struct Iterator: AsyncIteratorProtocol {
    private let range: ProvedRange
    private let size: Int
    private let queue = BlockingQueue(label: "reel.source", width: 1)
    private var hash = SHA256()
    private var offset: Int64
    private var isOver = false

    fileprivate init(_ range: ProvedRange, _ size: Int) {
      self.range = range
      self.size = size
      offset = range.range.lowerBound
    }

    /// The next chunk; nil after the last.
    /// - Throws: `sourceChanged`, `sourceUnreadable`, `cancelled`.
    public mutating func next(
      isolation actor: isolated (any Actor)?
    ) async throws(UploadError) -> [UInt8]? {
      if isOver { return nil }
      let (range, start, size, before) = (self.range, offset, size, hash)
      let done = try await queue.runCancellable { flag throws(UploadError) in
        try flag.check()
        return try range.chunk(at: start, size, before, flag)
      }
      hash = done.hash
      offset += Int64(done.chunk.count)
      isOver = offset == range.range.upperBound
      return done.chunk.isEmpty ? nil : done.chunk
    }
  }
}

/// Bytes of a source, and what they are said to be.
private struct ProvedRange: Sendable {
  let source: UploadSource
  let range: Range<Int64>
  let sha256: [UInt8]

  /// One chunk, read and hashed; the last one only when all that were read are what they are said to be.
  /// - Parameter hash: of what came before.
  func chunk(
    at offset: Int64, _ size: Int, _ hash: SHA256, _ cancellation: CancellationFlag
  ) throws(UploadError) -> (chunk: [UInt8], hash: SHA256) {
    let chunk = try read(Int(min(Int64(size), range.upperBound - offset)), at: offset, cancellation)
    var hash = hash
    hash.update(data: chunk)
    if offset + Int64(chunk.count) == range.upperBound { try prove(hash, cancellation) }
    return (chunk, hash)
  }

  private func read(
    _ count: Int, at offset: Int64, _ cancellation: CancellationFlag
  ) throws(UploadError) -> [UInt8] {
    var failure: UploadError?
    // Not cleared first: every byte of it is read.
    let bytes = [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
      do throws(UploadError) {
        while filled < count {
          try cancellation.check()
          let rest = UnsafeMutableRawBufferPointer(
            rebasing: UnsafeMutableRawBufferPointer(buffer)[filled..<count])
          let more = try read(into: rest, at: offset + Int64(filled))
          if more == 0 { throw UploadError.changed(source, "it shrank") }
          filled += more
        }
      } catch {
        failure = error
      }
    }
    if let failure { throw failure }
    return bytes
  }

  private func prove(_ hash: SHA256, _ cancellation: CancellationFlag) throws(UploadError) {
    if range.upperBound == source.size {
      var beyond: UInt8 = 0
      let more = withUnsafeMutableBytes(of: &beyond) { byte in
        Result { () throws(UploadError) in try read(into: byte, at: source.size) }
      }
      if try more.get() > 0 { throw UploadError.changed(source, "it grew") }
    }
    if hash.finalize() != sha256 { throw UploadError.changed(source, "its bytes differ") }
    do throws(SourceError) {
      try source.bytes.checkUnchanged()
    } catch {
      throw UploadError(error)
    }
    try cancellation.check()
  }

  private func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws(UploadError) -> Int {
    do throws(SourceError) {
      return try source.bytes.read(into: buffer, at: offset)
    } catch {
      throw UploadError(error)
    }
  }
}
