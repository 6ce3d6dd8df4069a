import ReelModel

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
  /// Whether the last chunk is held back until all bytes together have the source's length and digest
  /// (`SourceChunks`); only for the whole source.
  public let isProved: Bool
  /// Whether the store was told the digest of these bytes, and refuses others.
  public let isSigned: Bool
  /// Called with the bytes handed to the connection so far, growing, from any thread: about twice a megabyte.
  public let reporting: @Sendable (Int64) -> Void

  /// All of a source, proved before its last chunk is sent.
  /// - Parameter isSigned: the store was told the digest too; what need not be hashed once more then is not.
  public init(
    whole source: UploadSource, isSigned: Bool = false,
    reporting: @escaping @Sendable (Int64) -> Void = { _ in }
  ) {
    self.source = source
    range = 0..<source.size
    isProved = true
    self.isSigned = isSigned
    self.reporting = reporting
  }

  /// A part of a source. Nothing proves it here: sign its digest, so that the store does.
  public init(
    _ range: Range<Int64>, of source: UploadSource, reporting: @escaping @Sendable (Int64) -> Void = { _ in }
  ) {
    self.source = source
    self.range = range
    isProved = false
    isSigned = true
    self.reporting = reporting
  }
}
