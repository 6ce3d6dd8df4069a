/// A ratio of two whole numbers, kept as the file states it (30000/1001 is not 29.97).
public struct Rational: Hashable, Sendable {
  /// The numerator, above 0.
  public let numerator: Int
  /// The denominator, above 0.
  public let denominator: Int

  /// Creates a ratio; nil if it is not a positive number, as in a file that states 0/0.
  public init?(_ numerator: Int, _ denominator: Int) {
    guard numerator > 0, denominator > 0 else { return nil }
    self.numerator = numerator
    self.denominator = denominator
  }

  /// The nearest floating-point value.
  public var value: Double { Double(numerator) / Double(denominator) }

  init?(text: String, separator: Character) {
    let parts = text.split(separator: separator, omittingEmptySubsequences: false)
    guard parts.count == 2, let numerator = Int(parts[0]), let denominator = Int(parts[1]) else { return nil }
    self.init(numerator, denominator)
  }
}

/// A number of frames per second; `30000/1001` in JSON.
public struct FrameRate: Hashable, Sendable, Codable, CustomStringConvertible {
  /// Frames per second, as a ratio.
  public let ratio: Rational

  /// Creates a rate; the ratio's type ensures that it is above 0.
  public init(_ ratio: Rational) { self.ratio = ratio }

  /// Frames per second, as a floating-point value.
  public var value: Double { ratio.value }
  /// `30000/1001`, as stated in the file, not reduced; 25 frames per second are `25/1`.
  public var description: String { "\(ratio.numerator)/\(ratio.denominator)" }

  /// Reads a string like `30000/1001`.
  /// - Throws: `DecodingError` if it is not a positive ratio.
  public init(from decoder: any Decoder) throws {
    ratio = try Rational.decode(from: decoder, separator: "/")
  }

  /// Writes ``description``.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(description)
  }
}

/// The width of a pixel relative to its height; `1:1` in JSON. An unknown ratio is stored as nil, and displayed as
/// square.
public struct SampleAspectRatio: Hashable, Sendable, Codable, CustomStringConvertible {
  /// The width relative to the height.
  public let ratio: Rational

  /// Creates an aspect ratio; the ratio's type ensures that it is above 0.
  public init(_ ratio: Rational) { self.ratio = ratio }

  /// Whether a pixel is as wide as it is high, as it also is with `2:2`.
  public var isSquare: Bool { ratio.numerator == ratio.denominator }
  /// `4:3`, as stated in the file, not reduced.
  public var description: String { "\(ratio.numerator):\(ratio.denominator)" }

  /// Reads a string like `4:3`.
  /// - Throws: `DecodingError` if it is not a positive ratio.
  public init(from decoder: any Decoder) throws {
    ratio = try Rational.decode(from: decoder, separator: ":")
  }

  /// Writes ``description``.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(description)
  }
}

extension Rational {
  fileprivate static func decode(from decoder: any Decoder, separator: Character) throws -> Rational {
    let container = try decoder.singleValueContainer()
    guard let ratio = Rational(text: try container.decode(String.self), separator: separator) else {
      throw DecodingError.dataCorruptedError(
        in: container, debugDescription: "not a positive ratio like 30\(separator)1")
    }
    return ratio
  }
}

// External input may contain any number. Conversions and arithmetic yield the nearest representable value, and
// never trap.

extension FixedWidthInteger {
  /// The sum, or the nearest representable number: a sparse file may claim 2^63-1 bytes.
  package func addingClamped(_ other: Self) -> Self {
    let (sum, overflow) = addingReportingOverflow(other)
    return overflow ? (other < 0 ? .min : .max) : sum
  }

  /// The product, or the nearest representable number.
  package func multipliedClamped(by other: Self) -> Self {
    let (product, overflow) = multipliedReportingOverflow(by: other)
    return overflow ? ((self < 0) == (other < 0) ? .max : .min) : product
  }
}

extension Int64 {
  /// The nearest number, rounded towards zero; 0 for NaN.
  package init(clamping value: Double) {
    if value.isNaN {
      self = 0
    } else {
      // 2^63 itself is the smallest value that is too large.
      self = value >= 0x1p63 ? .max : value <= -0x1p63 ? .min : Int64(value)
    }
  }
}

extension Duration {
  /// The nearest duration that is safe to convert to any unit (30,000 years); zero for NaN.
  package static func seconds(clamping seconds: Double) -> Duration {
    .seconds(seconds.isNaN ? 0 : min(max(seconds, -1e12), 1e12))
  }
}

/// Formats numbers in the same way on every machine.
package enum Decimals {
  /// Formats a number with up to `places` (0 ... 6) decimals and without trailing zeros: `12.5`, `30`.
  package static func text(_ value: Double, places: Int = 3) -> String {
    guard value.isFinite, abs(value) < 1e12 else { return "out of range" }
    let scale = (0..<places).reduce(1) { scale, _ in scale * 10 }
    let scaled = Int((value * Double(scale)).rounded())
    let (whole, rest) = abs(scaled).quotientAndRemainder(dividingBy: scale)
    var fraction = String(String(scale + rest).dropFirst())
    while fraction.last == "0" { fraction.removeLast() }
    return (scaled < 0 ? "-" : "") + "\(whole)" + (fraction.isEmpty ? "" : "." + fraction)
  }

  /// Formats a number of bytes in decimal units: `100 MB`, `4 kB`.
  package static func bytes(_ count: Int64) -> String { scaled(count, "B", ["", "k", "M", "G", "T"]) }

  /// Formats a bit rate: `8 Mb/s`.
  package static func bitRate(_ count: Int64) -> String { scaled(count, "b/s", ["", "k", "M", "G", "T"]) }

  private static func scaled(_ count: Int64, _ unit: String, _ prefixes: [String]) -> String {
    var value = Double(count)
    var left = prefixes[...]
    while abs(value) >= 1000, left.count > 1 {
      value /= 1000
      left.removeFirst()
    }
    return text(value) + " " + (left.first ?? "") + unit
  }
}
