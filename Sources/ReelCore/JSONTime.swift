import FoundationEssentials

/// Times as ISO 8601 writes them in UTC (RFC 3339).
package enum ISOTime {
  package enum Precision: Sendable {
    /// `2024-05-01T10:11:12.250Z`
    case milliseconds
    /// `2024-05-01T10:11:12Z`, with milliseconds only where there are any.
    case secondsOrMilliseconds
  }

  /// Seconds since 1970, from the year 1 to the year 9999: what ISO 8601 writes, and everybody reads again.
  package static let range = -62_135_596_800.0..<253_402_300_800.0

  private static let whole = Date.ISO8601FormatStyle()
  private static let fractional = Date.ISO8601FormatStyle(includingFractionalSeconds: true)

  package static func text(_ date: Date, _ precision: Precision) -> String {
    let milliseconds = (date.timeIntervalSince1970 * 1000).rounded()
    let rounded = Date(timeIntervalSince1970: milliseconds / 1000)
    if precision == .secondsOrMilliseconds, milliseconds.truncatingRemainder(dividingBy: 1000) == 0 {
      return whole.format(rounded)
    }
    // The style cuts digits off instead of rounding, and no binary fraction is a whole number of milliseconds.
    return fractional.format(rounded.addingTimeInterval(0.0005))
  }

  /// Nil when `text` is no such time.
  package static func date(_ text: String) -> Date? {
    try? (text.contains(".") ? fractional : whole).parse(text)
  }

  /// `2024-05-01 10:11`, in UTC, for people.
  package static func minute(_ date: Date) -> String {
    let text = whole.format(date)
    return text.prefix(10) + " " + text.dropFirst(11).prefix(5)
  }

  /// `2024-05-01 10:11:12 UTC`, for people.
  package static func second(_ date: Date) -> String {
    let text = whole.format(date)
    return text.prefix(10) + " " + text.dropFirst(11).prefix(8) + " UTC"
  }
}

// Times are strings in Reel's JSON, whatever encoder or decoder a program uses: these are what synthesized `Codable`
// takes for a `Date` in this module.

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

/// A time as it stands in JSON: a string in UTC, with milliseconds (`2024-05-01T10:11:12.000Z`).
package struct JSONTime: Hashable, Sendable, Codable {
  /// What else an encoder of Reel's own may write.
  package enum Form: Sendable {
    case text(ISOTime.Precision)
    /// The seconds since 2001, exactly: for the catalog.
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
  /// An encoder that writes times in another form.
  package convenience init(times: JSONTime.Form) {
    self.init()
    if let key = JSONTime.formKey { userInfo[key] = times }
  }
}
