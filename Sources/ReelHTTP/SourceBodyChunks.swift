import ReelModel
import ReelSystem
import ReelUploading

/// The bytes of a ``SourceBody``, chunk by chunk: what any transport sends.
public struct SourceBodyChunks: AsyncSequence, Sendable {
  /// A chunk.
  public typealias Element = [UInt8]
  /// `sourceChanged`, `sourceUnreadable` or `cancelled`.
  public typealias Failure = UploadError

  /// Bytes of a chunk: large enough that a thread's switch does not count, small enough for many at once.
  static let chunkSize = 1 << 19

  private let body: SourceBody

  /// The chunks of `body`.
  public init(_ body: SourceBody) { self.body = body }

  /// Begins at the range's first byte.
  public func makeAsyncIterator() -> Iterator { Iterator(body) }

  /// Gives one chunk after the other.
  public struct Iterator: AsyncIteratorProtocol {
    private let body: SourceBody
    private var proved: SourceChunks.Iterator?
    private let queue = BlockingQueue(label: "reel.http-body", width: 1)
    private var given: Int64 = 0

    init(_ body: SourceBody) {
      self.body = body
      proved =
        body.isProved
        ? SourceChunks(of: body.source, size: SourceBodyChunks.chunkSize, isSigned: body.isSigned)
          .makeAsyncIterator() : nil
    }

    /// The next chunk; nil after the last. What was given before is reported as sent.
    public mutating func next(isolation actor: isolated (any Actor)?) async throws(UploadError) -> [UInt8]? {
      if given > 0 { body.reporting(given) }
      let chunk = try await nextChunk(isolation: actor)
      given += Int64(chunk?.count ?? 0)
      return chunk
    }

    private mutating func nextChunk(
      isolation actor: isolated (any Actor)?
    ) async throws(UploadError) -> [UInt8]? {
      if proved != nil { return try await proved?.next(isolation: actor) }
      let offset = body.range.lowerBound + given
      guard offset < body.range.upperBound else { return nil }
      if Task.isCancelled { throw UploadError(.cancelled, "cancelled while it was sent") }
      let count = Int(Swift.min(Int64(SourceBodyChunks.chunkSize), body.range.upperBound - offset))
      let source = body.source
      return try await queue.run { () throws(UploadError) in try source.chunk(of: count, at: offset) }
    }
  }
}

extension UploadSource {
  /// Exactly `count` bytes at `offset`. Blocks.
  /// - Throws: `sourceChanged` when there are fewer, `sourceUnreadable`.
  public func chunk(of count: Int, at offset: Int64) throws(UploadError) -> [UInt8] {
    var failure: SourceError?
    let chunk = [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
      do throws(SourceError) {
        filled = try fill(UnsafeMutableRawBufferPointer(buffer), at: offset)
      } catch {
        failure = error
      }
    }
    if let failure { throw UploadError(failure) }
    guard chunk.count == count else { throw UploadError.changed(self, "it shrank") }
    return chunk
  }

  /// Bytes that were read: fewer than `buffer` holds only at the end.
  private func fill(_ buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws(SourceError) -> Int {
    var filled = 0
    while filled < buffer.count {
      let count = try bytes.read(
        into: UnsafeMutableRawBufferPointer(rebasing: buffer[filled...]), at: offset + Int64(filled))
      if count == 0 { break }
      filled += count
    }
    return filled
  }

  /// There is nothing behind the source's last byte, and nobody knows of a change. Blocks.
  /// - Throws: `sourceChanged`, `sourceUnreadable`.
  public func proveEnd() throws(UploadError) {
    do throws(SourceError) {
      let beyond = try withUnsafeTemporaryAllocation(byteCount: 1, alignment: 1) { byte throws(SourceError) in
        try bytes.read(into: byte, at: size)
      }
      if beyond == 0 { return try bytes.checkUnchanged() }
    } catch {
      throw UploadError(error)
    }
    throw UploadError.changed(self, "it grew")
  }
}
