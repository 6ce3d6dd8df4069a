/// What cameras write into their pictures (H.264, 7.3.2.3.1: user data that is not registered). AVCHD's: date, exposure, make,
/// and on some a position ("Modified DV Pack Metadata"). Tesla's: speed, pedals, and where the car is.
package enum CameraMessage {
  private static let name: [UInt8] =
    [0x17, 0xEE, 0x8C, 0x60, 0xF8, 0x4D, 0x11, 0xD9, 0x8C, 0xD6, 0x08, 0x00, 0x20, 0x0C, 0x9A, 0x66]
    + Array("MDPM".utf8)
  /// How much of a picture is looked at.
  package static let looked = 16 << 10

  /// What the messages at the beginning of a picture give away.
  package static func disclosure(of picture: ArraySlice<UInt8>) -> Disclosure {
    // From 0xB0 on, the tags of Exif's positions; those of latitude come first.
    let isLocated = packs(in: picture)?.contains { pack in
      (0xB1...0xB4).contains(pack.tag) && pack.bytes.contains { $0 != 0 && $0 != 0xFF }
    }
    let isCarLocated = isLocated == true ? nil : isCarLocated(in: picture)
    if isLocated == nil, isCarLocated == nil { return .nothing }
    return isLocated == true || isCarLocated == true ? .location : .identity
  }

  /// The first message's packs of a tag and four bytes, as far as they are there; nil where there is no message.
  static func packs(in picture: ArraySlice<UInt8>) -> [(tag: UInt8, bytes: [UInt8])]? {
    guard let start = PlaceSearch.index(of: name, in: picture) else { return nil }
    let message = BitReader.unescaped(picture[(start + name.count)...].prefix(4096))
    let count = min(Int(message.first ?? 0), max(0, message.count - 1) / 5)
    return (0..<count).map { entry in
      let place = 1 + 5 * entry
      return (message[place], Array(message[(place + 1)..<(place + 5)]))
    }
  }
}

// MARK: Tesla

extension CameraMessage {
  /// Whether a car's message has a position, as Tesla's own reader takes it (github.com/teslamotors/dashcam): padding of 0x42,
  /// 0x69, and fields as Protocol Buffers have them, 11 and 12 of which are degrees. Nil where there is no such message.
  private static func isCarLocated(in picture: ArraySlice<UInt8>) -> Bool? {
    var (rest, found): (ArraySlice<UInt8>, Bool?) = (picture, nil)
    while found != true, let mark = PlaceSearch.index(of: [padding, padding, 0x69], in: rest) {
      rest = picture[(mark + 3)...]
      let padded = picture[..<(mark + 2)].suffix(256).reversed().prefix { $0 == padding }.count
      let start = mark + 2 - padded
      // The length of the message may look like padding.
      for length in [start - 1, start] where isOfUser(picture, lengthAt: length) {
        let count = Int(picture[length]) - (mark + 2 - length)
        // The length is that of the bytes without what escapes them.
        found = found == true || hasDegrees(BitReader.unescaped(rest.prefix(512)).prefix(max(0, count)))
      }
    }
    return found
  }

  private static let padding: UInt8 = 0x42

  /// Whether a message of user data stands there alone: behind the header of a unit of messages, of H.264 or of HEVC, its type.
  private static func isOfUser(_ picture: ArraySlice<UInt8>, lengthAt place: Int) -> Bool {
    guard place >= picture.startIndex + 2, picture[place - 1] == 5 else { return false }
    return picture[place - 2] & 0x1F == 6
      || place >= picture.startIndex + 3 && [0x4E, 0x50].contains(picture[place - 3])
        && picture[place - 2] == 1
  }

  private static func hasDegrees(_ fields: ArraySlice<UInt8>) -> Bool {
    var rest = fields
    func number() -> UInt64? {
      var (value, shift): (UInt64, UInt64) = (0, 0)
      while shift < 64, let byte = rest.popFirst() {
        value |= UInt64(byte & 0x7F) << shift
        if byte < 0x80 { return value }
        shift += 7
      }
      return nil
    }
    while let key = number(), (1..<32).contains(key >> 3) {
      let length: UInt64? =
        switch key & 7 {
        case 0: number() == nil ? nil : 0
        case 1: 8
        case 2: number()
        case 5: 4
        default: nil
        }
      guard let length, length <= rest.count else { return false }
      if key == 11 << 3 | 1 || key == 12 << 3 | 1 {
        let bits = rest.prefix(8).reversed().reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        let degrees = Double(bitPattern: bits)
        if degrees != 0, abs(degrees) <= 180 { return true }
      }
      rest = rest.dropFirst(Int(length))
    }
    return false
  }
}
