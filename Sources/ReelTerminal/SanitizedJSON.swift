/// JSON made harmless for terminals and CI logs without changing what it says: what a runner or a terminal would
/// act on is written as `\uXXXX`, which every JSON reader reads back as the same text.
enum SanitizedJSON {
  /// - Parameter json: well-formed JSON in UTF-8, the controls below U+0020 escaped as RFC 8259 demands.
  static func escaping(_ json: [UInt8]) -> [UInt8] {
    needsEscapes(json) ? withEscapes(json) : json
  }

  /// In ASCII only DEL and the pairs `##` and `::` are live, and JSON holds such a pair only in its strings.
  private static func needsEscapes(_ json: [UInt8]) -> Bool {
    var previous: UInt8 = 0
    for byte in json {
      if byte >= 0x7F || byte == previous && isPaired(byte) { return true }
      previous = byte
    }
    return false
  }

  private static func withEscapes(_ json: [UInt8]) -> [UInt8] {
    let scalars = Array(String(decoding: json, as: UTF8.self).unicodeScalars)
    var result: [UInt8] = []
    result.reserveCapacity(json.count + 64)
    for (index, scalar) in scalars.enumerated() {
      if isLive(scalar) || isInPair(index, of: scalars) {
        appendEscape(scalar, to: &result)
      } else {
        result.append(contentsOf: UTF8.encode(scalar) ?? UTF8.encodedReplacementCharacter)
      }
    }
    return result
  }

  private static func isInPair(_ index: Int, of scalars: [Unicode.Scalar]) -> Bool {
    let scalar = scalars[index]
    guard scalar.isASCII, isPaired(UInt8(scalar.value)) else { return false }
    return index > 0 && scalars[index - 1] == scalar
      || index + 1 < scalars.count && scalars[index + 1] == scalar
  }

  private static func isPaired(_ byte: UInt8) -> Bool {
    byte == UInt8(ascii: "#") || byte == UInt8(ascii: ":")
  }

  private static func isLive(_ scalar: Unicode.Scalar) -> Bool {
    scalar.isASCII ? scalar.value == 0x7F : scalar.isInvisible
  }

  /// RFC 8259, section 7: one escape, or those of its two surrogates.
  private static func appendEscape(_ scalar: Unicode.Scalar, to result: inout [UInt8]) {
    for unit in UTF16.encode(scalar) ?? UTF16.encodedReplacementCharacter {
      let digits = String(unit, radix: 16)
      result.append(contentsOf: #"\u"#.utf8)
      result.append(contentsOf: String(repeating: "0", count: 4 - digits.count).utf8)
      result.append(contentsOf: digits.utf8)
    }
  }
}
