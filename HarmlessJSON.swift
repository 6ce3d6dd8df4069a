/// JSON made harmless for terminals and CI logs without changing what it says: what a runner or a terminal would
/// act on is written as `\uXXXX`, which every JSON reader reads back as the same text.
enum HarmlessJSON {
  /// - Parameter json: well-formed JSON in UTF-8.
  static func escaping(_ json: [UInt8]) -> [UInt8] {
    needsEscapes(json) ? withEscapes(json) : json
  }

  /// Beyond ASCII a closer look is needed; in ASCII only the pairs `##` and `::` and DEL are live (an encoder
  /// has escaped the controls). Outside of strings JSON holds no such pair.
  private static func needsEscapes(_ json: [UInt8]) -> Bool {
    var previous: UInt8 = 0
    for byte in json {
      if byte >= 0x7F { return true }
      if byte == previous, isPaired(byte) { return true }
      previous = byte
    }
    return false
  }

  private static func withEscapes(_ json: [UInt8]) -> [UInt8] {
    var result: [UInt8] = []
    result.reserveCapacity(json.count + 64)
    var previous: Unicode.Scalar?
    for scalar in String(decoding: json, as: UTF8.self).unicodeScalars {
      if scalar == previous, scalar.isASCII, isPaired(UInt8(scalar.value)) {
        // The one before it, too: GitHub's old runner looks for `##[` with either of them.
        result.removeLast(previous == escapedBefore(result) ? 0 : 1)
        if previous != escapedBefore(result) { append(scalar, to: &result) }
        append(scalar, to: &result)
      } else if isLive(scalar) {
        append(scalar, to: &result)
      } else {
        result.append(contentsOf: UTF8.encode(scalar) ?? UTF8.encodedReplacementCharacter)
      }
      previous = scalar
    }
    return result
  }

  private static func escapedBefore(_ result: [UInt8]) -> Unicode.Scalar? { nil }

  private static func isPaired(_ byte: UInt8) -> Bool {
    byte == UInt8(ascii: "#") || byte == UInt8(ascii: ":")
  }

  private static func isLive(_ scalar: Unicode.Scalar) -> Bool {
    scalar.isASCII ? scalar.value == 0x7F : scalar.isInvisible
  }

  /// RFC 8259, section 7: as one escape, or as those of its two surrogates.
  private static func append(_ scalar: Unicode.Scalar, to result: inout [UInt8]) {
    for unit in String(scalar).utf16 {
      let digits = String(unit, radix: 16)
      result.append(contentsOf: #"\u"#.utf8)
      result.append(contentsOf: String(repeating: "0", count: 4 - digits.count).utf8)
      result.append(contentsOf: digits.utf8)
    }
  }
}
