/// The SHA-256 of a file's bytes: what a video *is*, whatever its name.
public struct ContentDigest: Hashable, Sendable {
  /// 32 bytes.
  public let bytes: [UInt8]

  /// Nil unless there are exactly 32 bytes.
  public init?(sha256 bytes: some Sequence<UInt8>) {
    let bytes = Array(bytes)
    guard bytes.count == 32 else { return nil }
    self.bytes = bytes
  }

  /// Takes what SHA-256 gave.
  package init(digest: [UInt8]) {
    precondition(digest.count == 32)
    bytes = digest
  }

  /// Nil unless `hex` is 64 hexadecimal digits, with or without `sha256:` before them.
  public init?(hex: String) {
    let digits = hex.hasPrefix("sha256:") ? hex.dropFirst(7) : hex[...]
    guard let bytes = Hexadecimal.bytes(digits) else { return nil }
    self.init(sha256: bytes)
  }

  /// 64 lower-case hexadecimal digits.
  public var hex: String { Hexadecimal.text(bytes) }
}

extension ContentDigest: CustomStringConvertible {
  /// `sha256:` and the hexadecimal digits, as it stands in JSON.
  public var description: String { "sha256:" + hex }
}

extension ContentDigest: Codable {
  /// Reads a string as ``init(hex:)`` takes it.
  /// - Throws: `DecodingError` when it is not a SHA-256 digest.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    guard let digest = ContentDigest(hex: try container.decode(String.self)) else {
      throw DecodingError.dataCorruptedError(in: container, debugDescription: "not a SHA-256 digest")
    }
    self = digest
  }

  /// Writes ``description``: one string, `sha256:` and 64 digits.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(description)
  }
}
