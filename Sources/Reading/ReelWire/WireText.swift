/// How much text a field holds, and of what alphabet.
struct WireLimit {
  let bytes: Int
  /// Only printable ASCII: names that FFmpeg gives, not the file.
  var isPlain = false

  /// A name of FFmpeg's: a codec, a pixel format, a profile, a version.
  static let name = WireLimit(bytes: 64, isPlain: true)
  /// A tag of the file's.
  static let tag = WireLimit(bytes: 4096)
  /// A claim or a finding of a warning.
  static let value = WireLimit(bytes: 128)
  /// A sentence.
  static let sentence = WireLimit(bytes: 512)

  func allows(_ text: String) -> Bool {
    text.unicodeScalars.allSatisfy { scalar in
      isPlain ? (0x20...0x7e).contains(scalar.value) : !WireText.isControl(scalar)
    }
  }
}

/// Text that may cross the wire.
enum WireText {
  /// Whether a terminal or a log may act on it: C0, DEL, C1, and the separators of lines and paragraphs.
  static func isControl(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.value {
    case 0..<0x20, 0x7f..<0xa0, 0x2028, 0x2029: true
    default: false
    }
  }

  /// The text as UTF-8, each control character as a space, cut before the character that would pass `limit`.
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
