import FoundationEssentials

/// The time of recording that AVCHD cameras put beside each picture of H.264: "Modified Digital Video Pack Metadata", in a
/// supplemental enhancement message of the user's own (type 5).
enum CameraClock {
  /// From the packet of a picture, behind start codes. Nil where it has none, or without an offset from UTC.
  static func time(in packet: [UInt8]) -> Date? {
    for unit in StartCodeUnits(packet) {
      guard let first = unit.first, [1, 5, 6].contains(first & 0x1f) else { continue }
      // Messages stand before the picture.
      guard first & 0x1f == 6 else { return nil }
      if let found = time(message: unit.dropFirst()) { return found }
    }
    return nil
  }

  private static let mark: [UInt8] =
    [0x17, 0xEE, 0x8C, 0x60, 0xF8, 0x4D, 0x11, 0xD9, 0x8C, 0xD6, 0x08, 0x00, 0x20, 0x0C, 0x9A, 0x66]
    + Array("MDPM".utf8)

  /// Packs of a tag and four bytes, behind their number: 0x18 is the offset, the year and the month, 0x19 the day and the
  /// time, in decimal digits.
  private static func time(message: ArraySlice<UInt8>) -> Date? {
    let bytes = unescaped(message)
    guard bytes.count > mark.count + 2,
      let start = (0..<(bytes.count - mark.count - 1)).first(where: { bytes[$0...].starts(with: mark) })
    else { return nil }
    var packs: [UInt8: ArraySlice<UInt8>] = [:]
    var next = start + mark.count + 1
    for _ in 0..<bytes[start + mark.count] where next + 5 <= bytes.count {
      packs[bytes[next]] = bytes[(next + 1)..<(next + 5)]
      next += 5
    }
    guard let date = packs[0x18].map(Array.init), let clock = packs[0x19].map(Array.init), date[0] != 0xFF,
      let year = number(date[1...2]), let month = number(date[3...3]), let day = number(clock[0...0]),
      let hour = number(clock[1...1]), let minute = number(clock[2...2]), let second = number(clock[3...3])
    else { return nil }
    let offset =
      (date[0] & 0x20 != 0 ? "-" : "+") + two(Int(date[0] >> 1 & 15)) + (date[0] & 1 != 0 ? "30" : "00")
    let day8 = "\(two(year / 100))\(two(year % 100))-\(two(month))-\(two(day))"
    return CreationTime.parse("\(day8)T\(two(hour)):\(two(minute)):\(two(second))\(offset)")
  }

  /// Two digits in each byte.
  private static func number(_ bytes: ArraySlice<UInt8>) -> Int? {
    guard bytes.allSatisfy({ $0 >> 4 < 10 && $0 & 15 < 10 }) else { return nil }
    return bytes.reduce(0) { $0 * 100 + Int($1 >> 4) * 10 + Int($1 & 15) }
  }

  private static func two(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }

  /// Without emulation prevention bytes (ITU-T H.264, 7.4.1).
  private static func unescaped(_ bytes: ArraySlice<UInt8>) -> [UInt8] {
    var (kept, zeros): ([UInt8], Int) = ([], 0)
    for byte in bytes.prefix(1024) {
      if zeros >= 2, byte == 3 {
        zeros = 0
        continue
      }
      zeros = byte == 0 ? zeros + 1 : 0
      kept.append(byte)
    }
    return kept
  }
}
