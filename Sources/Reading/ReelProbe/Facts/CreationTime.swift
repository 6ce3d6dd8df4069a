import FoundationEssentials

/// Parses the recording times in FFmpeg's tags: ISO 8601, such as `2024-05-01T10:11:12.000000Z` or Apple's
/// `2015-10-10T12:10:10+0200`.
enum CreationTime {
  /// Returns nil unless `text` is a full date and time with its offset from UTC, on a day that exists, in 1971 or
  /// later: cameras without a clock write the beginning of some epoch.
  static func parse(_ text: String) -> Date? {
    let bytes = Array(text.utf8)
    guard bytes.count >= 20, bytes[4] == dash, bytes[7] == dash, bytes[10] == letterT || bytes[10] == space,
      bytes[13] == colon, bytes[16] == colon,
      let year = number(bytes[0..<4]), let month = number(bytes[5..<7]), let day = number(bytes[8..<10]),
      let hour = number(bytes[11..<13]), let minute = number(bytes[14..<16]),
      let second = number(bytes[17..<19]), let offset = offset(bytes[19...]),
      (1971...2200).contains(year), (1...12).contains(month),
      (1...days(in: month, of: year)).contains(day),
      hour < 24, minute < 60, second <= 60
    else { return nil }
    let days = daysSince1970(year: year, month: month, day: day)
    return plausible(
      Date(timeIntervalSince1970: Double(days * 86_400 + hour * 3600 + minute * 60 + second - offset)))
  }

  /// Returns nil before 1971, and for the exact second in which an epoch begins or a counter of seconds is exhausted.
  /// Devices without a clock write these.
  static func plausible(_ date: Date) -> Date? {
    let seconds = date.timeIntervalSince1970
    return seconds >= 31_536_000 && seconds < 7_258_118_400 && !bounds.contains(seconds.rounded(.down))
      ? date : nil
  }

  /// Beginnings of epochs: 1980 (DOS), its sixth day (GPS), 2001 (Apple), 2036 (NTP). Last seconds: of 31 and 32 bits
  /// counted from 1904 and from 1970.
  private static let bounds: Set<Double> = [
    315_532_800, 315_964_800, 978_307_200, 2_085_978_496, 64_638_847, 2_212_122_495, 2_147_483_647,
    4_294_967_295,
  ]

  private static let dash = UInt8(ascii: "-")
  private static let colon = UInt8(ascii: ":")
  private static let letterT = UInt8(ascii: "T")
  private static let space = UInt8(ascii: " ")

  private static func number(_ digits: ArraySlice<UInt8>) -> Int? {
    guard digits.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }) else { return nil }
    return digits.reduce(0) { $0 * 10 + Int($1 - UInt8(ascii: "0")) }
  }

  /// Seconds east of UTC, from `Z`, `+0200` or `+02:00`, after an optional fraction of a second.
  private static func offset(_ rest: ArraySlice<UInt8>) -> Int? {
    var rest = rest
    if rest.first == UInt8(ascii: ".") {
      rest = rest.dropFirst().drop { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
    }
    if rest.elementsEqual([UInt8(ascii: "Z")]) { return 0 }
    guard let sign = rest.first, sign == UInt8(ascii: "+") || sign == dash else { return nil }
    let digits = rest.dropFirst().filter { $0 != colon }
    guard digits.count == 4, let hours = number(digits[0..<2]), let minutes = number(digits[2..<4]),
      hours <= 14, minutes < 60
    else { return nil }
    return (hours * 3600 + minutes * 60) * (sign == dash ? -1 : 1)
  }

  private static func days(in month: Int, of year: Int) -> Int {
    let isLeap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
    return switch month {
    case 2: isLeap ? 29 : 28
    case 4, 6, 9, 11: 30
    default: 31
    }
  }

  /// Days from 1970-01-01 in the Gregorian calendar; years are counted from March, so that the leap day is last.
  private static func daysSince1970(year: Int, month: Int, day: Int) -> Int {
    let shifted = month <= 2 ? year - 1 : year
    let dayOfYear = (153 * ((month + 9) % 12) + 2) / 5 + day - 1
    return shifted * 365 + shifted / 4 - shifted / 100 + shifted / 400 + dayOfYear - 719_468
  }
}
