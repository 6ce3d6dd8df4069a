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
    proof = .sha256(source.digest.bytes)
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
