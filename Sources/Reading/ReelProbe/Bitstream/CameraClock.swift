import FoundationEssentials

/// The recording time that AVCHD cameras store beside each H.264 picture: "Modified Digital Video Pack Metadata", in a
/// supplemental enhancement message with user data (type 5).
enum CameraClock {
  /// Returns the time in a picture's packet, whose NAL units are behind start codes. Nil if there is none, or none with
  /// an offset from UTC.
  static func time(in packet: [UInt8]) -> Date? {
    for unit in StartCodeUnits(packet) {
      guard let first = unit.first, [1, 5, 6].contains(first & 0x1f) else { continue }
      // Messages come before the picture.
      guard first & 0x1f == 6 else { return nil }
      if let found = time(packs: CameraMessage.packs(in: unit.dropFirst()) ?? []) { return found }
    }
    return nil
  }

  /// Returns the time in two packs of binary-coded decimals: 0x18 has the offset, the year and the month, 0x19 the day
  /// and the time.
  private static func time(packs: [(tag: UInt8, bytes: [UInt8])]) -> Date? {
    let packs = Dictionary(packs.map { ($0.tag, $0.bytes) }) { $1 }
    guard let date = packs[0x18], let clock = packs[0x19], date[0] != 0xFF,
      let year = number(date[1...2]), let month = number(date[3...3]), let day = number(clock[0...0]),
      let hour = number(clock[1...1]), let minute = number(clock[2...2]), let second = number(clock[3...3])
    else { return nil }
    let offset =
      (date[0] & 0x20 != 0 ? "-" : "+") + two(Int(date[0] >> 1 & 15)) + (date[0] & 1 != 0 ? "30" : "00")
    let day8 = "\(two(year / 100))\(two(year % 100))-\(two(month))-\(two(day))"
    return CreationTime.parse("\(day8)T\(two(hour)):\(two(minute)):\(two(second))\(offset)")
  }

  /// Reads a binary-coded decimal with two digits per byte.
  private static func number(_ bytes: ArraySlice<UInt8>) -> Int? {
    guard bytes.allSatisfy({ $0 >> 4 < 10 && $0 & 15 < 10 }) else { return nil }
    return bytes.reduce(0) { $0 * 100 + Int($1 >> 4) * 10 + Int($1 & 15) }
  }

  private static func two(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
}
