import ReelCore
import ReelValidation

/// What `reel validate` found, for people.
package enum ValidationSummary {
  /// A newline after each line.
  package static func text(_ report: ValidationReport, _ traits: TerminalTraits) -> String {
    var lines = report.files.filter(isWorthTelling).flatMap { file($0, report, traits) }
    if !lines.isEmpty { lines.append(StyledLine()) }
    let style: StyledLine.TextStyle = report.outcome == .passed ? .success : .failure
    lines += traits.wrapped(traits.sanitized(report.headline), style)
    lines += traits.wrapped(traits.sanitized(by(report)), .dim)
    return lines.text(traits)
  }

  /// What is broken as it was when it was locked is counted, and not told one by one.
  private static func isWorthTelling(_ file: ValidatedFile) -> Bool {
    file.unjudged != nil || file.findings.contains { $0.state != .locked }
  }

  /// By which policy, and whether under a lock.
  private static func by(_ report: ValidationReport) -> String {
    let reader = report.reader.map { ", read by libavformat \($0.ffmpeg)" } ?? ""
    let lock = report.isLocked ? ", held against the lock" : ""
    return "by the policy \(report.policyWords)\(lock)\(reader)"
  }

  private static func file(
    _ file: ValidatedFile, _ report: ValidationReport, _ traits: TerminalTraits
  ) -> [StyledLine] {
    var lines = traits.wrapped(traits.sanitized(file.path.shown), .strong)
    if let error = file.unjudged {
      lines += entry("not judged", .failure, "\(error.message) [\(error.code.rawValue)]", traits)
    }
    for finding in file.findings where finding.state != .locked {
      lines += entry(finding.word, style(finding, report), "\(finding.sentence) [\(finding.rule)]", traits)
      if let mend = finding.mend, finding.state == .broken { lines += entry("mend", .dim, mend, traits) }
    }
    return lines
  }

  private static func style(_ finding: Finding, _ report: ValidationReport) -> StyledLine.TextStyle {
    if finding.fails(report) { return .failure }
    return finding.state == .broken ? .warning : .dim
  }

  private static let labelColumns = 10

  private static func entry(
    _ label: String, _ style: StyledLine.TextStyle, _ text: String, _ traits: TerminalTraits
  ) -> [StyledLine] {
    let room = traits.columns.map { max(16, $0 - labelColumns - 4) }
    return TextFlow.lines(traits.sanitized(text), columns: room).enumerated().map { index, line in
      let label = DisplayWidth.padded(index == 0 ? label : "", to: labelColumns)
      return StyledLine("  ") + StyledLine(label, style) + StyledLine("  " + line)
    }
  }
}
