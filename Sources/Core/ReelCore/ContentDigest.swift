/// The SHA-256 of a file's bytes, which identifies a video whatever its name.
public struct ContentDigest: Hashable, Sendable {
  /// The 32 bytes of the digest.
  public let bytes: [UInt8]

  /// Creates a digest; nil unless there are exactly 32 bytes.
  public init?(sha256 bytes: some Sequence<UInt8>) {
    let bytes = Array(bytes)
    guard bytes.count == 32 else { return nil }
    self.bytes = bytes
  }

  /// Creates a digest from the output of SHA-256.
  package init(digest: [UInt8]) {
    precondition(digest.count == 32)
    bytes = digest
  }

  /// Parses a digest; nil unless `hex` is 64 hexadecimal digits, with or without the prefix `sha256:`.
  public init?(hex: String) {
    let digits = hex.hasPrefix("sha256:") ? hex.dropFirst(7) : hex[...]
    guard let bytes = Hexadecimal.bytes(digits) else { return nil }
    self.init(sha256: bytes)
  }

  /// 64 lower-case hexadecimal digits.
  public var hex: String { Hexadecimal.text(bytes) }
}

extension ContentDigest: CustomStringConvertible {
  /// `sha256:` and the hexadecimal digits, as in JSON.
  public var description: String { "sha256:" + hex }
}

extension ContentDigest: Codable {
  /// Reads a string that ``init(hex:)`` accepts.
  /// - Throws: `DecodingError` if it is not a SHA-256 digest.
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
