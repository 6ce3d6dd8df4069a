/// Parses a duration as people write it, in the same form everywhere: `90`, `30s`, `5m`, `1.5h`, `7d`, `8w`. A
/// number without a unit is in seconds.
package enum TimeText {
  /// For messages: the required form, without the limits.
  package static let form = "a time like 90, 30s, 5m, 1h or 7d"

  /// Nil if `text` is not a duration.
  package static func seconds(_ text: String) -> Double? {
    let units: [Character: Double] = ["s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800]
    let unit = text.last.flatMap { units[$0] }
    let number = unit == nil ? text[...] : text.dropLast()
    let parts = number.split(separator: ".", omittingEmptySubsequences: false)
    guard parts.count <= 2, parts.allSatisfy({ !$0.isEmpty && $0.utf8.allSatisfy(isDigit) }),
      let count = Double(number), count <= 1e10
    else { return nil }
    return count * (unit ?? 1)
  }

  private static func isDigit(_ byte: UInt8) -> Bool {
    (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
  }
}
