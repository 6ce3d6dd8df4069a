/// Characters of 5×7 pixels, for the labels of a contact sheet.
enum PixelFont {
  /// In pixels, without the gap.
  static let width = 5
  /// In pixels.
  static let height = 7
  /// The distance in pixels from one character to the next.
  static let advance = 6

  /// Whether a pixel of the character is set. A character without a glyph is drawn as a question mark.
  static func isSet(_ character: Character, x: Int, y: Int) -> Bool {
    let rows = glyphs[character] ?? glyphs["?"] ?? 0
    return rows >> UInt64((height - 1 - y) * width + width - 1 - x) & 1 == 1
  }

  /// Seven rows of five bits each; the first pixel is the highest bit.
  private static let glyphs: [Character: UInt64] = [
    " ": 0x000000000, "0": 0x3A33AE62E, "1": 0x11842108E, "2": 0x3A211111F, "3": 0x7C441062E,
    "4": 0x08CA97C42, "5": 0x7E1E0862E, "6": 0x1910F462E, "7": 0x7C2222108, "8": 0x3A317462E,
    "9": 0x3A317844C, ":": 0x008401080, ".": 0x0000000C6, "-": 0x0000F8000, "_": 0x00000001F,
    "?": 0x3A2111004, "(": 0x088842082, ")": 0x208210888, "+": 0x0084F9080, ",": 0x000001844,
    "'": 0x108800000, "&": 0x32544564D, "#": 0x295F57D4A, "=": 0x001F07C00, "!": 0x108421004,
    "[": 0x39084210E, "]": 0x38421084E, "@": 0x3A216D6AE, "%": 0x632222263, "~": 0x000045440,
    "A": 0x3A31FC631, "B": 0x7A31F463E, "C": 0x3A308422E, "D": 0x72518C65C, "E": 0x7E10F421F,
    "F": 0x7E10F4210, "G": 0x3A30BC62F, "H": 0x4631FC631, "I": 0x38842108E, "J": 0x1C4210A4C,
    "K": 0x4654C5251, "L": 0x42108421F, "M": 0x4775AC631, "N": 0x4639ACE31, "O": 0x3A318C62E,
    "P": 0x7A31F4210, "Q": 0x3A318D64D, "R": 0x7A31F5251, "S": 0x3E107043E, "T": 0x7C8421084,
    "U": 0x46318C62E, "V": 0x46318C544, "W": 0x4631AD6AA, "X": 0x462A22A31, "Y": 0x463151084,
    "Z": 0x7C222221F, "a": 0x000E0BE2F, "b": 0x4216CC63E, "c": 0x000E8422E, "d": 0x042D9C62F,
    "e": 0x000E8FE0E, "f": 0x1928E2108, "g": 0x000F8BC2E, "h": 0x4216CC631, "i": 0x100C2108E,
    "j": 0x080610A4C, "k": 0x4212A6292, "l": 0x30842108E, "m": 0x001AAD631, "n": 0x0016CC631,
    "o": 0x000E8C62E, "p": 0x001E8FA10, "q": 0x000D9BC21, "r": 0x0016CC210, "s": 0x000E8383E,
    "t": 0x211C42126, "u": 0x00118C66D, "v": 0x00118C544, "w": 0x00118D6AA, "x": 0x001151151,
    "y": 0x00118BC2E, "z": 0x001F1111F,
  ]
}
