import ReelCore
import ReelStorage

/// The bytes of a ``SourceBody``, chunk by chunk: what any transport sends.
public struct SourceBodyChunks: AsyncSequence, Sendable {
  /// A chunk.
  public typealias Element = [UInt8]
  /// `sourceChanged`, `sourceUnreadable` or `cancelled`.
  public typealias Failure = UploadError

  /// Bytes of a chunk: large enough that a thread's switch does not count, small enough for many at once.
  static let chunkSize = 1 << 18

  private let body: SourceBody

  /// The chunks of `body`.
  public init(_ body: SourceBody) { self.body = body }

  /// The only chunk there is; empty where there is none. It is not reported as sent.
  func single() async throws(HTTPFailure) -> [UInt8] {
    var chunks = makeAsyncIterator()
    do throws(UploadError) {
      return try await chunks.next(isolation: nil) ?? []
    } catch {
      throw HTTPFailure(reading: error)
    }
  }

  /// Begins at the range's first byte.
  public func makeAsyncIterator() -> Iterator { Iterator(body) }

  /// Gives one chunk after the other.
  public struct Iterator: AsyncIteratorProtocol {
    private let body: SourceBody
    private var chunks: SourceChunks.Iterator
    private var given: Int64 = 0

    init(_ body: SourceBody) {
      self.body = body
      chunks = SourceChunks(
        body.range, of: body.source, proof: body.proof, size: SourceBodyChunks.chunkSize
      ).makeAsyncIterator()
    }

    /// The next chunk; nil after the last. What was given before is reported as sent.
    public mutating func next(isolation actor: isolated (any Actor)?) async throws(UploadError) -> [UInt8]? {
      if given > 0 { body.reporting(given) }
      let chunk = try await chunks.next(isolation: actor)
      given += Int64(chunk?.count ?? 0)
      return chunk
    }
  }
}

extension UploadSource {
  /// Gives the bytes of `range` in their order, in pieces that stay in a core's cache. Blocks.
  /// - Throws: `sourceChanged` when there are fewer, `sourceUnreadable`.
  package func forEachPiece(
    of range: Range<Int64>, _ body: (UnsafeRawBufferPointer) -> Void
  ) throws(UploadError) {
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: min(256 << 10, range.count), alignment: 16)
    defer { buffer.deallocate() }
    var offset = range.lowerBound
    while offset < range.upperBound {
      let room = UnsafeMutableRawBufferPointer(
        rebasing: buffer.prefix(Int(clamping: range.upperBound - offset)))
      let count: Int
      do throws(SourceError) {
        count = try bytes.read(into: room, at: offset)
      } catch {
        throw UploadError(error)
      }
      if count == 0 { throw UploadError.changed(self, "it shrank") }
      body(UnsafeRawBufferPointer(rebasing: room.prefix(count)))
      offset += Int64(count)
    }
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
