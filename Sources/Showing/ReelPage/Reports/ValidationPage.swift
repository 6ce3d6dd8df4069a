import ReelCore
import ReelTerminal
import ReelValidation

/// The findings of `reel validate` as a page (`reel validate --report html=FILE`).
package enum ValidationPage {
  /// The largest number of files in the list; files that fail come first.
  static let most = 5000

  /// The files whose pictures the report shows.
  package static func pictured(_ report: ValidationReport) -> [SourcePath] {
    ordered(report).prefix(ReportPictures.most).map(\.path)
  }

  private static func ordered(_ report: ValidationReport) -> [ValidatedFile] {
    let standings: [ValidatedFile.Standing] = [.failed, .unjudged, .passed]
    return standings.flatMap { standing in
      report.files.filter { $0.standing(strict: report.strict) == standing }
    }
  }

  package static func html(
    _ report: ValidationReport, pictures: ReportPictures = ReportPictures(), links: SourceLinks
  ) -> String {
    let ordered = ordered(report)
    let listed = ordered.prefix(most)
    let totals = report.totals
    let counts = [
      ("passed", totals.passed), ("failed", totals.failed), ("not judged", totals.unjudged),
      ("errors", totals.errors), ("warnings", totals.warnings), ("unverified", totals.unverified),
      ("already broken in the lock", totals.locked),
    ]
    let reader = report.reader.map { ", read by libavformat \($0.ffmpeg)" } ?? ""
    let more = ordered.count - listed.count
    return ReportPage(
      command: "reel validate", headline: ReportPage.sentence(report.headline),
      counts: counts.filter { $0.1 > 0 }.map { ($0.0, "\($0.1)") },
      about:
        "By the policy \(report.policyWords)\(report.lock.map { ", compared with \($0)" } ?? "")\(reader).",
      entries: listed.map { entry($0, report) },
      more: more > 0
        ? "\(HumanNumber.count(more, "more file is", "more files are")) not listed; use --report jsonl=FILE to get all of them."
        : nil,
      pictures: pictures, links: links
    ).html
  }

  private static func entry(_ file: ValidatedFile, _ report: ValidationReport) -> ReportPage.Entry {
    let (result, tone): (String, ReportPage.Tone) =
      switch file.standing(strict: report.strict) {
      case .passed: ("passed", .good)
      case .failed: ("failed", .bad)
      case .unjudged: ("not judged", .warn)
      }
    let unjudged = file.unjudged.map {
      ReportPage.Note(reason: $0.code.rawValue, text: ReportPage.sentence($0.message))
    }
    let notes = file.findings.map { finding in
      ReportPage.Note(
        reason: finding.rule, word: finding.word, text: ReportPage.sentence(finding.sentence),
        details: [finding.contrast, finding.fix.map { "fix: " + $0 }].compactMap(\.self))
    }
    // Omit warnings that a rule has already reported. The rest belong to no rule, so they have no name that --explain
    // knows.
    let told = Set(file.findings.flatMap { [$0.sentence, $0.rule] })
    let warnings = file.warnings.filter { warning in
      !told.contains(warning.message) && warning.rule.map { !told.contains($0) } ?? true
    }
    .map { ReportPage.Note(reason: nil, word: "note", text: ReportPage.sentence($0.message)) }
    return ReportPage.Entry(
      path: file.path, result: result, tone: tone, notes: [unjudged].compactMap(\.self) + notes + warnings)
  }
}

extension MediaWarning {
  /// The rule on the same subject.
  fileprivate var rule: String? {
    switch code {
    case .durationMismatch: "duration.mismatch"
    case .truncated: "file.truncated"
    default: nil
    }
  }
}
