/// The data in a cover beside its picture: Exif, XMP, IPTC, comments, thumbnails, and what follows its end. The picture
/// itself, its colour profile and its animation are kept.
package struct PictureMetadata {
  /// The ranges that the picture needs.
  private var kept: [Range<Int>] = []
  /// All other ranges.
  private var others: [Range<Int>] = []
  private let bytes: ArraySlice<UInt8>

  /// Nil for anything but a complete JPEG, PNG, WebP or BMP.
  package init?(_ bytes: ArraySlice<UInt8>) {
    self.bytes = bytes
    let isWhole =
      if bytes.starts(with: [0xFF, 0xD8]) { readJPEG() } else if bytes.starts(with: Self.png) {
        readPNG()
      } else if bytes.starts(with: Array("RIFF".utf8)), bytes.dropFirst(8).starts(with: Array("WEBP".utf8)) {
        readWebP()
      } else if bytes.starts(with: Array("BM".utf8)) { readBMP() } else { false }
    guard isWhole else { return nil }
  }

  /// Whether it gives away where the picture was taken.
  package var namesPlace: Bool {
    others.contains { range in
      // In PNG and WebP, a chunk's header precedes Exif.
      [part(range), part(range).dropFirst(8)].contains(where: PlaceSearch.finds) || namesCity(part(range))
    }
  }

  /// Whether it carries Content Credentials.
  package var hasCredentials: Bool {
    let name = Array("c2pa".utf8)
    return others.contains { range in
      let part = part(range)
      return part.prefix(64).starts(with: Array("C2PA".utf8))
        || PlaceSearch.index(of: Array("jumb".utf8), in: part.prefix(64)) != nil
          && PlaceSearch.index(of: name, in: part.prefix(256)) != nil
    }
  }

  /// Whether there is nothing beside the picture.
  package var isEmpty: Bool { others.isEmpty }

  /// The picture without anything else.
  package var picture: [UInt8] {
    var picture = kept.flatMap { part($0) }
    guard picture.starts(with: Array("RIFF".utf8)) else { return picture }
    let size = UInt32(clamping: picture.count - 8)
    for place in 0..<4 { picture[4 + place] = UInt8(truncatingIfNeeded: size >> UInt32(8 * place)) }
    // Exif and XMP are announced in the flags of the first chunk (RFC 9649, 2.7).
    if picture.count > 20, picture[12..<16].elementsEqual("VP8X".utf8) { picture[20] &= ~0x0C }
    return picture
  }

  private func part(_ range: Range<Int>) -> ArraySlice<UInt8> {
    bytes[(bytes.startIndex + range.lowerBound)..<(bytes.startIndex + range.upperBound)]
  }

  private func number(_ offset: Int, _ width: Int, isLittle: Bool = false) -> Int? {
    guard offset >= 0, offset + width <= bytes.count else { return nil }
    let field = part(offset..<offset + width)
    return (isLittle ? Array(field.reversed()) : Array(field)).reduce(0) { $0 << 8 | Int($1) }
  }

  private mutating func add(_ range: Range<Int>, keeps: Bool) {
    guard !range.isEmpty else { return }
    if keeps { kept.append(range) } else { others.append(range) }
  }

  // MARK: IPTC

  /// Whether Photoshop's block of IPTC fields names a city, a part of it, a province, a country, or a location by its
  /// code or name.
  private func namesCity(_ part: ArraySlice<UInt8>) -> Bool {
    guard PlaceSearch.index(of: Array("8BIM".utf8), in: part) != nil else { return false }
    return [90, 92, 95, 100, 101, 26, 27].contains { (field: UInt8) in
      PlaceSearch.index(of: [0x1C, 2, field], in: part) != nil
    }
  }

  // MARK: JPEG (ITU-T T.81, B)

  private mutating func readJPEG() -> Bool {
    add(0..<2, keeps: true)
    var next = 2
    while let first = number(next, 1) {
      guard first == 0xFF, let marker = number(next + 1, 1) else { return false }
      switch marker {
      case 0xFF: next += 1
      case 0xD9:
        add(next..<next + 2, keeps: true)
        add(next + 2..<bytes.count, keeps: false)
        return true
      case 0x01, 0xD0...0xD7:
        add(next..<next + 2, keeps: true)
        next += 2
      default:
        guard let length = number(next + 2, 2), length >= 2, next + 2 + length <= bytes.count else {
          return false
        }
        var end = next + 2 + length
        if marker == 0xDA { end = endOfScan(from: end) }
        add(next..<end, keeps: isPicture(marker, next + 4..<next + 2 + length))
        next = end
      }
    }
    // The end is missing, but players show what is there.
    return kept.count > 1
  }

  private func endOfScan(from start: Int) -> Int {
    var next = start
    while next + 1 < bytes.count {
      if part(next..<next + 1).first == 0xFF, let marker = number(next + 1, 1), marker != 0,
        !(0xD0...0xD7).contains(marker), marker != 0xFF
      {
        return next
      }
      next += 1
    }
    return bytes.count
  }

  private func isPicture(_ marker: Int, _ contents: Range<Int>) -> Bool {
    let contents = part(contents)
    switch marker {
    // A longer segment contains a thumbnail.
    case 0xE0: return contents.starts(with: Array("JFIF\0".utf8)) && contents.count <= 14
    case 0xE2: return contents.starts(with: Array("ICC_PROFILE\0".utf8))
    case 0xEE: return contents.starts(with: Array("Adobe".utf8)) && contents.count <= 12
    case 0xE0...0xEF, 0xFE, 0xF0...0xFD: return false
    default: return true
    }
  }

  // MARK: PNG

  private static let png: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]
  private static let shownInPNG: Set<FourCharacterCode> = [
    "IHDR", "PLTE", "IDAT", "IEND", "tRNS", "cHRM", "gAMA", "iCCP", "sBIT", "sRGB", "cICP", "mDCV", "cLLI",
    "bKGD",
    "hIST", "pHYs", "acTL", "fcTL", "fdAT",
  ]

  private mutating func readPNG() -> Bool {
    add(0..<8, keeps: true)
    var next = 8
    while let length = number(next, 4), next + 12 <= bytes.count, length <= bytes.count - next - 12 {
      let type = FourCharacterCode(part(next + 4..<next + 8))
      add(next..<next + 12 + length, keeps: Self.shownInPNG.contains(type))
      next += 12 + length
      if type == "IEND" {
        add(next..<bytes.count, keeps: false)
        return true
      }
    }
    return false
  }

  // MARK: WebP (RFC 9649), BMP

  private static let shownInWebP: Set<FourCharacterCode> = [
    "VP8 ", "VP8L", "VP8X", "ALPH", "ANIM", "ANMF", "ICCP",
  ]

  private mutating func readWebP() -> Bool {
    guard let size = number(4, 4, isLittle: true), size >= 4, size <= bytes.count - 8 else { return false }
    add(0..<12, keeps: true)
    var next = 12
    while next + 8 <= size + 8, let length = number(next + 4, 4, isLittle: true) {
      let end = next + 8 + length + length % 2
      guard end <= bytes.count else { return false }
      add(next..<end, keeps: Self.shownInWebP.contains(FourCharacterCode(part(next..<next + 4))))
      next = end
    }
    add(next..<max(next, bytes.count), keeps: false)
    return kept.count > 1
  }

  private mutating func readBMP() -> Bool {
    guard let size = number(2, 4, isLittle: true), size >= 26, size <= bytes.count else { return false }
    add(0..<size, keeps: true)
    add(size..<bytes.count, keeps: false)
    return true
  }
}
