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
