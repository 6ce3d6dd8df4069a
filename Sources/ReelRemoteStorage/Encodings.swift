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

/// Percent-encoding of everything but the unreserved characters of RFC 3986, 2.3, in upper-case hexadecimal, of the UTF-8
/// bytes: as Signature Version 4 (AWS, "Create a signed AWS API request", UriEncode) and Google's stores want it.
enum PercentEncoding {
  /// For a query's name or value.
  static func all(_ text: String) -> String { encode(text, sparing: nil) }

  /// For an object's name in a path: slashes stay.
  static func path(_ text: String) -> String { encode(text, sparing: UInt8(ascii: "/")) }

  private static func encode(_ text: String, sparing spared: UInt8?) -> String {
    let digits = Array("0123456789ABCDEF".utf8)
    var encoded: [UInt8] = []
    encoded.reserveCapacity(text.utf8.count)
    for byte in text.utf8 {
      if isUnreserved(byte) || byte == spared {
        encoded.append(byte)
      } else {
        encoded += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
      }
    }
    return String(decoding: encoded, as: UTF8.self)
  }

  private static func isUnreserved(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
      UInt8(ascii: "~"):
      true
    default: false
    }
  }
}
