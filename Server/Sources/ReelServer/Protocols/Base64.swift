import FoundationEssentials

/// Base64 from untrusted sources: nil for anything else.
enum Base64 {
  static func decode(_ text: some StringProtocol) -> [UInt8]? {
    Data(base64Encoded: String(text)).map { [UInt8]($0) }
  }

  static func encode(_ bytes: some Sequence<UInt8>) -> String { Data(bytes).base64EncodedString() }

  /// Base64 for use in an address (RFC 4648, 5), without padding.
  static func encodeForURL(_ bytes: some Sequence<UInt8>) -> String {
    encode(bytes).replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
  }

  /// Decodes what ``encodeForURL(_:)`` makes, and nothing else: each sequence of bytes has only one form.
  static func decodeFromURL(_ text: some StringProtocol) -> [UInt8]? {
    let plain = String(text).replacing("-", with: "+").replacing("_", with: "/")
    let padding = String(repeating: "=", count: (4 - plain.utf8.count % 4) % 4)
    guard let bytes = decode(plain + padding), encodeForURL(bytes) == text else { return nil }
    return bytes
  }
}
