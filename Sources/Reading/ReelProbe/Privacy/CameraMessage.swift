/// What AVCHD's cameras write into their pictures (H.264, 7.3.2.3.1: user data that is not registered; "Modified DV Pack
/// Metadata"): date, exposure, make, and on some a position.
package enum CameraMessage {
  private static let name: [UInt8] =
    [0x17, 0xEE, 0x8C, 0x60, 0xF8, 0x4D, 0x11, 0xD9, 0x8C, 0xD6, 0x08, 0x00, 0x20, 0x0C, 0x9A, 0x66]
    + Array("MDPM".utf8)
  /// How much of a picture is looked at.
  package static let looked = 16 << 10

  /// What the messages at the beginning of a picture give away.
  package static func disclosure(of picture: ArraySlice<UInt8>) -> Disclosure {
    guard let packs = packs(in: picture) else { return .nothing }
    // From 0xB0 on, the tags of Exif's positions; those of latitude come first.
    let isLocated = packs.contains { pack in
      (0xB1...0xB4).contains(pack.tag) && pack.bytes.contains { $0 != 0 && $0 != 0xFF }
    }
    return isLocated ? .location : .identity
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
