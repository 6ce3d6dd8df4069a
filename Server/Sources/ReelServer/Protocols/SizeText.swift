import Reel

/// Sizes as people write them: `500MB`, `2 GiB`, `1048576`.
public enum SizeText {
  private static let units: [(name: String, bytes: Int64)] = [
    ("kb", 1_000), ("mb", 1_000_000), ("gb", 1_000_000_000), ("tb", 1_000_000_000_000),
    ("kib", 1 << 10), ("mib", 1 << 20), ("gib", 1 << 30), ("tib", 1 << 40), ("b", 1), ("", 1),
  ]

  /// Bytes, at least 1; nil when `text` is no size.
  public static func bytes(_ text: some StringProtocol) -> Int64? {
    let digits = text.prefix { $0.isASCII && $0.isNumber }
    let unit = text.dropFirst(digits.count).drop { $0 == " " }.lowercased()
    guard let number = Int64(digits), number > 0, let factor = units.first(where: { $0.name == unit })
    else { return nil }
    let (bytes, isTooLarge) = number.multipliedReportingOverflow(by: factor.bytes)
    return isTooLarge ? nil : bytes
  }

  /// In the largest decimal unit that needs no fraction.
  static func text(_ bytes: Int64) -> String {
    let unit = units[..<4].last { bytes >= $0.bytes && bytes % $0.bytes == 0 }
    guard let unit else { return "\(bytes) bytes" }
    return "\(bytes / unit.bytes) \(unit.name == "kb" ? "kB" : unit.name.uppercased())"
  }
}

/// Times as people write them: `90s`, `15m`, `24h`, `7d`.
public enum TimeText {
  private static let units: [Character: Int64] = ["s": 1, "m": 60, "h": 3_600, "d": 86_400]

  /// Seconds, at least 1 and at most ten years; nil when `text` is no time.
  public static func seconds(_ text: String) -> Int64? {
    guard let unit = text.last.flatMap({ units[$0] }), let number = Int64(text.dropLast()), number > 0
    else { return nil }
    let (seconds, isTooLarge) = number.multipliedReportingOverflow(by: unit)
    return isTooLarge || seconds > 3_650 * 86_400 ? nil : seconds
  }
}
