import ReelTestSupport
/// Names and tags that a malicious stranger might choose.
enum HostileText {
  private static let pieces = [
    "clip", ".mp4", " ", "日本語", "ｆｕｌｌ", "é", "e\u{301}", "\u{301}", "👍", "👨‍👩‍👧", "🇩🇪", "❤️", "\u{1B}[2J",
    "\u{1B}]0;t\u{7}",
    "\u{9B}1A", "\u{85}", "\n", "\r", "\t", "\u{0}", "\u{8}", "\u{7F}", "\u{202E}", "\u{2066}", "\u{200D}",
    "\u{200C}",
    "\u{200B}", "\u{FEFF}", "\u{2028}", "##[error]", "#", ":", "::error::", "##vso[x]", "=1", "\u{E0041}",
    "\u{FE0F}",
    "\u{0378}", "\u{3164}", "\u{1F1E6}", "\u{1100}\u{1161}", "का", "\\", "\"",
    "very long words follow each other here ",
    "a/b", "-", "…", "\u{600}",
  ]

  static func draw(_ random: inout SplitMix64) -> String {
    (0..<Int.random(in: 1...14, using: &random)).reduce(into: "") { text, _ in
      if random.chance(90) {
        text += pieces[Int.random(in: pieces.indices, using: &random)]
      } else if let scalar = Unicode.Scalar(UInt32.random(in: 0...0x10FFFF, using: &random)) {
        text.unicodeScalars.append(scalar)
      }
    }
  }

  /// What is wrong with a text that should be harmless and in one line; nil if nothing is.
  /// - Parameter isLogged: Whether a CI runner may read the text. A line wrapped to a terminal's width may begin with
  ///   `::`.
  static func problem(in text: String, isLogged: Bool = true) -> String? {
    for scalar in text.unicodeScalars {
      switch scalar.properties.generalCategory {
      case .control, .lineSeparator, .paragraphSeparator, .unassigned:
        return "U+\(String(scalar.value, radix: 16))"
      case .format where scalar.value != 0x200C && scalar.value != 0x200D:
        return "U+\(String(scalar.value, radix: 16))"
      default: continue
      }
    }
    if text.contains("##") { return "##" }
    return isLogged && text.drop(while: \.isWhitespace).hasPrefix("::") ? "::" : nil
  }

  /// `text` without the sequences that ReelTerminal itself writes: colors, cursor up, erasing, wrapping.
  static func withoutOurSequences(_ text: String) -> String {
    let ours = #/\u{1B}\[(0|1|2|31|32|33)m|\r\u{1B}\[[0-9]+A|\u{1B}\[[KJ]|\u{1B}\[\?7[lh]/#
    return text.replacing(ours, with: "")
  }
}
