/// The maximum length and the character set of a text field.
struct WireLimit {
  let bytes: Int
  /// Whether only printable ASCII is allowed, as in names that come from FFmpeg rather than the file.
  var isPlain = false

  /// A name from FFmpeg: a codec, a pixel format, a profile, a version.
  static let name = WireLimit(bytes: 64, isPlain: true)
  /// A tag from the file.
  static let tag = WireLimit(bytes: 4096)
  /// A stated or measured value in a warning.
  static let value = WireLimit(bytes: 128)
  /// A sentence.
  static let sentence = WireLimit(bytes: 512)

  func allows(_ text: String) -> Bool {
    text.unicodeScalars.allSatisfy { scalar in
      isPlain ? (0x20...0x7e).contains(scalar.value) : !WireText.isControl(scalar)
    }
  }
}

/// Text that may be sent over the channel.
enum WireText {
  /// Whether a terminal or a log might act on it: C0, DEL, C1, and the line and paragraph separators.
  static func isControl(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.value {
    case 0..<0x20, 0x7f..<0xa0, 0x2028, 0x2029: true
    default: false
    }
  }

  /// Encodes the text in UTF-8, with each control character replaced by a space, and truncated before the character
  /// that would exceed `limit`.
  static func harmless(_ text: String, limit: Int) -> [UInt8] {
    var bytes: [UInt8] = []
    for scalar in text.unicodeScalars {
      let encoded = UTF8.encode(isControl(scalar) ? " " : scalar)
      guard let encoded, bytes.count + encoded.count <= limit else { break }
      bytes.append(contentsOf: encoded)
    }
    return bytes
  }
}
