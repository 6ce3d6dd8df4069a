import FoundationEssentials
import ReelCore

/// The header of an ASF file (Advanced Systems Format specification 1.20, 3).
enum ASFFile {
  /// Whether the file is shorter than its file properties object states, and its packets do not all fit into it; nil
  /// if that states nothing, as in a broadcast.
  static func isTruncated(_ file: some ByteReading) -> Bool? {
    guard let properties = object(fileProperties, of: file),
      let flags = file.littleEndian(at: properties + 88, width: 4), flags & 1 == 0,
      let claimed = file.littleEndian(at: properties + 40, width: 8), claimed > 0
    else { return nil }
    guard claimed > UInt64(file.size) else { return false }
    // That number may be wrong, or only the index may be missing.
    guard let header = file.littleEndian(at: 16, width: 8), header < UInt64(file.size),
      let data = file.littleEndian(at: Int64(header) + 16, width: 8), data >= 50
    else { return true }
    return data > UInt64(file.size) - header
  }

  /// Returns the duration in seconds by the header (3.2). The play duration includes the preroll, which comes before
  /// the beginning. Nil for a broadcast.
  static func duration(_ file: some ByteReading) -> Double? {
    guard let properties = object(fileProperties, of: file),
      let flags = file.littleEndian(at: properties + 88, width: 4), flags & 1 == 0,
      let played = file.littleEndian(at: properties + 64, width: 8), played > 0,
      let preroll = file.littleEndian(at: properties + 80, width: 8)
    else { return nil }
    let seconds = (Double(played) - 1e4 * Double(preroll)) / 1e7
    return seconds > 0 ? seconds : nil
  }

  /// Whether its content is encrypted (3.14, 3.15).
  static func isEncrypted(_ file: some ByteReading) -> Bool {
    object(contentEncryption, of: file) != nil || object(extendedContentEncryption, of: file) != nil
  }

  /// Returns where the data object begins, and the size of each packet in bytes (3.2, 5); nil if the sizes vary.
  static func packets(_ file: some ByteReading) -> (data: Int64, size: Int64)? {
    guard let header = file.littleEndian(at: 16, width: 8), header >= 30, header < UInt64(file.size),
      file.bytes(at: Int64(header), count: 4) == [0x36, 0x26, 0xB2, 0x75],
      let properties = object(fileProperties, of: file),
      let least = file.littleEndian(at: properties + 92, width: 4),
      let most = file.littleEndian(at: properties + 96, width: 4), least == most
    else { return nil }
    return (Int64(header), Int64(least))
  }

  /// Returns the two sizes that the header states for the pictures of the first video stream (3.3, 9.2); nil if there
  /// is no such stream.
  static func sizes(_ file: some ByteReading) -> (stated: PixelSize, format: PixelSize)? {
    var next: Int64 = 30
    for _ in 0..<256 {
      guard let size = file.littleEndian(at: next + 16, width: 8), size >= 24, size < 1 << 32 else {
        return nil
      }
      if file.bytes(at: next, count: 4) == [0x91, 0x07, 0xDC, 0xB7],
        file.bytes(at: next + 24, count: 4) == [0xC0, 0xEF, 0x19, 0xBC],
        let stated = self.size(file, at: next + 78), let format = self.size(file, at: next + 93)
      {
        return (stated, format)
      }
      next += Int64(size)
    }
    return nil
  }

  /// Returns the numbers of all streams, wherever in the header they are described (3.3, 4.1).
  static func numbers(_ file: some ByteReading) -> Set<Int>? {
    guard let header = header(file) else { return nil }
    return Set(streams(header).map { Int(header[$0 + 72] & 0x7f) })
  }

  /// Returns warnings about streams that are declared as another kind than that of their format (3.3, 9.1, 9.2).
  static func misnamed(_ file: some ByteReading) -> [MediaWarning] {
    guard let header = header(file) else { return [] }
    var found: [MediaWarning] = []
    for place in streams(header) {
      let kind = header[(place + 24)..<(place + 40)]
      let (isSound, isPictures) = (kind.elementsEqual(sound), kind.elementsEqual(pictures))
      let stated = isSound ? "sound" : isPictures ? "pictures" : "something else"
      if !isPictures, hasFormatOfPictures(header, place) {
        found += ["video", "audio"].map { .misnamed(stated, whatIs: "pictures", fact: $0) }
      } else if !isSound, hasFormatOfSound(header, place) {
        found.append(.misnamed(stated, whatIs: "sound", fact: "audio"))
      }
    }
    return found
  }

  /// Whether a stream's format is one of pictures: it states a size twice.
  private static func hasFormatOfPictures(_ header: [UInt8], _ place: Int) -> Bool {
    let format = place + 78
    guard format + 23 <= header.count else { return false }
    let (stated, own) = (header[format..<(format + 8)], header[(format + 15)..<(format + 23)])
    return stated.elementsEqual(own) && header[format + 11] >= 40 && header[format] | header[format + 1] != 0
  }

