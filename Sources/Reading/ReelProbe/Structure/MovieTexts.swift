/// The title and the artist in a movie's user data: QuickTime's international text (QuickTime File Format, "User Data
/// Atoms"), 3GPP's strings (3GPP TS 26.244, 8), and the list of iTunes, each in whatever encoding it has.
struct MovieTexts: Hashable {
  private(set) var title: String?
  private(set) var artist: String?
  /// Whether there is a title, or an artist, in an encoding that is not known here.
  private(set) var hasUnreadTitle = false
  private(set) var hasUnreadArtist = false

  /// The most bytes of one text to read.
  private static let mostBytes: Int64 = 16_384

  /// - Parameter box: a box within `udta`.
  mutating func take(_ box: ISOBox, of file: some ByteReading) {
    switch box.type {
    case Self.name: takeTitle(international(box, of: file))
    case Self.artistName: takeArtist(international(box, of: file))
    case "titl": takeTitle(mobile(box, of: file))
    case "perf": takeArtist(mobile(box, of: file))
    case "meta": takeList(box, of: file)
    default: break
    }
  }

  /// A text, or the fact that there is one in an encoding that is not known here.
  private struct Found {
    var text: String?
    var isUnread = false
  }

  private mutating func takeTitle(_ found: Found) {
    title = title ?? found.text
    hasUnreadTitle = hasUnreadTitle || found.isUnread
  }

  private mutating func takeArtist(_ found: Found) {
    artist = artist ?? found.text
    hasUnreadArtist = hasUnreadArtist || found.isUnread
  }

  /// `©nam` and `©ART`
  private static let name = FourCharacterCode([0xA9] + Array("nam".utf8))
  private static let artistName = FourCharacterCode([0xA9] + Array("ART".utf8))

  private func contents(_ box: ISOBox, of file: some ByteReading) -> [UInt8] {
    file.bytes(at: box.contents, count: Int(max(0, min(Self.mostBytes, box.end - box.contents))))
  }

  /// Reads texts in several languages, each after its length and the code of its language. Returns the first that is
  /// not empty.
  private func international(_ box: ISOBox, of file: some ByteReading) -> Found {
    let bytes = contents(box, of: file)
    var (next, isUnread) = (0, false)
    while let length = bytes.number(at: next, bytes: 2), let language = bytes.number(at: next + 2, bytes: 2),
      Int64(next + 4 + length) <= box.end - box.contents
    {
      let own = Array(bytes.dropFirst(next + 4).prefix(length))
      let text = MovieText.text(own, language: language, isCut: next + 4 + length > bytes.count)
      if let text, !text.isEmpty { return Found(text: text) }
      isUnread = isUnread || own.contains { $0 > 0x7F }
      next += 4 + length
    }
    return Found(isUnread: isUnread)
  }

  /// Reads a text after a version and a language: UTF-8, or UTF-16 after a byte order mark.
  private func mobile(_ box: ISOBox, of file: some ByteReading) -> Found {
    let bytes = contents(box, of: file)
    guard bytes.count > 6 else { return Found() }
    let text = MovieText.text(
      Array(bytes[6...]), language: MovieText.unspecified,
      isCut: Int64(bytes.count) < box.end - box.contents)
    return Found(text: text, isUnread: text == nil && bytes[6...].contains { $0 > 0x7F })
  }

  /// Reads the list in `meta`, which is a full box in MP4, but not in QuickTime.
  private mutating func takeList(_ box: ISOBox, of file: some ByteReading) {
    let isFull = file.bigEndian(at: box.contents + 4, width: 4) != UInt64(FourCharacterCode("hdlr").value)
    for list in box.children(in: file, behind: isFull ? 4 : 0, atMost: 16) where list.type == "ilst" {
      for item in list.children(in: file, atMost: 256) {
        if item.type == Self.name { title = title ?? value(item, of: file) }
        if item.type == Self.artistName { artist = artist ?? value(item, of: file) }
      }
    }
  }

  /// Returns the value in the box `data`: the kind of value, a country and language, the value. Kinds 1 and 2 are
  /// UTF-8 and UTF-16.
  private func value(_ item: ISOBox, of file: some ByteReading) -> String? {
    let bytes = contents(item, of: file)
    guard bytes.count > 16, bytes[4..<8].elementsEqual("data".utf8), let size = bytes.number(at: 0, bytes: 4),
      let kind = bytes.number(at: 8, bytes: 4), size > 16
    else { return nil }
    let (text, isCut) = (Array(bytes[16..<min(size, bytes.count)]), size > bytes.count)
    return kind & 0xFF_FFFF == 2
      ? MovieText.wide(text, isLittle: false, isCut: isCut)
      : MovieText.text(text, language: MovieText.unspecified, isCut: isCut)
  }
}

