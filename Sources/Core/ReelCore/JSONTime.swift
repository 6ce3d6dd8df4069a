import FoundationEssentials

/// Times in UTC as in ISO 8601 (RFC 3339).
package enum ISOTime {
  package enum Precision: Sendable {
    /// `2024-05-01T10:11:12.250Z`
    case milliseconds
    /// `2024-05-01T10:11:12Z`, with milliseconds only if there are any.
    case secondsOrMilliseconds
  }

  /// Seconds since 1970, from the year 1 to the year 9999: the times that ISO 8601 can express and every reader
  /// accepts.
  package static let range = -62_135_596_800.0..<253_402_300_800.0

  private static let whole = Date.ISO8601FormatStyle()
  private static let fractional = Date.ISO8601FormatStyle(includingFractionalSeconds: true)

  /// Formats `date`, rounded to milliseconds; a time outside ``range`` becomes the nearest one within.
  package static func text(_ date: Date, _ precision: Precision) -> String {
    let (seconds, milliseconds) = parts((date.timeIntervalSince1970 * 1000).rounded())
    let text = day(seconds) + "T" + time(seconds)
    return text + (precision == .milliseconds || milliseconds > 0 ? "." + padded(milliseconds, 3) : "") + "Z"
  }

  /// Parses a time; nil if `text` is not one, or is outside ``range``.
  package static func date(_ text: String) -> Date? {
    guard let date = try? (text.contains(".") ? fractional : whole).parse(text),
      range.contains(date.timeIntervalSince1970)
    else { return nil }
    return date
  }

  /// Parses a time, or a day, which stands for its beginning. Nil for a day or time that does not exist, where the
  /// format style would return a different one: 2 March for 30 February, or some time on the next day for 25:70.
  package static func dayOrTime(_ text: String) -> Date? {
    let clock = zip(text.dropFirst(11).prefix(8).split(separator: ":"), [23, 59, 60])
    guard let date = date(text) ?? date(text + "T00:00:00Z"),
      let midnight = Self.date(text.prefix(10) + "T00:00:00Z"),
      Self.text(midnight, .secondsOrMilliseconds).prefix(10) == text.prefix(10),
      clock.allSatisfy({ part, most in Int(part).map { $0 <= most } ?? false })
    else { return nil }
    return date
  }

  /// `2024-05-01 10:11`, in UTC, for people.
  package static func minute(_ date: Date) -> String {
    let (seconds, _) = parts(date.timeIntervalSince1970 * 1000)
    return day(seconds) + " " + time(seconds).prefix(5)
  }

  /// `2024-05-01 10:11:12 UTC`, for people.
  package static func second(_ date: Date) -> String {
    let (seconds, _) = parts(date.timeIntervalSince1970 * 1000)
    return day(seconds) + " " + time(seconds) + " UTC"
  }

  // Written by hand because a worker formats times, too. The format style creates a calendar, which looks up the
  // system's time zone in /etc, and a confined worker that does so is killed.

  /// The seconds since 1970, and the milliseconds after them.
  private static func parts(_ milliseconds: Double) -> (seconds: Int64, milliseconds: Int64) {
    let least = Int64(range.lowerBound) * 1000
    let most = Int64(range.upperBound) * 1000 - 1
    let whole = min(max(Int64(clamping: milliseconds.rounded(.down)), least), most)
    let rest = (whole % 1000 + 1000) % 1000
    return ((whole - rest) / 1000, rest)
  }

  /// The date in the Gregorian calendar, or before 15 October 1582 in the Julian, as Foundation parses it. Computed
  /// from the first of March of the year 0, so that a leap day is the last day of its year.
  private static func day(_ seconds: Int64) -> String {
    let days = (seconds - secondOfDay(seconds)) / 86_400 + 719_468
    var year: Int64
    let dayOfYear: Int64
    if days < 578_041 {
      year = (4 * (days + 2) + 3) / 1461
      dayOfYear = days + 2 - 1461 * year / 4
    } else {
      let (era, day) = (days / 146_097, days % 146_097)
      year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365
      dayOfYear = day - (365 * year + year / 4 - year / 100)
      year += era * 400
    }
    let month = (5 * dayOfYear + 2) / 153
    if month >= 10 { year += 1 }
    return padded(year, 4) + "-" + padded(month < 10 ? month + 3 : month - 9, 2) + "-"
      + padded(dayOfYear - (153 * month + 2) / 5 + 1, 2)
  }

  private static func time(_ seconds: Int64) -> String {
    let second = secondOfDay(seconds)
    return padded(second / 3600, 2) + ":" + padded(second / 60 % 60, 2) + ":" + padded(second % 60, 2)
  }

  private static func secondOfDay(_ seconds: Int64) -> Int64 { (seconds % 86_400 + 86_400) % 86_400 }

  private static func padded(_ number: Int64, _ width: Int) -> String {
    let digits = String(number)
    return String(repeating: "0", count: max(0, width - digits.count)) + digits
  }
}

// Times are strings in Reel's JSON, whatever encoder or decoder a program uses. Synthesized `Codable` uses these
// methods for a `Date` in this module.

extension KeyedEncodingContainer {
  mutating func encode(_ date: Date, forKey key: Key) throws {
    try encode(JSONTime(date), forKey: key)
  }

  mutating func encode(_ date: ExplicitNull<Date>, forKey key: Key) throws {
    try encode(ExplicitNull(wrappedValue: date.wrappedValue.map(JSONTime.init)), forKey: key)
  }
}

extension KeyedDecodingContainer {
  func decode(_ type: Date.Type, forKey key: Key) throws -> Date {
    try decode(JSONTime.self, forKey: key).date
  }

  func decode(_ type: ExplicitNull<Date>.Type, forKey key: Key) throws -> ExplicitNull<Date> {
    ExplicitNull(wrappedValue: try decodeIfPresent(JSONTime.self, forKey: key)?.date)
  }
}

/// A time as it appears in JSON: a string in UTC, with milliseconds (`2024-05-01T10:11:12.000Z`).
package struct JSONTime: Hashable, Sendable, Codable {
  /// The form in which Reel's own encoders may write it instead.
  package enum Form: Sendable {
    case text(ISOTime.Precision)
    /// The exact number of seconds since 2001, for the catalog.
    case number
  }

  package let date: Date

  package init(_ date: Date) { self.date = date }

  fileprivate static let formKey = CodingUserInfoKey(rawValue: "reel.times")

  package func encode(to encoder: any Encoder) throws {
    let form = Self.formKey.flatMap { encoder.userInfo[$0] as? Form }
    var container = encoder.singleValueContainer()
    switch form ?? .text(.milliseconds) {
    case .text(let precision): try container.encode(ISOTime.text(date, precision))
    case .number: try container.encode(date.timeIntervalSinceReferenceDate)
    }
  }

  package init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    if let seconds = try? container.decode(Double.self) {
      date = Date(timeIntervalSinceReferenceDate: seconds)
      guard ISOTime.range.contains(date.timeIntervalSince1970) else {
        throw DecodingError.dataCorruptedError(
          in: container, debugDescription: "not a time between the years 1 and 9999")
      }
      return
    }
    guard let date = ISOTime.date(try container.decode(String.self)) else {
      throw DecodingError.dataCorruptedError(
        in: container, debugDescription: "not a time like 2024-05-01T10:11:12Z")
    }
    self.date = date
  }
}

extension JSONEncoder {
  /// Creates an encoder that writes times in another form.
  package convenience init(times: JSONTime.Form) {
    self.init()
    if let key = JSONTime.formKey { userInfo[key] = times }
  }
}
