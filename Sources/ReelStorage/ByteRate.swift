/// A rate as people write it: `10MB/s`, `512KiB/s`, `2.5 MB`, `800000`.
public struct ByteRate: Hashable, Sendable {
  /// At least 1.
  public let bytesPerSecond: Int64

  /// Reads a number, a unit and `/s`. `K`, `M`, `G` and `T` stand for thousands, with `B` or without; `Ki`, `Mi`,
  /// `Gi` and `Ti` for 1024s (IEC 80000-13). Upper and lower case are the same, but for `b`: bits are not bytes, so
  /// `10Mb/s` is nil, as is everything else that is not a rate of at least a byte a second.
  public init?(_ text: String) {
    var rest = text.trimmed
    if rest.lowercased().hasSuffix("/s") { rest = rest.dropLast(2).trimmed }
    let digits = rest.prefix { $0.isASCII && ($0.isNumber || $0 == ".") }
    let unit = rest.dropFirst(digits.count).trimmed
    guard let number = Double(digits), digits.first != ".", digits.last != ".", let factor = Self.factor(unit)
    else { return nil }
    let rate = (number * factor).rounded()
    guard rate >= 1, let bytes = Int64(exactly: rate) else { return nil }
    bytesPerSecond = bytes
  }

  private static func factor(_ unit: Substring) -> Double? {
    // What stands before the B; a small b is a bit.
    guard !unit.hasSuffix("b") else { return nil }
    let prefix = (unit.hasSuffix("B") ? unit.dropLast() : unit).lowercased()
    switch prefix {
    case "": return 1
    case "k": return 1e3
    case "m": return 1e6
    case "g": return 1e9
    case "t": return 1e12
    case "ki": return 1024
    case "mi": return 1_048_576
    case "gi": return 1_073_741_824
    case "ti": return 1_099_511_627_776
    default: return nil
    }
  }
}

extension StringProtocol {
  /// Without the spaces around it.
  fileprivate var trimmed: SubSequence {
    let start = firstIndex { $0 != " " } ?? endIndex
    let end = lastIndex { $0 != " " }.map { index(after: $0) } ?? start
    return self[start..<Swift.max(start, end)]
  }
}
