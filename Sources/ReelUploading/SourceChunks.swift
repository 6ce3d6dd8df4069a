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
  private let isHashed: Bool

  /// - Parameters:
  ///   - size: bytes of each chunk but the last, which may be shorter; at least 1. An empty source has no chunk.
  ///   - isSigned: the store was told the digest, and refuses other bytes. Then a source whose changes are sure to show
  ///     is not hashed once more here: it is asked at the end.
  public init(of source: UploadSource, size: Int = 1 << 20, isSigned: Bool = false) {
    self.source = source
    self.size = Swift.max(1, size)
    isHashed = !(isSigned && source.bytes.isPrivate)
  }

  /// Begins at the first byte.
  public func makeAsyncIterator() -> Iterator { Iterator(source, size, isHashed: isHashed) }

  /// Gives one chunk after the other.
  public struct Iterator: AsyncIteratorProtocol {
    private let source: UploadSource
    private let size: Int
    private let queue = BlockingQueue(label: "reel.source", width: 1)
    private var hash: SHA256?
    private var offset: Int64 = 0
    private var isOver = false

    init(_ source: UploadSource, _ size: Int, isHashed: Bool) {
      self.source = source
      self.size = size
      hash = isHashed ? SHA256() : nil
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
  /// Of what came before; nil where nothing has to be hashed.
  let hash: SHA256?

  func run(_ cancellation: CancellationFlag) throws(UploadError) -> (chunk: [UInt8], hash: SHA256?) {
    let chunk = try read(Int(min(Int64(size), source.size - offset)), at: offset, cancellation)
    var hash = hash
    hash?.update(data: chunk)
    if offset + Int64(chunk.count) == source.size { try prove(hash, cancellation) }
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

  private func prove(_ hash: SHA256?, _ cancellation: CancellationFlag) throws(UploadError) {
    var beyond: UInt8 = 0
    let more = withUnsafeMutableBytes(of: &beyond) { byte in
      Result { () throws(UploadError) in try read(into: byte, at: source.size) }
    }
    if try more.get() > 0 { throw UploadError.changed(source, "it grew") }
    if let hash, Array(hash.finalize()) != source.digest.bytes {
      throw UploadError.changed(source, "its bytes differ")
    }
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
