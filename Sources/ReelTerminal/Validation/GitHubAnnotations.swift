import ReelCore
import ReelValidation

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
          "\(ofLevel.count - mostOfALevel) more of level \(level) stand in the summary of this step.")
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

    /// What a file says is harmless already; what the runner reads is percent-encoded besides, as its own toolkit
    /// does (actions/toolkit, command.ts).
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
        level: "error", file: file.path, title: "not judged: \(error.code.rawValue)",
        message: Sentence.naming(file.path.text, error.message))
    }
    return [unjudged].compactMap(\.self)
      + file.findings.filter { $0.state != .locked }.map { finding in
        let mend = finding.mend.map { " | mend: \($0)" } ?? ""
        return Annotation(
          level: level(finding, report), file: file.path, title: finding.rule,
          message: finding.sentence(about: file.path) + mend)
      }
  }

  private static func level(_ finding: Finding, _ report: ValidationReport) -> String {
    if finding.fails(report) { return "error" }
    return finding.state == .unverified ? "notice" : "warning"
  }
}
