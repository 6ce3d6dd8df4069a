/// Decoding of text in a tag that does not state its character encoding.
enum LegacyText {
  /// Decodes UTF-8; UTF-16 if a byte order mark or its zeros reveal it; otherwise a code page of Windows: Cyrillic
  /// (1251) if the bytes make words in it, Western European (1252) if not. Returns nil for bytes that have no
  /// character there.
  ///
  /// - Parameter isCut: whether the text continues beyond these bytes, so that they may end within a character.
  static func decode(_ bytes: some Collection<UInt8>, isCut: Bool = false) -> String? {
    var bytes = Array(bytes)
    if let wide = utf16(bytes, isCut: isCut) { return wide }
    while bytes.last == 0 { bytes.removeLast() }
    if let text = utf8(bytes, isCut: isCut) { return text }
    return isCyrillic(bytes) ? decode(bytes, cyrillic) : decode(bytes, western)
  }

  /// Returns nil for anything that is not UTF-8.
  static func utf8(_ bytes: [UInt8], isCut: Bool) -> String? {
    guard isCut, let lead = bytes.suffix(3).lastIndex(where: { $0 & 0xC0 != 0x80 }), bytes[lead] >= 0xC0
    else {
      return String(validating: bytes, as: UTF8.self)
    }
    let width = (~bytes[lead]).leadingZeroBitCount
    return String(validating: bytes.count - lead < width ? bytes[..<lead] : bytes[...], as: UTF8.self)
  }

  /// Returns nil for anything that is not UTF-16.
  static func utf16(_ units: [UInt16], isCut: Bool) -> String? {
    let endsWithin = isCut && units.last.map { UTF16.isLeadSurrogate($0) } == true
    return String(validating: endsWithin ? units.dropLast() : units[...], as: UTF16.self)
  }

  private static func utf16(_ bytes: [UInt8], isCut: Bool) -> String? {
    guard bytes.count >= 4 else { return nil }
    let isMarkedLittle = bytes.starts(with: [0xFF, 0xFE])
    let isMarkedBig = bytes.starts(with: [0xFE, 0xFF])
    let zeros = stride(from: 1, to: bytes.count, by: 2).count { bytes[$0] == 0 && bytes[$0 - 1] != 0 }
    guard isMarkedLittle || isMarkedBig || zeros * 4 > bytes.count else { return nil }
    var units = stride(from: 0, to: bytes.count - 1, by: 2).map { place -> UInt16 in
      let (first, second) = (UInt16(bytes[place]), UInt16(bytes[place + 1]))
      return isMarkedBig ? first << 8 | second : second << 8 | first
    }
    if isMarkedLittle || isMarkedBig { units.removeFirst() }
    while units.last == 0 { units.removeLast() }
    return utf16(units, isCut: isCut)
  }

  /// Whether most letters are Cyrillic and adjacent to one another: in Western text, letters beyond ASCII stand
  /// alone.
  private static func isCyrillic(_ bytes: [UInt8]) -> Bool {
    let high = bytes.count { $0 >= 0xC0 || $0 == 0xA8 || $0 == 0xB8 }
    let low = bytes.count { (0x41...0x5A).contains($0) || (0x61...0x7A).contains($0) }
    let pairs = zip(bytes, bytes.dropFirst()).count { $0 >= 0xC0 && $1 >= 0xC0 }
    return high >= 2 && high > low && 2 * pairs >= high
  }

  private static func decode(_ bytes: [UInt8], _ upper: [UInt16]) -> String? {
    var scalars = String.UnicodeScalarView()
    for byte in bytes {
      let value = byte < 0x80 ? UInt16(byte) : upper[Int(byte) - 0x80]
      guard value != 0, let scalar = Unicode.Scalar(value) else { return nil }
      scalars.append(scalar)
    }
    return String(scalars)
  }

  /// Windows-1252 from 0x80 on; 0 where it has no character.
  private static let western: [UInt16] =
    [
      0x20AC, 0, 0x201A, 0x0192, 0x201E, 0x2026, 0x2020, 0x2021, 0x02C6, 0x2030, 0x0160, 0x2039, 0x0152, 0,
      0x017D,
      0, 0, 0x2018, 0x2019, 0x201C, 0x201D, 0x2022, 0x2013, 0x2014, 0x02DC, 0x2122, 0x0161, 0x203A, 0x0153, 0,
      0x017E, 0x0178,
    ] + (0xA0...0xFF)

  /// Windows-1251 from 0x80 on; 0 where it has no character.
  private static let cyrillic: [UInt16] =
    [
      0x0402, 0x0403, 0x201A, 0x0453, 0x201E, 0x2026, 0x2020, 0x2021, 0x20AC, 0x2030, 0x0409, 0x2039, 0x040A,
      0x040C,
      0x040B, 0x040F, 0x0452, 0x2018, 0x2019, 0x201C, 0x201D, 0x2022, 0x2013, 0x2014, 0, 0x2122, 0x0459,
      0x203A,
      0x045A, 0x045C, 0x045B, 0x045F, 0x00A0, 0x040E, 0x045E, 0x0408, 0x00A4, 0x0490, 0x00A6, 0x00A7, 0x0401,
      0x00A9,
      0x0404, 0x00AB, 0x00AC, 0x00AD, 0x00AE, 0x0407, 0x00B0, 0x00B1, 0x0406, 0x0456, 0x0491, 0x00B5, 0x00B6,
      0x00B7,
      0x0451, 0x2116, 0x0454, 0x00BB, 0x0458, 0x0405, 0x0455, 0x0457,
    ] + (0x0410...0x044F)
}
