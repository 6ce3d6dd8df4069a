/// Numbers on which careless arithmetic traps. A test that gives one to a decoder expects nothing of the result: a trap
/// ends the test run.
package enum Extremes {
  /// The limits of each integer type, their neighbors, and where a `Double` ceases to represent every integer.
  package static let integers: [Int64] = {
    let powers: [Int64] = [7, 8, 15, 16, 31, 32, 52, 53, 62].flatMap { [1 << $0, -(1 << $0)] }
    let near = (powers + [0]).flatMap { [$0 - 1, $0, $0 + 1] }
    return Array(Set(near + [.min, .min + 1, .max - 1, .max])).sorted()
  }()

  package static let doubles: [Double] =
    integers.map(Double.init) + [
      .nan, .infinity, -.infinity, .greatestFiniteMagnitude, -.greatestFiniteMagnitude,
      .leastNonzeroMagnitude,
      0x1p63, -0x1p63, 0x1p64, 1.7e20, 1e30, -1e30, 1e300, 0.5, -0.0,
    ]

  /// Numbers, and what resembles them, as they may stand in a header, a document, a file or a variable.
  package static let texts: [String] =
    integers.map(String.init) + [
      "9223372036854775808", "-9223372036854775809", "18446744073709551614", "18446744073709551615",
      "18446744073709551616", "340282366920938463463374607431768211456", String(repeating: "9", count: 4000),
      "-" + String(repeating: "9", count: 400), "1e18", "1e19", "1e308", "1e400", "-1e400",
      "0x7fffffffffffffff",
      "NaN", "nan", "inf", "-inf", "Infinity", "", " ", "+", "-", "+5", "-0", "00", "5 ", " 5", "5.5", ".",
      "1,000",
      "\u{663}", "\u{FF15}", "true", "null", "5\u{0}", "99999",
    ]

  /// Those of ``texts`` that are JSON numbers.
  package static let jsonNumbers = texts.filter { text in
    let digits = text.hasPrefix("-") ? text.dropFirst() : text[...]
    guard let first = digits.utf8.first, (0x30...0x39).contains(first), first != 0x30 || digits == "0" else {
      return false
    }
    return digits.utf8.allSatisfy { (0x30...0x39).contains($0) || $0 == 0x65 || $0 == 0x2E }
  }

  /// Times as protocols and documents write them, near the limits of what is valid and beyond.
  package static let times: [String] = [
    "0000-00-00T00:00:00Z", "0000-01-01T00:00:00Z", "0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z",
    "9999-12-31T23:59:60.999999999Z", "10000-01-01T00:00:00Z", "99999999999999999999-01-01T00:00:00Z",
    "-9999-01-01T00:00:00Z", "2026-02-30T00:00:00Z", "2026-13-45T99:99:99Z", "2026-01-01T00:00:00+99:99",
    "2026-01-01T00:00:00.9999999999999999999999Z", "1970-01-01T00:00:00Z", "2038-01-19T03:14:08Z",
    "2262-04-11T23:47:17Z", "292277026596-12-04T15:30:08Z", "Thu, 01 Jan 1970 00:00:00 GMT",
    "Sun, 31 Dec 9999 23:59:60 GMT", "Sat, 01 Jan 0000 00:00:00 GMT",
    "Fri, 99 Feb 99999999999999999999 99:99:99 GMT",
    "Mon, 00 Jan -001 -1:-1:-1 GMT",
  ]

  /// `json` with each of its numbers, one after the other, replaced by each of ``jsonNumbers``.
  package static func variants(ofJSON json: String) -> [String] {
    let text = Array(json)
    var variants: [String] = []
    var (place, isInText) = (0, false)
    while place < text.count {
      defer { place += 1 }
      if text[place] == "\\", isInText { place += 1 } else if text[place] == "\"" { isInText.toggle() }
      guard place < text.count, !isInText, text[place] == "-" || text[place].isASCII && text[place].isNumber
      else {
        continue
      }
      let end = text[place...].firstIndex { !"-+.0123456789eE".contains($0) } ?? text.endIndex
      variants += jsonNumbers.map { String(text[..<place]) + $0 + String(text[end...]) }
      place = end - 1
    }
    return variants
  }
}
