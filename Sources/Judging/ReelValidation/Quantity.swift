import ReelCore

/// Parses numbers with units, as people write them. All functions return nil for what they can't parse.
package enum Quantity {
  static let durationPattern =
    #"^([0-9]+(\.[0-9]+)? ?(ms|s|m|min|h)? ?)+$|^([0-9]{1,4}:)?[0-9]{1,4}:[0-9]{2}(\.[0-9]+)?$"#

  /// Parses `60s`, `2m`, `1h30m`, `500ms`, `90`, `1:30`, `1:02:03.5`: seconds, at least 0 and below 10^9.
  static func seconds(_ text: String) -> Double? {
    let seconds = text.contains(":") ? clock(text) : summed(text)
    guard let seconds, seconds < 1e9 else { return nil }
    return seconds
  }

  /// Parses `100MB` (10^8), `1.5GiB`, `4000`: bytes, below 2^62.
  package static func bytes(_ text: String) -> Int64? {
    guard let (number, unit) = split(text) else { return nil }
    let stem = unit.hasSuffix("B") ? unit.dropLast() : unit[...]
    let scales: [Substring: Double] = [
      "": 1, "k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "Ki": 1024, "ki": 1024, "Mi": 1_048_576,
      "Gi": 1_073_741_824, "Ti": 1_099_511_627_776,
    ]
    return scales[stem].flatMap { whole(number * $0) }
  }

  /// Parses `8Mbps`, `800kb/s`, `5000000`: bits per second, below 2^62.
  static func bitRate(_ text: String) -> Int64? {
    guard let (number, unit) = split(text) else { return nil }
    var stem = unit
    for ending in ["bit/s", "bps", "b/s"] where stem.hasSuffix(ending) {
      stem.removeLast(ending.count)
      break
    }
    let scales = ["": 1.0, "k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9]
    return scales[stem].flatMap { whole(number * $0) }
  }

  /// Parses `30`, `29.97`, `30000/1001`: above 0.
  static func rate(_ text: String) -> Double? {
    let parts = text.split(separator: "/", omittingEmptySubsequences: false).map { number(String($0)) }
    switch parts.count {
    case 1: return parts[0].flatMap { $0 > 0 ? $0 : nil }
    case 2:
      guard let top = parts[0], let bottom = parts[1], top > 0, bottom > 0 else { return nil }
      return top / bottom
    default: return nil
    }
  }

  /// Parses an integer, at least 0 and below 10^9.
  static func count(_ text: String) -> Int? {
    guard isDigits(text), let number = Int(text), number < 1_000_000_000 else { return nil }
    return number
  }

  /// Parses a word of letters, digits and `_:.-`, at most 40 characters.
  static func name(_ text: String) -> String? {
    let allowed = text.utf8.allSatisfy { $0.isASCIIAlphanumeric || "_:.-".utf8.contains($0) }
    return allowed && (1...40).contains(text.utf8.count) ? text : nil
  }

  /// Parses `1 %`, `0.1s`, `0.05`.
  static func tolerance(_ text: String) -> Tolerance? {
    if text.hasSuffix("%") {
      return number(String(text.dropLast().trimming { $0 == " " })).map { .relative($0 / 100) }
    }
    if let plain = number(text) { return .absolute(plain) }
    return seconds(text).map { .absolute($0) }
  }

  // MARK: Helpers

  /// Parses a decimal number without sign or exponent.
  static func number(_ text: String) -> Double? {
    let parts = text.split(separator: ".", omittingEmptySubsequences: false)
    guard (1...2).contains(parts.count), parts.allSatisfy({ isDigits(String($0)) }), text.utf8.count <= 24
    else { return nil }
    return Double(text)
  }

  private static func clock(_ text: String) -> Double? {
    let parts = text.split(separator: ":", omittingEmptySubsequences: false).map(String.init)
    guard (2...3).contains(parts.count), let last = parts.last, let seconds = number(last), seconds < 60
    else {
      return nil
    }
    return parts.dropLast().reduce(Optional(0.0)) { sum, part in
      guard let sum, let number = count(part) else { return nil }
      return sum * 60 + Double(number)
    }.map { $0 * 60 + seconds }
  }

  private static func summed(_ text: String) -> Double? {
    let scales = ["ms": 0.001, "s": 1, "m": 60, "min": 60, "h": 3600.0]
    var rest = text[...]
    var sum = 0.0
    if let plain = number(text) { return plain }
    while !rest.isEmpty {
      let digits = rest.prefix { $0.isASCII && ($0.isNumber || $0 == ".") }
      rest = rest.dropFirst(digits.count).drop { $0 == " " }
      let unit = rest.prefix { $0.isASCII && $0.isLetter }
      rest = rest.dropFirst(unit.count).drop { $0 == " " }
      guard let value = number(String(digits)), let scale = scales[String(unit)] else { return nil }
      sum += value * scale
    }
    return text.isEmpty ? nil : sum
  }

  private static func split(_ text: String) -> (Double, String)? {
    let digits = text.prefix { $0.isASCII && ($0.isNumber || $0 == ".") }
    guard let value = number(String(digits)) else { return nil }
    return (value, String(text.dropFirst(digits.count).trimming { $0 == " " }))
  }

  private static func whole(_ value: Double) -> Int64? {
    value < 4e18 ? Int64(value.rounded()) : nil
  }

  private static func isDigits(_ text: String) -> Bool {
    !text.isEmpty && text.utf8.allSatisfy(\.isASCIIDigit)
  }
}