  /// Whether a stream's format is a `WAVEFORMATEX` that is as long as it says, with channels, a rate and a block
  /// size.
  private static func hasFormatOfSound(_ header: [UInt8], _ place: Int) -> Bool {
    let format = place + 78
    func number(_ at: Int, _ width: Int) -> Int {
      header[at..<(at + width)].reversed().reduce(0) { $0 << 8 | Int($1) }
    }
    guard format + 18 <= header.count else { return false }
    return number(place + 64, 4) == 18 + number(format + 16, 2) && (1...64).contains(number(format + 2, 2))
      && (1000...768_000).contains(number(format + 4, 4)) && number(format + 12, 2) > 0
      && number(format + 14, 2) <= 64
  }

  private static func header(_ file: some ByteReading) -> [UInt8]? {
    file.littleEndian(at: 16, width: 8).flatMap {
      $0 <= mostHeader ? file.bytes(at: 0, count: Int($0)) : nil
    }
  }

  /// Returns where the objects of streams begin.
  private static func streams(_ header: [UInt8]) -> [Int] {
    header.indices.filter { place in
      header[place] == streamProperties[0] && place + 78 <= header.count
        && header[place...].starts(with: streamProperties)
    }
  }

  private static let mostHeader = 1 << 16
  /// The kinds of streams (10.4).
  private static let sound: [UInt8] = [
    0x40, 0x9E, 0x69, 0xF8, 0x4D, 0x5B, 0xCF, 0x11, 0xA8, 0xFD, 0x00, 0x80, 0x5F, 0x5C, 0x44, 0x2B,
  ]
  private static let pictures: [UInt8] = [
    0xC0, 0xEF, 0x19, 0xBC, 0x4D, 0x5B, 0xCF, 0x11, 0xA8, 0xFD, 0x00, 0x80, 0x5F, 0x5C, 0x44, 0x2B,
  ]
  private static let streamProperties: [UInt8] = [
    0x91, 0x07, 0xDC, 0xB7, 0xB7, 0xA9, 0xCF, 0x11, 0x8E, 0xE6, 0x00, 0xC0, 0x0C, 0x20, 0x53, 0x65,
  ]

  private static func size(_ file: some ByteReading, at offset: Int64) -> PixelSize? {
    guard let width = file.littleEndian(at: offset, width: 4),
      let height = file.littleEndian(at: offset + 4, width: 4)
    else { return nil }
    return PixelSize(
      width: Int(Int32(truncatingIfNeeded: width)), height: Int(Int32(truncatingIfNeeded: height).magnitude))
  }

  /// Returns the creation date (3.2); nil if none is stated, or its year is implausible.
  static func creationDate(_ file: some ByteReading) -> Date? {
    guard let properties = object(fileProperties, of: file),
      let ticks = file.littleEndian(at: properties + 48, width: 8), ticks > 0
    else { return nil }
    // In tenths of microseconds, since 1601.
    let seconds = Double(ticks) / 1e7 - 11_644_473_600
    // From 1971 to 2200: a clock that was never set is at the beginning of an epoch.
    return (31_536_000..<7_258_118_400).contains(seconds) ? Date(timeIntervalSince1970: seconds) : nil
  }

  /// The bytes at the beginning of a file: the GUID of the header object (3.1).
  static let header: [UInt8] = [
    0x30, 0x26, 0xB2, 0x75, 0x8E, 0x66, 0xCF, 0x11, 0xA6, 0xD9, 0x00, 0xAA, 0x00, 0x62, 0xCE, 0x6C,
  ]
  private static let fileProperties: [UInt8] = [
    0xA1, 0xDC, 0xAB, 0x8C, 0x47, 0xA9, 0xCF, 0x11, 0x8E, 0xE4, 0x00, 0xC0, 0x0C, 0x20, 0x53, 0x65,
  ]
  private static let contentEncryption: [UInt8] = [
    0xFB, 0xB3, 0x11, 0x22, 0x23, 0xBD, 0xD2, 0x11, 0xB4, 0xB7, 0x00, 0xA0, 0xC9, 0x55, 0xFC, 0x6E,
  ]
  private static let extendedContentEncryption: [UInt8] = [
    0x14, 0xE6, 0x8A, 0x29, 0x22, 0x26, 0x17, 0x4C, 0xB9, 0x35, 0xDA, 0xE0, 0x7E, 0xE9, 0x28, 0x9C,
  ]

  /// Returns where the first object of this kind begins within the header object.
  private static func object(_ kind: [UInt8], of file: some ByteReading) -> Int64? {
    var next: Int64 = 30
    for _ in 0..<256 {
      let id = file.bytes(at: next, count: 16)
      guard id.count == 16, let size = file.littleEndian(at: next + 16, width: 8), size >= 24, size < 1 << 32
      else { return nil }
      if id == kind { return next }
      next += Int64(size)
    }
    return nil
  }
}
