import ReelCore
import ReelStorage

/// The body of a request.
public enum HTTPBody: Sendable {
  /// No body. If the method has one, a length of 0 is sent.
  case none
  /// A few bytes in memory.
  case bytes([UInt8])
  /// Bytes read from a source while they are sent.
  case source(SourceBody)

  /// The length in bytes.
  public var length: Int64 {
    switch self {
    case .none: 0
    case .bytes(let bytes): Int64(bytes.count)
    case .source(let body): Int64(body.range.count)
    }
  }
}

/// A range of a source, read while it is sent: off the cooperative pool, and with one chunk in memory at a time.
public struct SourceBody: Sendable {
  /// Where the bytes come from.
  public let source: UploadSource
  /// The range to send, within `0 ..< source.size`.
  public let range: Range<Int64>
  /// What the bytes must be. The last chunk is held back until the bytes read are proved to be that (`SourceChunks`).
  let proof: BytesProof
  /// Called with the number of bytes handed to the connection so far, increasing, from any thread: about four times
  /// per megabyte.
  public let reporting: @Sendable (Int64) -> Void

  /// All of a source. It is proved before its last chunk is sent.
  public init(whole source: UploadSource, reporting: @escaping @Sendable (Int64) -> Void = { _ in }) {
    self.source = source
    range = 0..<source.size
    proof = source.proof
    self.reporting = reporting
  }

  /// A part of a source, whose SHA-256 is `sha256`. It is proved before its last chunk is sent.
  public init(
    _ range: Range<Int64>, of source: UploadSource, sha256: [UInt8],
    reporting: @escaping @Sendable (Int64) -> Void = { _ in }
  ) {
    self.init(range, of: source, proof: .sha256(sha256), reporting: reporting)
  }

  /// A part of a source, described by `proof`. It is proved before its last chunk is sent.
  package init(
    _ range: Range<Int64>, of source: UploadSource, proof: BytesProof,
    reporting: @escaping @Sendable (Int64) -> Void = { _ in }
  ) {
    self.source = source
    self.range = range
    self.proof = proof
    self.reporting = reporting
  }
}

/// The bytes of a ``SourceBody``, chunk by chunk, for any transport to send.
public struct SourceBodyChunks: AsyncSequence, Sendable {
  /// A chunk.
  public typealias Element = [UInt8]
  /// `sourceChanged`, `sourceUnreadable` or `cancelled`.
  public typealias Failure = UploadError

  /// The size of a chunk in bytes: large enough to make thread switches negligible, small enough for many chunks
  /// at once.
  static let chunkSize = 1 << 18

  private let body: SourceBody

  /// The chunks of `body`.
  public init(_ body: SourceBody) { self.body = body }

  /// Returns the only chunk; empty if there is none. It is not reported as sent.
  func single() async throws(HTTPFailure) -> [UInt8] {
    var chunks = makeAsyncIterator()
    return try await rethrowing(as: HTTPFailure.init(reading:)) { () async throws(UploadError) in
      try await chunks.next(isolation: nil) ?? []
    }
  }

  /// Begins at the first byte of the range.
  public func makeAsyncIterator() -> Iterator { Iterator(body) }

  /// An iterator over the chunks.
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

    /// Returns the next chunk; nil after the last. The chunks returned before are reported as sent.
    public mutating func next(isolation actor: isolated (any Actor)?) async throws(UploadError) -> [UInt8]? {
      if given > 0 { body.reporting(given) }
      let chunk = try await chunks.next(isolation: actor)
      given += Int64(chunk?.count ?? 0)
      return chunk
    }
  }
}

extension UploadSource {
  /// Passes the bytes of `range` in order, in pieces that fit into a core's cache. Blocks.
  /// - Throws: `sourceChanged` if the source is shorter; `sourceUnreadable`.
  package func forEachPiece(
    of range: Range<Int64>, _ body: (UnsafeRawBufferPointer) -> Void
  ) throws(UploadError) {
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: min(256 << 10, range.count), alignment: 16)
    defer { buffer.deallocate() }
    var offset = range.lowerBound
    while offset < range.upperBound {
      let room = UnsafeMutableRawBufferPointer(
        rebasing: buffer.prefix(Int(clamping: range.upperBound - offset)))
      let count = try read(into: room, at: offset)
      if count == 0 { throw UploadError.changed(self, "it shrank") }
      body(UnsafeRawBufferPointer(rebasing: room.prefix(count)))
      offset += Int64(count)
    }
  }

  /// Checks that nothing follows the source's last byte, and that no change of the source is known. Blocks.
  /// - Throws: `sourceChanged`, `sourceUnreadable`.
  public func proveEnd() throws(UploadError) {
    try checkEnd()
    try checkUnchanged()
  }
}
