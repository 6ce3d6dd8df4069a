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
    guard let start = PlaceSearch.index(of: name, in: picture) else { return .nothing }
    let message = withoutEscapes(picture[(start + name.count)...].prefix(4096))
    let count = Int(message.first ?? 0)
    for entry in 0..<count {
      let place = 1 + 5 * entry
      guard place + 5 <= message.count else { break }
      // From 0xB0 on, the tags of Exif's positions; those of latitude come first.
      let isLatitude = (0xB1...0xB4).contains(message[place])
      if isLatitude, message[(place + 1)..<(place + 5)].contains(where: { $0 != 0 && $0 != 0xFF }) {
        return .location
      }
    }
    return .identity
  }

  /// A 3 behind two zeros keeps what follows from looking like a start code (7.4.1).
  private static func withoutEscapes(_ bytes: ArraySlice<UInt8>) -> [UInt8] {
    var (found, zeros): ([UInt8], Int) = ([], 0)
    for byte in bytes {
      if zeros >= 2, byte == 3 {
        zeros = 0
        continue
      }
      zeros = byte == 0 ? zeros + 1 : 0
      found.append(byte)
    }
    return found
  }
}
