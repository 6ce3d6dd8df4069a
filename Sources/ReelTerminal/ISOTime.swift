import FoundationEssentials

/// Times as ISO 8601 writes them in UTC (RFC 3339).
enum ISOTime {
  enum Precision {
    /// `2024-05-01T10:11:12.250Z`
    case milliseconds
    /// `2024-05-01T10:11:12Z`, with milliseconds only where there are any.
    case secondsOrMilliseconds
  }

  private static let whole = Date.ISO8601FormatStyle()
  private static let fractional = Date.ISO8601FormatStyle(includingFractionalSeconds: true)

  static func text(_ date: Date, _ precision: Precision) -> String {
    let milliseconds = (date.timeIntervalSince1970 * 1000).rounded()
    let rounded = Date(timeIntervalSince1970: milliseconds / 1000)
    if precision == .secondsOrMilliseconds, milliseconds.truncatingRemainder(dividingBy: 1000) == 0 {
      return whole.format(rounded)
    }
    // The style cuts digits off instead of rounding, and no binary fraction is a whole number of milliseconds.
    return fractional.format(rounded.addingTimeInterval(0.0005))
  }

  /// Nil when `text` is no such time.
  static func date(_ text: String) -> Date? {
    try? (text.contains(".") ? fractional : whole).parse(text)
  }

  /// `2024-05-01 10:11`, in UTC, for people.
  static func minute(_ date: Date) -> String {
    let text = whole.format(date)
    return text.prefix(10) + " " + text.dropFirst(11).prefix(5)
  }

  /// `2024-05-01 10:11:12 UTC`, for people.
  static func second(_ date: Date) -> String {
    let text = whole.format(date)
    return text.prefix(10) + " " + text.dropFirst(11).prefix(8) + " UTC"
  }
}
