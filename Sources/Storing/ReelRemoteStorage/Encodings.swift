import FoundationEssentials
import ReelCore

/// Base64 (RFC 4648, 4).
enum Base64 {
  /// Encodes with padding.
  static func text(_ bytes: some Sequence<UInt8>) -> String { Data(bytes).base64EncodedString() }

  /// Encodes for URLs, without padding (RFC 4648, 5).
  static func url(_ bytes: some Sequence<UInt8>) -> String {
    text(bytes).replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
  }

  /// Decodes `text`; nil if it is not Base64.
  static func bytes(_ text: String) -> [UInt8]? { Data(base64Encoded: text).map(Array.init) }
}

/// Percent-encoding of the UTF-8 bytes, as Signature Version 4 (AWS, "Create a signed AWS API request", UriEncode) and
/// Google's stores require it.
extension PercentEncoding {
  /// Encodes a name or value of a query.
  static func all(_ text: String) -> String { encode(text.utf8, sparing: unreserved) }

  /// Encodes an object's name for use in a path: slashes stay.
  static func path(_ text: String) -> String { path(text.utf8) }
}
