import ReelCore
import ReelValidation

/// A report for a merge request, or for the step summary of GitHub Actions (GitHub Flavored Markdown).
package enum MarkdownReport {
  /// Rows; GitHub cuts a step summary at 1 MiB.
  static let mostRows = 2000

  /// A newline after the last line.
  package static func text(_ report: ValidationReport) -> String {
    let mark = report.outcome == .passed ? "✅" : "❌"
    var lines = [
      "### \(mark) reel validate", "",
      escaped(report.headline) + ", by the policy " + code(report.policyWords) + ".",
    ]
    let rows = report.files.flatMap { self.rows($0, report) }
    if !rows.isEmpty {
      lines += ["", "| | file | rule | what | mend |", "| --- | --- | --- | --- | --- |"]
      lines += rows.prefix(mostRows)
      if rows.count > mostRows { lines += ["", "\(rows.count - mostRows) more are left out."] }
    }
    return lines.joined(separator: "\n") + "\n"
  }

  private static func rows(_ file: ValidatedFile, _ report: ValidationReport) -> [String] {
    let unjudged = file.unjudged.map {
      row(["not judged", code(file.path.text), code($0.code.rawValue), escaped($0.message), ""])
    }
    return [unjudged].compactMap(\.self)
      + file.findings.map {
        row([
          $0.word, code(file.path.text), code($0.rule), escaped($0.sentence), $0.mend.map(code) ?? "",
        ])
      }
  }

  private static func row(_ cells: [String]) -> String { "| " + cells.joined(separator: " | ") + " |" }

  /// In HTML, because a backtick in a code span of Markdown needs a longer fence, and `|` ends a cell even there.
  /// Nothing in it is a mention or a link.
  static func code(_ text: String) -> String { "<code>\(entities(text))</code>" }

  /// Text in which no punctuation means anything; a mention is put into code, where it calls nobody.
  static func escaped(_ text: String) -> String {
    entities(text).split(separator: "&#64;", omittingEmptySubsequences: false)
      .joined(separator: "<code>&#64;</code>")
  }

  /// A numeric reference is never markup (CommonMark 0.31, 2.5).
  private static func entities(_ text: String) -> String {
    SanitizedText.line(text).unicodeScalars.reduce(into: "") { result, scalar in
      if scalar.isASCII, !isPlain(scalar) {
        result += "&#\(scalar.value);"
      } else {
        result.unicodeScalars.append(scalar)
      }
    }
  }

  private static func isPlain(_ scalar: Unicode.Scalar) -> Bool {
    scalar.properties.isAlphabetic || (0x30...0x39).contains(scalar.value)
      || " .,;()/-".unicodeScalars.contains(scalar)
  }
}