/// Decoding of text in the encodings of QuickTime and MP4.
enum MovieText {
  /// The code for an undetermined language (`und`), packed as in ISO/IEC 14496-12, 8.4.2.
  static let unspecified = 0x55C4

  /// Decodes a text. Returns nil for an encoding that is not known here.
  ///
  /// - Parameters:
  ///   - language: as packed by ISO, or Macintosh's code below 0x400, which stands for an encoding as well.
  ///   - isCut: whether the text continues beyond these bytes, so that they may end within a character.
  static func text(_ bytes: [UInt8], language: Int, isCut: Bool = false) -> String? {
    if bytes.starts(with: [0xFE, 0xFF]) {
      return wide(Array(bytes.dropFirst(2)), isLittle: false, isCut: isCut)
    }
    if bytes.starts(with: [0xFF, 0xFE]) {
      return wide(Array(bytes.dropFirst(2)), isLittle: true, isCut: isCut)
    }
    // Up to a terminating zero, as in C.
    let text = Array(bytes.prefix { $0 != 0 })
    let isCut = isCut && text.count == bytes.count
    // Most writers use UTF-8 whatever the language, and hardly any other text looks like it.
    if let unicode = LegacyText.utf8(text, isCut: isCut) { return kept(unicode) }
    guard language < 0x400 || language == 0x7FFF else { return nil }
    if roman.contains(language) || language == 0x7FFF { return kept(legacy(text, macRoman)) }
    return cyrillic.contains(language) ? kept(legacy(text, macCyrillic)) : nil
  }

  /// Decodes UTF-16, up to a zero.
  static func wide(_ bytes: [UInt8], isLittle: Bool, isCut: Bool = false) -> String? {
    let units = stride(from: 0, to: bytes.count - 1, by: 2).map { place -> UInt16 in
      let (first, second) = (UInt16(bytes[place]), UInt16(bytes[place + 1]))
      return isLittle ? second << 8 | first : first << 8 | second
    }
    return LegacyText.utf16(Array(units.prefix { $0 != 0 }), isCut: isCut).flatMap(kept)
  }

  /// Returns the text without blanks around it, and cut as every tag is.
  private static func kept(_ text: String) -> String? {
    var text = text.trimmed
    while text.utf8.count > Tags.longestValue { text.removeLast() }
    return text.isEmpty ? nil : text
  }

  private static func legacy(_ bytes: [UInt8], _ upper: String) -> String {
    let table = Array(upper.unicodeScalars)
    var text = String.UnicodeScalarView()
    for byte in bytes { text.append(byte < 0x80 ? Unicode.Scalar(byte) : table[Int(byte) - 0x80]) }
    return String(text)
  }

  /// Languages written in Mac OS Roman, and in Mac OS Cyrillic (Inside Macintosh: Text, "Language Codes").
  private static let roman: Set<Int> = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 13, 30, 34, 35, 36]
  private static let cyrillic: Set<Int> = [32, 42, 43, 44, 46]
  /// The characters of bytes from 0x80 on.
  private static let macRoman =
    "ÄÅÇÉÑÖÜáàâäãåçéèêëíìîïñóòôöõúùûü†°¢£§•¶ß®©™´¨≠ÆØ∞±≤≥¥µ∂∑∏π∫ªºΩæø¿¡¬√ƒ≈∆«»…\u{A0}ÀÃÕŒœ–—“”‘’÷◊ÿŸ⁄€‹›ﬁﬂ‡·‚„‰ÂÊÁËÈÍÎÏÌÓÔ\u{F8FF}ÒÚÛÙıˆ˜¯˘˙˚¸˝˛ˇ"
  private static let macCyrillic =
    "АБВГДЕЖЗИЙКЛМНОПРСТУФХЦЧШЩЪЫЬЭЮЯ†°Ґ£§•¶І®©™Ђђ≠Ѓѓ∞±≤≥іµґЈЄєЇїЉљЊњјЅ¬√ƒ≈∆«»…\u{A0}ЋћЌќѕ–—“”‘’÷„ЎўЏџ№Ёёяабвгдежзийклмнопрстуфхцчшщъыьэю€"
}
