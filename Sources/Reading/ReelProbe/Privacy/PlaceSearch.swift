import Glibc

/// Looks for a place in bytes whose structure is not known, or not worth knowing.
package enum PlaceSearch {
  /// How much of a place is looked at for a fact; whoever takes something out looks at all.
  package static let looked = 64 << 10

  /// What stands in XMP, XML, logs and sentences where a position follows. None of them is short enough to come about by
  /// chance in compressed data.
  private static let words: [[UInt8]] = [
    "GPSL", "GPSC", "GPSP", "GPSA", "GPS_", "gps_", "ExifGPS", "exif:GPS", "freeGPS", "LIGOGPSINFO",
    "atitude",
    "ongitude", "$GPRMC", "$GNRMC", "$GPGGA", "$GNGGA", "ISO6709", "geo:lat", "photoshop:City",
    "photoshop:State",
    "photoshop:Country", ":Location", ":City", ":CountryCode", "shotLocation", "LocationName", "GeoPos",
  ].map { Array($0.utf8) }

  /// Whether bytes name the place of a recording: in words, in Exif, as ISO 6709 writes a position, or in GPMF.
  package static func finds(in bytes: ArraySlice<UInt8>) -> Bool {
    guard bytes.count >= 8 else { return false }
    return words.contains { index(of: $0, in: bytes) != nil } || findsPosition(in: bytes) || hasExif(bytes)
      || isGoPro(bytes)
  }

  /// The first place where `word` stands.
  static func index(of word: [UInt8], in bytes: ArraySlice<UInt8>) -> Int? {
    guard let first = word.first else { return nil }
    return bytes.withUnsafeBytes { all in
      var next = 0
      while all.count - next >= word.count, let start = all.baseAddress,
        let found = memchr(start + next, Int32(first), all.count - next - word.count + 1)
      {
        let place = UnsafeRawPointer(found) - start
        if all[place..<place + word.count].elementsEqual(word) { return bytes.startIndex + place }
        next = place + 1
      }
      return nil
    }
  }

  // MARK: Text

  /// `+48.1234+011.5678/` (ISO 6709): two signed numbers with fractions, one behind the other.
  package static func findsPosition(in bytes: ArraySlice<UInt8>) -> Bool {
    var numbers = 0
    var (isNumber, whole, fraction): (Bool, Int, Int?) = (false, 0, nil)
    for byte in bytes {
      switch byte {
      case 0x2B, 0x2D:
        numbers = isNumber && (fraction ?? 0) >= 2 ? numbers + 1 : 0
        (isNumber, whole, fraction) = (true, 0, nil)
      case 0x30...0x39 where isNumber:
        if let digits = fraction { fraction = digits + 1 } else { whole += 1 }
      case 0x2E where isNumber && fraction == nil && (2...7).contains(whole): fraction = 0
      default:
        if isNumber, numbers >= 1, (fraction ?? 0) >= 2 { return true }
        (isNumber, numbers) = (false, 0)
      }
    }
    return isNumber && numbers >= 1 && (fraction ?? 0) >= 2
  }

  /// Whether text that is shown tells a position: it speaks of one, and has a number as exact as one.
  package static func findsInText(_ bytes: ArraySlice<UInt8>) -> Bool {
    let words = ["GPS", "atitude", "RMC,", "GGA,"].map { Array($0.utf8) }
    guard words.contains(where: { index(of: $0, in: bytes) != nil }) else { return false }
    var digits: Int?
    for byte in bytes {
      if byte == UInt8(ascii: ".") {
        digits = 0
      } else if (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) {
        digits = digits.map { $0 + 1 }
        if digits == 4 { return true }
      } else {
        digits = nil
      }
    }
    return false
  }

  // MARK: Exif

  private static let exif = Array("Exif\0\0".utf8)

  /// Whether there is Exif (CIPA DC-008) with a position: behind its name, or as cameras' own boxes begin with it.
  private static func hasExif(_ bytes: ArraySlice<UInt8>) -> Bool {
    if tellsPosition(bytes) { return true }
    var rest = bytes
    for _ in 0..<8 {
      guard let found = index(of: exif, in: rest) else { return false }
      rest = bytes[(found + exif.count)...]
      if tellsPosition(rest) { return true }
    }
    return false
  }

  /// Whether TIFF's first directory, or the one of positions that it leads to, has a latitude (4.6.6).
  private static func tellsPosition(_ tiff: ArraySlice<UInt8>) -> Bool {
    let isLittle = tiff.starts(with: [0x49, 0x49, 0x2A, 0])
    guard isLittle || tiff.starts(with: [0x4D, 0x4D, 0, 0x2A]) else { return false }
    func number(_ offset: Int, _ width: Int) -> Int? {
      guard offset >= 0, offset <= tiff.count - width else { return nil }
      let field = tiff[(tiff.startIndex + offset)..<(tiff.startIndex + offset + width)]
      return (isLittle ? Array(field.reversed()) : Array(field)).reduce(0) { $0 << 8 | Int($1) }
    }
    /// The value of a tag, and how many there are.
    func entry(_ tag: Int, in directory: Int) -> (count: Int, value: Int)? {
      guard let count = number(directory, 2) else { return nil }
      for place in 0..<count {
        let start = directory + 2 + 12 * place
        guard let found = number(start, 2) else { return nil }
        if found == tag, let many = number(start + 4, 4), let value = number(start + 8, 4) {
          return (many, value)
        }
      }
      return nil
    }
    guard let first = number(4, 4) else { return false }
    let (latitude, positions) = (2, 0x8825)
    // Canon writes the directory of positions alone.
    if entry(latitude, in: first).map({ $0.count == 3 }) ?? false { return true }
    return entry(positions, in: first).flatMap { entry(latitude, in: $0.value) } != nil
  }

  // MARK: GoPro

  /// GoPro's metadata format, with one of its streams of positions.
  private static func isGoPro(_ bytes: ArraySlice<UInt8>) -> Bool {
    guard index(of: Array("DEVC".utf8), in: bytes.prefix(16)) != nil else { return false }
    return ["GPS5", "GPS9"].contains { index(of: Array($0.utf8), in: bytes) != nil }
  }
}
