import FoundationEssentials

/// Base64 with padding (RFC 4648, 4).
enum Base64 {
  static func text(_ bytes: some Sequence<UInt8>) -> String { Data(bytes).base64EncodedString() }

  /// Nil when `text` is none.
  static func bytes(_ text: String) -> [UInt8]? { Data(base64Encoded: text).map(Array.init) }
}
