/// A JPEG as Reel's own encoder writes it: 16×16 gray pixels.
enum SmallJPEG {
  /// The offset of its quantization tables (DQT), and that of its Huffman tables (DHT).
  static let quantiser = 20
  static let codes = 89
  /// The offset of its scan header.
  static let scan = 184
  /// The offset of its frame header.
  static let frame = 165

  static let bytes: [UInt8] = {
    let digits = text.utf8.compactMap { Character(UnicodeScalar($0)).hexDigitValue }
    return stride(from: 0, to: digits.count - 1, by: 2).map { UInt8(digits[$0] << 4 | digits[$0 + 1]) }
  }()

  private static let text = """
    ffd8ffe000104a46494600010200000100010000ffdb0043000808080908090b0b0b0b0b0b0d0c0d0d0d0d0d0d0d0d0d0d0d
    0e0e0e1111110e0e0e0d0d0e0e10101111121312111111111313141414181817171c1c1d222229ffc4004a00010000000000
    0000000000000000000000010100000000000000000000000000000000100100000000000000000000000000000000110100
    000000000000000000000000000000ffc00011080010001003012200021100031100ffda000c03010002110311003f00000f
    ffd9
    """
}
