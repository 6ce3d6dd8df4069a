/// The messages that cameras write into their pictures (H.264, 7.3.2.3.1: unregistered user data). AVCHD's contain the
/// date, the exposure, the make, and on some cameras a position ("Modified DV Pack Metadata"); Tesla's contain the
/// speed, the pedals, and the position of the car.
package enum CameraMessage {
  private static let name: [UInt8] =
    [0x17, 0xEE, 0x8C, 0x60, 0xF8, 0x4D, 0x11, 0xD9, 0x8C, 0xD6, 0x08, 0x00, 0x20, 0x0C, 0x9A, 0x66]
    + Array("MDPM".utf8)
  /// The number of bytes of a picture that are searched.
  package static let looked = 64 << 10

  /// Returns what the messages at the beginning of a picture give away, or what precedes the scan of a JPEG.
  package static func disclosure(of picture: ArraySlice<UInt8>) -> Disclosure {
    if let head = MotionJPEG.head(of: picture) {
      return PlaceSearch.finds(in: head) ? .location : MotionJPEG.exif(in: head) != nil ? .identity : .nothing
    }
    // From 0xB0 on, these are the tags of Exif's positions. Those of the latitude come first.
    let isLocated = packs(in: picture)?.contains { pack in
      (0xB1...0xB4).contains(pack.tag) && pack.bytes.contains { $0 != 0 && $0 != 0xFF }
    }
    let isCarLocated = isLocated == true ? nil : isCarLocated(in: picture)
    if isLocated == nil, isCarLocated == nil { return .nothing }
    return isLocated == true || isCarLocated == true ? .location : .identity
  }

  /// Returns the packs of the first message, each a tag and four bytes, as far as they are complete; nil if there is no
  /// message.
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
  /// Returns whether a car's message has a position, as Tesla's own reader parses it (github.com/teslamotors/dashcam):
  /// padding of 0x42, then 0x69, then fields as in Protocol Buffers, of which 11 and 12 are degrees. Nil if there is no
  /// such message.
  private static func isCarLocated(in picture: ArraySlice<UInt8>) -> Bool? {
    var (rest, found): (ArraySlice<UInt8>, Bool?) = (picture, nil)
    while found != true, let mark = PlaceSearch.index(of: [padding, padding, 0x69], in: rest) {
      rest = picture[(mark + 3)...]
      let padded = picture[..<(mark + 2)].suffix(256).reversed().prefix { $0 == padding }.count
      let start = mark + 2 - padded
      // The length of the message may look like padding.
      for length in [start - 1, start] where isOfUser(picture, lengthAt: length) {
        let count = Int(picture[length]) - (mark + 2 - length)
        // The length does not include emulation prevention bytes.
        found = found == true || hasDegrees(BitReader.unescaped(rest.prefix(512)).prefix(max(0, count)))
      }
    }
    return found
  }

  private static let padding: UInt8 = 0x42

  /// Whether `place` is the length of a message of user data that is the first of its NAL unit: the message's type
  /// stands before it, after the unit's header in H.264 or HEVC.
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
