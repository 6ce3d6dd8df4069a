import ReelCore
import ReelStorage

/// What a request sends.
public enum HTTPBody: Sendable {
  /// Nothing; the length is sent as 0 where the method has a body.
  case none
  /// A few bytes that are there.
  case bytes([UInt8])
  /// Bytes read from a source while they are sent.
  case source(SourceBody)

  /// Bytes.
  public var length: Int64 {
    switch self {
    case .none: 0
    case .bytes(let bytes): Int64(bytes.count)
    case .source(let body): Int64(body.range.count)
    }
  }
}

/// A range of a source, read off the cooperative pool while it is sent, one chunk in memory at a time.
public struct SourceBody: Sendable {
  /// Where the bytes come from.
  public let source: UploadSource
  /// Which of them, within `0 ..< source.size`.
  public let range: Range<Int64>
  /// What they are. The last chunk is held back until what was read is that (`SourceChunks`).
  let proof: BytesProof
  /// Called with the bytes handed to the connection so far, growing, from any thread: about four times a megabyte.
  public let reporting: @Sendable (Int64) -> Void

  /// All of a source, proved before its last chunk is sent.
  public init(whole source: UploadSource, reporting: @escaping @Sendable (Int64) -> Void = { _ in }) {
    self.source = source
    range = 0..<source.size
    proof = source.proof
    self.reporting = reporting
  }

  /// A part of a source, whose SHA-256 is `sha256`: proved before its last chunk is sent.
  public init(
    _ range: Range<Int64>, of source: UploadSource, sha256: [UInt8],
    reporting: @escaping @Sendable (Int64) -> Void = { _ in }
  ) {
    self.init(range, of: source, proof: .sha256(sha256), reporting: reporting)
  }

  /// A part of a source that `proof` is of: proved before its last chunk is sent.
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
    return try await rethrowing(as: HTTPFailure.init(reading:)) { () async throws(UploadError) in
      try await chunks.next(isolation: nil) ?? []
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
      let count = try read(into: room, at: offset)
      if count == 0 { throw UploadError.changed(self, "it shrank") }
      body(UnsafeRawBufferPointer(rebasing: room.prefix(count)))
      offset += Int64(count)
    }
  }

  /// There is nothing behind the source's last byte, and nobody knows of a change. Blocks.
  /// - Throws: `sourceChanged`, `sourceUnreadable`.
  public func proveEnd() throws(UploadError) {
    try checkEnd()
    try checkUnchanged()
  }
}
