import ReelCore
import ReelValidation

/// The findings of `reel validate`, for people.
package enum ValidationSummary {
  package static func text(_ report: ValidationReport, _ traits: TerminalTraits) -> String {
    var lines = report.files.filter(isWorthTelling).flatMap { file($0, report, traits) }
    if !lines.isEmpty { lines.append(StyledLine()) }
    let differs = report.files.contains { $0.findings.contains { $0.rule.hasPrefix("lock.") } }
    if differs, let acceptance = report.acceptance {
      lines += traits.wrapped(
        "If the files are right and the lock is out of date, this command updates the lock:")
      lines += [StyledLine("  " + traits.command(acceptance)), StyledLine()]
    }
    let style: StyledLine.TextStyle = report.outcome == .passed ? .success : .failure
    lines += traits.wrapped(traits.sanitized(report.headline), style)
    lines += traits.wrapped(traits.sanitized(by(report)), .dim)
    return lines.text(traits)
  }

  /// Whether to list the file. Rules that were already broken when the file was locked are only counted.
  private static func isWorthTelling(_ file: ValidatedFile) -> Bool {
    file.unjudged != nil || file.findings.contains { $0.state != .locked }
  }

  /// The policy, and the lock if there is one.
  private static func by(_ report: ValidationReport) -> String {
    let reader = report.reader.map { ", read by libavformat \($0.ffmpeg)" } ?? ""
    let lock = report.lock.map { ", compared with \($0)" } ?? ""
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
    }
    if let fix = file.fix {
      // The acceptance is shown once, at the end.
      if fix != report.acceptance { lines.append(whole("fix", traits.command(fix))) }
    } else if let obstacle = file.obstacle {
      lines += entry("fix", .dim, "no command does it: see reel validate --explain \(obstacle.rule)", traits)
    }
    return lines
  }

  private static func style(_ finding: Finding, _ report: ValidationReport) -> StyledLine.TextStyle {
    if finding.fails(report) { return .failure }
    return finding.state == .broken ? .warning : .dim
  }

  private static let labelColumns = 10

  /// A command to be copied, in one piece, because line breaks would change it.
  private static func whole(_ label: String, _ command: String) -> StyledLine {
    StyledLine("  ") + StyledLine(DisplayWidth.padded(label, to: labelColumns), .dim)
      + StyledLine("  " + command)
  }

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

/// The explanation of a rule, for people (`reel validate --explain`).
package enum RuleSummary {
  package static func text(_ info: RuleInfo, _ traits: TerminalTraits) -> String {
    var lines = traits.wrapped(traits.sanitized("\(info.id): \(info.title)"), .strong)
    lines += traits.wrapped(traits.sanitized(info.explanation))
    if let form = RuleRegistry.rule(info.id)?.operand {
      lines += traits.wrapped(
        traits.sanitized("In a policy: \(info.id): \(form.yaml)  (\(form.name))"), .dim)
    }
    return lines.text(traits)
  }

  package static func list(_ infos: [RuleInfo], _ traits: TerminalTraits) -> String {
    let columns = infos.map { $0.id.count }.max() ?? 0
    return traits.text(infos.map { DisplayWidth.padded($0.id, to: columns) + "  " + $0.title })
  }
}

extension Finding {
  /// `clips/a.mp4 is too long: 62 s`
  func sentence(about path: SourcePath) -> String { Sentence.naming(path.text, sentence) }

  package func fails(_ report: ValidationReport) -> Bool { ValidatedFile.fails(self, strict: report.strict) }

  /// `error`, `warning`, `unverified`, `locked`.
  package var word: String {
    switch state {
    case .unverified: "unverified"
    case .locked: "locked"
    case .broken: severity == .error ? "error" : "warning"
    }
  }

  /// `expected at most 60 s, found 62 s`; nil if either is unknown.
  package var contrast: String? {
    guard let expected, let found else { return nil }
    return "expected \(expected), found \(found)"
  }
}

extension ValidatedFile {
  /// Whether anything is reported about the file; nothing is if it passed without findings.
  var isWorthTelling: Bool { !findings.isEmpty || unjudged != nil }
}

extension ValidationReport {
  static let emptyWords =
    "no files were found to validate, which counts as a failure; use --allow-empty to accept that"

  /// `sanity 2026-11-21`
  package var policyWords: String { ([policy] + [policyVersion].compactMap(\.self)).joined(separator: " ") }

  /// `3 of 43 files fail (4 errors, 2 warnings, 1 not judged)`
  package var headline: String {
    if isEmptyFailure { return Self.emptyWords }
    let totals = totals
    let files = HumanNumber.count(totals.files, "file", "files")
    var parts: [String] = []
    let alone = self.files.count { $0.findings.contains { $0.rule == RuleIDs.orphan } }
    if alone > 0 {
      parts.append("\(alone) of them \(alone == 1 ? "a sidecar" : "sidecars") without a video")
    }
    if totals.errors > 0 { parts.append(HumanNumber.count(totals.errors, "error", "errors")) }
    if totals.warnings > 0 { parts.append(HumanNumber.count(totals.warnings, "warning", "warnings")) }
    if totals.unverified > 0 { parts.append("\(totals.unverified) unverified") }
    if totals.locked > 0 {
      parts.append(HumanNumber.count(totals.locked, "rule", "rules") + " already broken in the lock")
    }
    if totals.unjudged > 0 { parts.append("\(totals.unjudged) not judged") }
    let details = parts.isEmpty ? "" : " (" + parts.joined(separator: ", ") + ")"
    switch outcome {
    case .passed: return "\(files) \(totals.files == 1 ? "passes" : "pass")\(details)"
    case .failed: return "\(totals.failed) of \(files) \(totals.failed == 1 ? "fails" : "fail")\(details)"
    case .unjudged: return "\(totals.unjudged) of \(files) could not be judged\(details)"
    }
  }
}

/// The formats of a report of `reel validate`.
package enum ValidationReportKind: String, Sendable, CaseIterable {
  case people
  case json
  case jsonl
  case junit
  case github
  case sarif
  case markdown

  /// Returns the report, with a newline after its last line. The same report always gives the same text.
  ///
  /// - Parameter traits: of the output where `people` is read.
  package func text(_ report: ValidationReport, _ traits: TerminalTraits) throws -> String {
    switch self {
    case .people: ValidationSummary.text(report, traits)
    case .json: try ValidationDocument(report).answer.json(pretty: true)
    case .jsonl: try ValidationLines.text(report)
    case .junit: JUnitReport.text(report)
    case .github: GitHubAnnotations.text(report)
    case .sarif: try SARIFReport.text(report)
    case .markdown: MarkdownReport.text(report)
    }
  }
}
