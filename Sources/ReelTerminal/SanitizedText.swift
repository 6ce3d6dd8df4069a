/// Text from files (names, tags, messages that quote them) made harmless where it is shown.
///
/// What could move a cursor, change a colour, hide or turn text around, forge a line or give a command to a CI
/// runner is shown as a visible escape: `\n`, `\x1b`, `\u{202e}`. Everything else stays as it is.
package enum SanitizedText {
  /// For a terminal, a plain log or the log of a CI runner, as part of one line.
  ///
  /// - Parameter asciiOnly: show everything beyond ASCII as an escape too, for a terminal that is not UTF-8.
  package static func line(_ text: String, asciiOnly: Bool = false) -> String {
    withoutRunnerCommands(terminal(text, asciiOnly: asciiOnly))
  }

  /// For a terminal that no CI runner listens to, as part of one line.
  package static func terminal(_ text: String, asciiOnly: Bool = false) -> String {
    if text.utf8.allSatisfy({ (0x20...0x7E).contains($0) }) { return text }
    let scalars = Array(text.unicodeScalars)
    var result = ""
    var kept = KeptScalars()
    for (index, scalar) in scalars.enumerated() {
      let next = index + 1 < scalars.count ? scalars[index + 1] : nil
      if scalar.isASCII || !asciiOnly, kept.admits(scalar, before: next) {
        result.unicodeScalars.append(scalar)
        kept.note(scalar)
      } else {
        result += escape(scalar)
        kept = KeptScalars()
      }
    }
    return result
  }

  /// One field of a CSV file, quoted where it must be (RFC 4180).
  ///
  /// A field that a spreadsheet would take for a formula (it begins with `=`, `+`, `-`, `@`, a tab or a carriage
  /// return; OWASP, "CSV injection") gets an apostrophe before it.
  package static func csvField(_ text: String) -> String {
    let first = text.unicodeScalars.first { $0 != " " }
    let isFormula = first.map { formulaStarts.contains($0) } ?? false
    let field = (isFormula ? "'" : "") + terminal(text)
    guard isFormula || field.first == " " || field.contains(where: { ",;\"".contains($0) }) else {
      return field
    }
    return "\"" + field.split(separator: "\"", omittingEmptySubsequences: false).joined(separator: "\"\"")
      + "\""
  }

  /// The full-width forms are taken for formulas by some spreadsheets in East Asian locales.
  private static let formulaStarts: Set<Unicode.Scalar> = [
    "=", "+", "-", "@", "\t", "\r", "\n", "\u{FF1D}", "\u{FF0B}", "\u{FF0D}", "\u{FF20}",
  ]

  /// A visible stand-in for `scalar`.
  static func escape(_ scalar: Unicode.Scalar) -> String {
    switch scalar {
    case "\n": return #"\n"#
    case "\r": return #"\r"#
    case "\t": return #"\t"#
    default:
      let digits = String(scalar.value, radix: 16)
      guard scalar.isASCII else { return "\\u{\(digits)}" }
      return "\\x" + (digits.count == 1 ? "0" : "") + digits
    }
  }

  /// `##[command]` (GitHub) and `##vso[command]` (Azure) are live anywhere in a line, `::command` at its
  /// beginning: every `#` after a `#`, and every `:` after a `:`, is escaped.
  private static func withoutRunnerCommands(_ text: String) -> String {
    guard text.utf8.contains(where: { $0 == UInt8(ascii: "#") || $0 == UInt8(ascii: ":") }) else {
      return text
    }
    var result = ""
    var previous: Unicode.Scalar?
    for scalar in text.unicodeScalars {
      if scalar == previous, scalar == "#" || scalar == ":" {
        result += escape(scalar)
      } else {
        result.unicodeScalars.append(scalar)
      }
      previous = scalar
    }
    return result
  }
}
