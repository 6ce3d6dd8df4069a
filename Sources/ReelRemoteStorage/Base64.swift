import FoundationEssentials

/// Base64 (RFC 4648, 4).
enum Base64 {
  /// With padding.
  static func text(_ bytes: some Sequence<UInt8>) -> String { Data(bytes).base64EncodedString() }

  /// For URLs, without padding (RFC 4648, 5).
  static func url(_ bytes: some Sequence<UInt8>) -> String {
    text(bytes).replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
  }

  /// Nil when `text` is none.
  static func bytes(_ text: String) -> [UInt8]? { Data(base64Encoded: text).map(Array.init) }
}
