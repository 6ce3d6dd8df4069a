import Foundation

/// Finds what a terminal or a CI log would execute in an output; empty if it is harmless.
enum Harmlessness {
  /// - Parameters:
  ///   - isTerminal: Whether Reel may use its few drawing sequences.
  ///   - ownCommands: Whether it may annotate files for GitHub.
  static func problems(
    in output: [UInt8], isTerminal: Bool = false, ownCommands: Bool = false
  ) -> [String] {
    guard let text = String(validating: output, as: UTF8.self) else { return ["it is not UTF-8"] }
    let lines = (isTerminal ? withoutOurs(text) : text).split(whereSeparator: \.isNewline)
    return scalars(isTerminal ? withoutOurs(text) : text)
      + lines.flatMap { commands(in: ownCommands ? withoutAnnotation($0) : $0) }
  }

  /// Removes colors, cursor up, erasing, wrapping, and the terminal's own line ends.
  private static func withoutOurs(_ text: String) -> String {
    text.replacing(#/\u{1B}\[(0|1|2|31|32|33)m|\r\u{1B}\[[0-9]+A|\u{1B}\[[KJ]|\u{1B}\[\?7[lh]/#, with: "")
      .replacing("\r\n", with: "\n").replacing("\r", with: "\n")
  }

  /// Removes a leading `::error file=…,title=…::`, and nothing else.
  private static func withoutAnnotation(_ line: Substring) -> Substring {
    let annotation = line.prefixMatch(of: #/::(error|warning|notice) (file=[^:,]*,)?title=[^:,]*::/#)
    return annotation.map { line[$0.range.upperBound...] } ?? line
  }

  private static func scalars(_ text: String) -> [String] {
    let bad = text.unicodeScalars.filter { scalar in
      switch scalar.properties.generalCategory {
      case .control: scalar != "\n"
      case .lineSeparator, .paragraphSeparator: true
      default: (0x202A...0x202E).contains(scalar.value) || (0x2066...0x2069).contains(scalar.value)
      }
    }
    return Set(bad.map { "U+" + String($0.value, radix: 16) }).sorted()
  }

  /// GitHub executes `::` at the beginning of a line, Azure `##[` and `##vso[` anywhere in it.
  private static func commands(in line: Substring) -> [String] {
    let isCommand = line.drop { $0 == " " || $0 == "\t" }.hasPrefix("::")
    return isCommand || line.contains("##[") || line.contains("##vso[")
      ? ["a command: \(line.debugDescription)"] : []
  }
}
