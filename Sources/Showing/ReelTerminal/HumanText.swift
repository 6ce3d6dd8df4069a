import FoundationEssentials
import ReelCore

/// Formats numbers for people, the same in every locale: a dot before decimals, no separators between thousands.
package enum HumanNumber {
  /// `0 B`, `999 B`, `1.2 kB`, `84.2 MB`, `345 MB`: decimal units (IEC 80000-13: 1 kB is 1000 B).
  package static func bytes(_ count: Int64) -> String {
    scaled(Double(count), unit: "B")
  }

  /// `84.2 MB/s`.
  /// - Parameter bytesPerSecond: at least 0 and finite; otherwise the result is "unknown".
  package static func rate(_ bytesPerSecond: Double) -> String {
    scaled(bytesPerSecond, unit: "B/s")
  }

  /// `4.5 Mb/s`.
  package static func bitRate(_ bitsPerSecond: Int64) -> String {
    scaled(Double(bitsPerSecond), unit: "b/s")
  }

  /// `6 ms`, `12.5 s`, `1:02.3`, `1:02:03.4`.
  /// - Parameter seconds: at least 0 and below 10^12; otherwise the result is "unknown".
  package static func duration(_ seconds: Double) -> String {
    guard isUsable(seconds) else { return unknown }
    let tenths = Int((seconds * 10).rounded())
    // A short duration must not appear as zero.
    if tenths == 0, seconds > 0 { return "\(max(1, Int((seconds * 1000).rounded()))) ms" }
    guard tenths >= 600 else { return "\(tenths / 10).\(tenths % 10) s" }
    return "\(clock(Double(tenths / 10))).\(tenths % 10)"
  }

  /// `0:52`, `1:02:03`.
  /// - Parameter seconds: at least 0 and below 10^12; otherwise the result is "unknown".
  package static func clock(_ seconds: Double) -> String {
    guard isUsable(seconds) else { return unknown }
    let whole = Int(seconds)
    let minutes = whole / 60 % 60
    guard whole >= 3600 else { return "\(minutes):\(twoDigits(whole % 60))" }
    return "\(whole / 3600):\(twoDigits(minutes)):\(twoDigits(whole % 60))"
  }

  /// A duration as people write it: `60` is `1m`, `90` is `90s`.
  package static func time(_ seconds: Double) -> String {
    let units: [(seconds: Double, name: String)] = [(86_400, "d"), (3600, "h"), (60, "m")]
    let unit = units.first {
      seconds >= $0.seconds && seconds.truncatingRemainder(dividingBy: $0.seconds) == 0
    }
    return decimal(seconds / (unit?.seconds ?? 1), places: 3) + (unit?.name ?? "s")
  }

  /// `1 file`, `2 files`.
  package static func count(_ number: Int, _ singular: String, _ plural: String) -> String {
    "\(number) \(number == 1 ? singular : plural)"
  }

  /// `45%`, rounded down, so that 100% means all; nil without a total.
  package static func percent(_ part: Int64, of total: Int64) -> String? {
    guard total > 0 else { return nil }
    return "\(Int(Double(min(max(0, part), total)) / Double(total) * 100))%"
  }

  /// `value` with up to `places` decimals, 0 ... 6, without trailing zeros: `29.97`, `30`.
  static func decimal(_ value: Double, places: Int) -> String {
    isUsable(value) ? Decimals.text(value, places: places) : unknown
  }

  private static let unknown = "unknown"

  private static func isUsable(_ value: Double) -> Bool { value >= 0 && value < 1e12 }

  private static func twoDigits(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }

  /// One decimal below 100 of a unit, none from there on; 999.95 kB is 1.0 MB.
  private static func scaled(_ value: Double, unit: String) -> String {
    guard value >= 0, value.isFinite else { return unknown }
    guard value >= 999.5 else { return "\(Int(value.rounded())) \(unit)" }
    var rest = value / 1000
    var prefixes = ["k", "M", "G", "T", "P"][...]
    while rest >= 999.5, prefixes.count > 1 {
      rest /= 1000
      prefixes.removeFirst()
    }
    return "\(threeDigits(rest)) \(prefixes.first ?? "")\(unit)"
  }

  private static func threeDigits(_ value: Double) -> String {
    guard value < 1e15 else { return "\(value)" }
    let tenths = Int((value * 10).rounded())
    return tenths < 1000 ? "\(tenths / 10).\(tenths % 10)" : "\(Int(value.rounded()))"
  }
}

extension SourcePath {
  /// The path for people: the middle of a very long one is left out, so that the line stays readable. Not for programs.
  var shown: String { DisplayWidth.cuttingMiddle(text, to: 1000) }
}

/// Writes the commands that hints suggest, so that they can be copied unchanged: if a flag named the library, the
/// command names it, too.
package struct CommandHint: Hashable, Sendable {
  private let program: String
  private let library: String?
  private let catalog: String?
  private let config: String?

  /// Takes the values of `--library`, `--catalog` and `--config`; nil if they were not given, because then the next
  /// command finds the same catalog by itself.
  /// - Parameter program: the name of the program, as a word for a shell.
  package init(
    program: String = "reel", library: String? = nil, catalog: String? = nil, config: String? = nil
  ) {
    (self.program, self.library, self.catalog, self.config) = (program, library, catalog, config)
  }

  /// The program's name and `command`, then the options that name the catalog, then `arguments`.
  package func text(_ command: String, _ arguments: String = "") -> String {
    let options = [("--library", library), ("--catalog", catalog), ("--config", config)]
    let place = options.compactMap { name, value in
      value.map { " \(name) " + ShellWord.quoted(Array($0.utf8)) }
    }
    .joined()
    return "\(program) \(command)\(place)" + (arguments.isEmpty ? "" : " " + arguments)
  }

  /// Completes the command of an `ErrorMessage`, whose layer does not know how the catalog was named.
  package func text(completing command: String) -> String {
    let name = command.prefix { $0 != " " }
    return text(String(name), String(command.dropFirst(name.count + 1)))
  }
}
