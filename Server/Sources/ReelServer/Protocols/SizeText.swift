import Reel

/// Sizes as users write them: `500MB`, `2 GiB`, `1048576`.
public enum SizeText {
  private static let units: [(name: String, bytes: Int64)] = [
    ("kb", 1_000), ("mb", 1_000_000), ("gb", 1_000_000_000), ("tb", 1_000_000_000_000),
    ("kib", 1 << 10), ("mib", 1 << 20), ("gib", 1 << 30), ("tib", 1 << 40), ("b", 1), ("", 1),
  ]

  /// The number of bytes, at least 1; nil when `text` is not a size.
  public static func bytes(_ text: some StringProtocol) -> Int64? {
    let digits = text.prefix { $0.isASCII && $0.isNumber }
    let unit = text.dropFirst(digits.count).drop { $0 == " " }.lowercased()
    guard let number = Int64(digits), number > 0, let factor = units.first(where: { $0.name == unit })
    else { return nil }
    let (bytes, isTooLarge) = number.multipliedReportingOverflow(by: factor.bytes)
    return isTooLarge ? nil : bytes
  }

  /// The size in the largest decimal unit that needs no fraction.
  static func text(_ bytes: Int64) -> String {
    let unit = units[..<4].last { bytes >= $0.bytes && bytes % $0.bytes == 0 }
    guard let unit else { return "\(bytes) bytes" }
    return "\(bytes / unit.bytes) \(unit.name == "kb" ? "kB" : unit.name.uppercased())"
  }
}

/// Lengths of time as users write them, also for `reel`: `90`, `30s`, `15m`, `1.5h`, `7d`, `8w`. A number alone is in
/// seconds.
public enum TimeText {
  private static let units: [Character: Double] = ["s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 604_800]

  /// Whole seconds, at least 1 and at most ten years; nil when `text` is not a time.
  public static func seconds(_ text: String) -> Int64? {
    let unit = text.last.flatMap { units[$0] }
    let number = unit == nil ? text[...] : text.dropLast()
    guard number.first?.isNumber == true, number.last?.isNumber == true,
      number.utf8.allSatisfy({
        $0 == UInt8(ascii: ".") || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0)
      }),
      let seconds = Double(number).map({ $0 * (unit ?? 1) }), (1...3_650 * 86_400).contains(seconds)
    else { return nil }
    return Int64(seconds)
  }
}
