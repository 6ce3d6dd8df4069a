/// A ratio of two whole numbers, kept as the file states it (30000/1001 is not 29.97).
public struct Rational: Hashable, Sendable {
  /// Above 0.
  public let numerator: Int
  /// Above 0.
  public let denominator: Int

  /// Nil when the ratio is not a positive number: a file that says 0/0 says nothing.
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

/// Frames in a second; `30000/1001` in JSON.
public struct FrameRate: Hashable, Sendable, Codable, CustomStringConvertible {
  /// Frames in a second, as a ratio.
  public let ratio: Rational

  /// A rate; the ratio is above 0 by its type.
  public init(_ ratio: Rational) { self.ratio = ratio }

  /// Frames in a second as a floating-point value.
  public var value: Double { ratio.value }
  /// `30000/1001`, as the file has it, not reduced; a whole number of frames is `25/1`.
  public var description: String { "\(ratio.numerator)/\(ratio.denominator)" }

  /// Reads a string like `30000/1001`.
  /// - Throws: `DecodingError` when it is not a positive ratio.
  public init(from decoder: any Decoder) throws {
    ratio = try Rational.decode(from: decoder, separator: "/")
  }

  /// Writes ``description``.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(description)
  }
}

/// The width of a pixel against its height; `1:1` in JSON. Unknown is nil where it is held, and shown as
/// square.
public struct SampleAspectRatio: Hashable, Sendable, Codable, CustomStringConvertible {
  /// Width against height.
  public let ratio: Rational

  /// An aspect ratio; it is above 0 by its type.
  public init(_ ratio: Rational) { self.ratio = ratio }

  /// Whether a pixel is as wide as high. `2:2` is, too.
  public var isSquare: Bool { ratio.numerator == ratio.denominator }
  /// `4:3`, as the file has it, not reduced.
  public var description: String { "\(ratio.numerator):\(ratio.denominator)" }

  /// Reads a string like `4:3`.
  /// - Throws: `DecodingError` when it is not a positive ratio.
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

// What comes from outside may be any number: what is made of it is the nearest that there is, and never a trap.

extension FixedWidthInteger {
  /// The sum, or the nearest number where there is none: a sparse file may claim 2^63-1 bytes.
  package func addingClamped(_ other: Self) -> Self {
    let (sum, overflow) = addingReportingOverflow(other)
    return overflow ? (other < 0 ? .min : .max) : sum
  }

  /// The product, or the nearest number where there is none.
  package func multipliedClamped(by other: Self) -> Self {
    let (product, overflow) = multipliedReportingOverflow(by: other)
    return overflow ? ((self < 0) == (other < 0) ? .max : .min) : product
  }
}

extension Int64 {
  /// The nearest number, rounded towards zero; 0 for what is no number.
  package init(clamping value: Double) {
    if value.isNaN {
      self = 0
    } else {
      // 2^63 itself is the first that is too large.
      self = value >= 0x1p63 ? .max : value <= -0x1p63 ? .min : Int64(value)
    }
  }
}

extension Duration {
  /// The nearest length that can be counted with in any unit (30,000 years); zero for what is no number.
  package static func seconds(clamping seconds: Double) -> Duration {
    .seconds(seconds.isNaN ? 0 : min(max(seconds, -1e12), 1e12))
  }
}

/// Numbers as text, the same on every machine.
package enum Decimals {
  /// Up to `places` (0 ... 6) decimals, no trailing zeros: `12.5`, `30`.
  package static func text(_ value: Double, places: Int = 3) -> String {
    guard value.isFinite, abs(value) < 1e12 else { return "out of range" }
    let scale = (0..<places).reduce(1) { scale, _ in scale * 10 }
    let scaled = Int((value * Double(scale)).rounded())
    let (whole, rest) = abs(scaled).quotientAndRemainder(dividingBy: scale)
    var fraction = String(String(scale + rest).dropFirst())
    while fraction.last == "0" { fraction.removeLast() }
    return (scaled < 0 ? "-" : "") + "\(whole)" + (fraction.isEmpty ? "" : "." + fraction)
  }

  /// `100 MB`, `4000 B`: decimal units, exact where it can be.
  package static func bytes(_ count: Int64) -> String { scaled(count, "B", ["", "k", "M", "G", "T"]) }

  /// `8 Mb/s`.
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
