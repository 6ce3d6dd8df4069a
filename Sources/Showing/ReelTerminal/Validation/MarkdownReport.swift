import ReelCore
import ReelValidation

/// A report for a merge request, or for the step summary of GitHub Actions (GitHub Flavored Markdown).
package enum MarkdownReport {
  /// GitHub drops the whole summary of a step that is larger ("Workflow commands for GitHub Actions").
  package static let mostBytes = 1 << 20

  /// - Parameter room: the largest number of bytes of the text. Rows that do not fit are counted instead; the text is
  ///   empty if not even the count fits.
  package static func text(_ report: ValidationReport, room: Int = mostBytes) -> String {
    let mark = report.outcome == .passed ? "✅" : "❌"
    var lines = [
      "### \(mark) reel validate", "",
      escaped(report.headline) + ", by the policy " + code(report.policyWords) + ".",
    ]
    let rows = report.files.flatMap { self.rows($0, report) }
    if !rows.isEmpty {
      lines += ["", "| | file | rule | what | fix |", "| --- | --- | --- | --- | --- |"]
      var left = room - lines.reduce(0) { $0 + $1.utf8.count + 1 } - leftOut(rows.count).utf8.count - 2
      let fitting = rows.prefix { row in
        left -= row.utf8.count + 1
        return left >= 0
      }
      lines += fitting
      if fitting.count < rows.count { lines += ["", leftOut(rows.count - fitting.count)] }
    }
    let text = lines.joined(separator: "\n") + "\n"
    return text.utf8.count > room ? "" : text
  }

  private static func leftOut(_ count: Int) -> String {
    HumanNumber.count(count, "more row is", "more rows are") + " left out: there is no room for them here."
  }

  private static func rows(_ file: ValidatedFile, _ report: ValidationReport) -> [String] {
    let unjudged = file.unjudged.map {
      row(["not judged", code(file.path.text), code($0.code.rawValue), escaped($0.message), ""])
    }
    return [unjudged].compactMap(\.self)
      + file.findings.map {
        row([
          $0.word, code(file.path.text), code($0.rule), escaped($0.sentence), $0.fix.map(code) ?? "",
        ])
      }
  }

  private static func row(_ cells: [String]) -> String { "| " + cells.joined(separator: " | ") + " |" }

  /// Uses HTML, because a backtick in a Markdown code span needs a longer fence, and `|` ends a cell even there.
  /// Nothing in it becomes a mention or a link.
  static func code(_ text: String) -> String { "<code>\(entities(text))</code>" }

  /// Escapes all punctuation. A mention is put into code, where it notifies no one.
  static func escaped(_ text: String) -> String {
    entities(text).split(separator: "&#64;", omittingEmptySubsequences: false)
      .joined(separator: "<code>&#64;</code>")
  }

  /// Uses numeric character references, which are never markup (CommonMark 0.31, 2.5).
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

/// Workflow commands of GitHub Actions that annotate files (GitHub Docs, "Workflow commands for GitHub Actions").
package enum GitHubAnnotations {
  /// GitHub shows ten annotations of each level for a step; the step summary has them all.
  static let mostOfALevel = 10

  static func text(_ report: ValidationReport) -> String {
    let all = report.files.flatMap { annotations($0, report) }
    var lines: [String] = []
    for level in ["error", "warning", "notice"] {
      let ofLevel = all.filter { $0.level == level }
      lines += ofLevel.prefix(mostOfALevel).map(\.command)
      if ofLevel.count > mostOfALevel {
        lines.append(
          "\(ofLevel.count - mostOfALevel) more of level \(level) are in the summary of this step.")
      }
    }
    if report.isEmptyFailure {
      lines.append(Annotation(level: "error", file: nil, title: "reel", message: report.headline).command)
    } else {
      lines.append(
        SanitizedText.line("reel validate: \(report.headline), by the policy \(report.policyWords)"))
    }
    return lines.joined(separator: "\n") + "\n"
  }

  private struct Annotation {
    let level: String
    let file: SourcePath?
    let title: String
    let message: String

    var command: String {
      let place = file.map { "file=\(property($0.text))," } ?? ""
      return "::\(level) \(place)title=\(property(title))::\(data(message))"
    }

    /// Text from a file is already sanitized; what the runner interprets is also percent-encoded, as GitHub's own
    /// toolkit does (actions/toolkit, command.ts).
    private func data(_ text: String) -> String {
      percentEncoding(SanitizedText.line(text), ["%", "\r", "\n"])
    }

    private func property(_ text: String) -> String {
      percentEncoding(SanitizedText.line(text), ["%", "\r", "\n", ":", ","])
    }

    private func percentEncoding(_ text: String, _ live: Set<Unicode.Scalar>) -> String {
      text.unicodeScalars.reduce(into: "") { result, scalar in
        guard live.contains(scalar) else { return result.unicodeScalars.append(scalar) }
        let digits = String(scalar.value, radix: 16, uppercase: true)
        result += "%" + (digits.count == 1 ? "0" : "") + digits
      }
    }
  }

  private static func annotations(_ file: ValidatedFile, _ report: ValidationReport) -> [Annotation] {
    let unjudged = file.unjudged.map { error in
      Annotation(
        level: "error", file: file.place, title: "not judged: \(error.code.rawValue)",
        message: Sentence.naming(file.path.text, error.message))
    }
    return [unjudged].compactMap(\.self)
      + file.findings.filter { $0.state != .locked }.map { finding in
        let fix = finding.fix.map { " | fix: \($0)" } ?? ""
        return Annotation(
          level: level(finding, report), file: file.place, title: finding.rule,
          message: finding.sentence(about: file.path) + fix)
      }
  }

  private static func level(_ finding: Finding, _ report: ValidationReport) -> String {
    if finding.fails(report) { return "error" }
    return finding.state == .unverified ? "notice" : "warning"
  }
}
