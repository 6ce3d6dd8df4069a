import Glibc

/// Searches for a location in bytes whose structure is unknown, or not worth parsing.
package enum PlaceSearch {
  /// The number of bytes of a place that are searched for a fact. The mender searches all of them.
  package static let looked = 64 << 10

  /// The words that precede a position in XMP, XML, logs and sentences. None is short enough to occur by chance in
  /// compressed data.
  private static let words: [[UInt8]] = [
    "GPSL", "GPSC", "GPSP", "GPSA", "GPS_", "gps_", "ExifGPS", "exif:GPS", "freeGPS", "LIGOGPSINFO",
    "atitude",
    "ongitude", "$GPRMC", "$GNRMC", "$GPGGA", "$GNGGA", "ISO6709", "geo:lat", "photoshop:City",
    "photoshop:State",
    "photoshop:Country", ":Location", ":City", ":CountryCode", "shotLocation", "LocationName", "GeoPos",
  ].map { Array($0.utf8) }

  /// The words that are not part of an ordinary one, such as "gratitude".
  private static let marks = words.filter { !["atitude", "ongitude"].map { Array($0.utf8) }.contains($0) }

  private static let exif = Array("Exif\0\0".utf8)

  /// For each value of a byte, the bits of those ``words`` that have it first, or second; then one bit for Exif, and
  /// one for a sign with a digit after it. The two tables rule out nearly every position in a file.
  private static let beginnings: (first: [UInt64], second: [UInt64]) = {
    var (first, second) = ([UInt64](repeating: 0, count: 256), [UInt64](repeating: 0, count: 256))
    for (bit, word) in (words + [exif]).enumerated() {
      first[Int(word[0])] |= 1 << bit
      second[Int(word[1])] |= 1 << bit
    }
    for sign in "+-".utf8 { first[Int(sign)] |= 1 << (words.count + 1) }
    for digit in "0123456789".utf8 { second[Int(digit)] |= 1 << (words.count + 1) }
    return (first, second)
  }()

  /// Returns whether bytes name the location of a recording: in words, in Exif, as an ISO 6709 position, or in GPMF.
  package static func finds(in bytes: ArraySlice<UInt8>) -> Bool { hasAny(of: words, bytes) }

  /// Returns the same for a sample, which may be text that is shown.
  package static func findsInSample(_ bytes: ArraySlice<UInt8>) -> Bool {
    hasAny(of: marks, bytes) || findsInText(bytes)
  }

  private static func hasAny(of words: [[UInt8]], _ bytes: ArraySlice<UInt8>) -> Bool {
    guard bytes.count >= 4 else { return false }
    if tellsPosition(bytes) || isGoPro(bytes) { return true }
    let beginnings = beginnings
    return beginnings.first.withUnsafeBufferPointer { first in
      beginnings.second.withUnsafeBufferPointer { second in
        bytes.withUnsafeBytes { all in
          var exifs = 0
          return (0..<all.count - 1).contains { place in
            let hits = first[Int(all[place])] & second[Int(all[place + 1])]
            guard hits != 0 else { return false }
            let rest = UnsafeRawBufferPointer(rebasing: all[place...])
            if isPosition(rest) || words.contains(where: { rest.starts(with: $0) }) { return true }
            // Each may lead to a search of all that follows it.
            guard exifs < 8, rest.starts(with: exif) else { return false }
            exifs += 1
            return tellsPosition(bytes[(bytes.startIndex + place + exif.count)...])
          }
        }
      }
    }
  }

  /// Returns the first position of `word`.
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

  /// Returns whether bytes contain a position as ISO 6709 writes it, `+48.1234+011.5678/`.
  package static func findsPosition(in bytes: ArraySlice<UInt8>) -> Bool {
    bytes.withUnsafeBytes { all in
      all.indices.contains { isPosition(UnsafeRawBufferPointer(rebasing: all[$0...])) }
    }
  }

  /// Whether bytes begin with two consecutive signed numbers with fractions.
  private static func isPosition(_ bytes: UnsafeRawBufferPointer) -> Bool {
    guard let latitude = signedNumber(bytes, at: 0) else { return false }
    return signedNumber(bytes, at: latitude) != nil
  }

  /// Returns the end of the number that begins with the sign at `start`. It has two to seven digits, and at least two
  /// more after a point.
  private static func signedNumber(_ bytes: UnsafeRawBufferPointer, at start: Int) -> Int? {
    func digits(from start: Int) -> Int { bytes[start...].prefix { (0x30...0x39).contains($0) }.count }
    guard start < bytes.count, bytes[start] == 0x2B || bytes[start] == 0x2D else { return nil }
    let point = start + 1 + digits(from: start + 1)
    guard (2...7).contains(point - start - 1), point < bytes.count, bytes[point] == 0x2E else { return nil }
    let fraction = digits(from: point + 1)
    return fraction >= 2 ? point + 1 + fraction : nil
  }

  /// Returns whether text that is shown contains a position: one in ISO 6709, or a word about positions together with a
  /// number that has at least four decimals or a hemisphere.
  package static func findsInText(_ bytes: ArraySlice<UInt8>) -> Bool {
    if findsPosition(in: bytes) { return true }
    let words = ["GPS", "atitude", "RMC,", "GGA,"].map { Array($0.utf8) }
    guard words.contains(where: { index(of: $0, in: bytes) != nil }) else { return false }
    return bytes.indices.contains { point in
      guard bytes[point] == UInt8(ascii: ".") else { return false }
      let decimals = bytes[(point + 1)...].prefix { (0x30...0x39).contains($0) }
      return decimals.count >= 4 || decimals.count >= 2 && isLatitude(bytes[decimals.endIndex...])
    }
  }

  /// Whether what follows a number makes it a latitude, as NMEA writes it: `4807.038,N,01131.000,E`.
  private static func isLatitude(_ rest: ArraySlice<UInt8>) -> Bool {
    rest.starts(with: ",N,".utf8) || rest.starts(with: ",S,".utf8)
  }

  // MARK: Receivers

  /// What precedes a position that a satellite receiver or a dashcam writes.
  private static let sentences = [
    "freeGPS ", "LIGOGPSINFO", "$GPRMC,", "$GNRMC,", "$GPGGA,", "$GNGGA,", "$GPSINFO,",
  ].map { Array($0.utf8) }

  /// Returns whether bytes contain a dashcam's record of its route. They may also be pictures or sound, in which
  /// shorter words occur by chance.
  package static func findsWay(in bytes: ArraySlice<UInt8>) -> Bool {
    sentences.contains { index(of: $0, in: bytes) != nil } || hasRecord(bytes)
  }

  /// Whether bytes contain Novatek's record: that the satellites are found, the hemispheres, and both angles in degrees
  /// and minutes (ddmm.mmmm).
  private static func hasRecord(_ bytes: ArraySlice<UInt8>) -> Bool {
    bytes.withUnsafeBytes { all in
      func isAngle(at place: Int, upTo most: Float) -> Bool {
        let bits = UInt32(littleEndian: all.loadUnaligned(fromByteOffset: place, as: UInt32.self))
        let angle = Float(bitPattern: bits)
        let degrees = (angle / 100).rounded(.down)
        return angle > 0.01 && degrees <= most && angle - 100 * degrees < 60
      }
      return (0..<max(0, all.count - 11)).contains { place in
        all[place] == UInt8(ascii: "A") && all[place + 3] == 0
          && (all[place + 1] == UInt8(ascii: "N") || all[place + 1] == UInt8(ascii: "S"))
          && (all[place + 2] == UInt8(ascii: "E") || all[place + 2] == UInt8(ascii: "W"))
          && isAngle(at: place + 4, upTo: 90) && isAngle(at: place + 8, upTo: 180)
      }
    }
  }

  // MARK: Exif

  // Exif (CIPA DC-008) follows its name, or is what cameras' own boxes begin with.

  /// Whether TIFF's first directory, or the GPS directory to which it refers, has a latitude (4.6.6).
  private static func tellsPosition(_ tiff: ArraySlice<UInt8>) -> Bool {
    guard let exif = ExifDirectory(tiff) else { return false }
    let (latitude, positions) = (2, 0x8825)
    // Canon writes the GPS directory alone.
    if exif[latitude].map({ $0.count == 3 }) ?? false { return true }
    return exif[positions].flatMap { ExifDirectory(tiff, at: $0.value)?[latitude] } != nil
  }

  // MARK: GoPro

  /// Whether bytes are in GoPro's metadata format, with one of its streams of positions.
  private static func isGoPro(_ bytes: ArraySlice<UInt8>) -> Bool {
    guard index(of: Array("DEVC".utf8), in: bytes.prefix(16)) != nil else { return false }
    return ["GPS5", "GPS9"].contains { index(of: Array($0.utf8), in: bytes) != nil }
  }
}
