/// Detects videos that a program or a transfer has changed because it took them for text.
package enum TextTransfer {
  private static let looked = 65_536
  /// The number of marks that can't be a coincidence.
  private static let telling = 16

  /// The message for people. Another copy made in the same way would be the same.
  package static let sentence =
    "its bytes were changed by a program or a transfer that took it for text; get another copy, as binary data"

  /// Whether the beginning of a file has become what no coded video is. It may be UTF-8, with a replacement character
  /// for each byte that was invalid, or with each byte taken for a Latin letter. Or all of its lines end as on
  /// Windows (FTP's ASCII mode), or bytes that have no place in a text are gone.
  package static func hasChanged(_ file: some ByteReading) -> Bool {
    let bytes = file.bytes(at: 0, count: looked)
    return isEncoded(bytes) || hasLines(bytes) || lacksBytes(bytes)
  }

  /// Whether only zeros, carriage returns or line feeds are missing of all bytes there are, or only the upper half. In
  /// few bytes, any of these may be missing by chance: then others are rare.
  private static func lacksBytes(_ bytes: [UInt8]) -> Bool {
    var counts = [Int](repeating: 0, count: 256)
    for byte in bytes { counts[Int(byte)] += 1 }
    let missing = counts.indices.filter { counts[$0] == 0 }
    return [[0], [0x0A], [0x0D], Array(0x80...0xFF)].contains(missing)
      && counts.allSatisfy { $0 == 0 || $0 >= 4 }
  }

  private static func hasLines(_ bytes: [UInt8]) -> Bool {
    let ends = bytes.indices.filter { bytes[$0] == 0x0A }
    return ends.count >= telling && ends.allSatisfy { $0 > 0 && bytes[$0 - 1] == 0x0D }
  }

  private static func isEncoded(_ bytes: [UInt8]) -> Bool {
    var (next, marks, letters, others) = (0, 0, 0, 0)
    while next < bytes.count {
      let first = bytes[next]
      let length =
        first < 0x80 ? 1 : first < 0xC2 ? 0 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : first < 0xF5 ? 4 : 0
      // The end of what was looked at may cut off a character.
      let rest = bytes[next...].prefix(length)
      guard length > 0, rest.dropFirst().allSatisfy({ $0 & 0xC0 == 0x80 }) else { return false }
      if rest.elementsEqual([0xEF, 0xBF, 0xBD]) {
        marks += 1
      } else if length == 2, first < 0xC4 {
        letters += 1
      } else if length > 1 {
        others += 1
      }
      next += length
    }
    return marks >= telling || letters >= telling && letters > others
  }
}
