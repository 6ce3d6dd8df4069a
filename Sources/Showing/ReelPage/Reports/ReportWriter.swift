import ReelSource
import ReelTerminal
import ReelValidation

/// The forms of a report of `reel validate`.
package enum ReportKind: Hashable, Sendable {
  case text(ValidationReportKind)
  case html

  package init?(name: String) {
    if name == "html" {
      self = .html
    } else {
      guard let kind = ValidationReportKind(rawValue: name) else { return nil }
      self = .text(kind)
    }
  }

  package static let names = ValidationReportKind.allCases.map(\.rawValue) + ["html"]

  /// - Parameters:
  ///   - pictures: the pictures of the report's files.
  ///   - path: the file that the report is written to; nil for stdout.
  func text(
    _ report: ValidationReport, _ pictures: ReportPictures, for path: String?, _ traits: TerminalTraits
  ) throws -> String {
    switch self {
    case .text(let kind): try kind.text(report, traits)
    case .html:
      ValidationPage.html(
        report, pictures: pictures, links: SourceLinks(from: path, workingFolder: WorkingFolder.path()))
    }
  }

  /// Whether the report shows pictures of its files.
  var hasPictures: Bool {
    if case .html = self { true } else { false }
  }
}

extension ReportKind {
  /// The kind of existing file that the report may replace.
  var form: OutputForm {
    switch self {
    case .html: .html
    case .text(.json): OutputForm(noun: "a report in JSON", beginnings: [#"{"files":["#])
    case .text(.jsonl): OutputForm(noun: "a report in JSON Lines", beginnings: [#"{"findings":["#])
    case .text(.sarif):
      OutputForm(
        noun: "a report in SARIF", beginnings: [#"{"$schema":"https://json.schemastore.org/sarif"#])
    case .text(.junit):
      OutputForm(
        noun: "a report in XML",
        beginnings: [#"<?xmlversion="1.0"encoding="utf-8"?><testsuitesname="reelvalidate""#])
    case .text(.markdown):
      OutputForm(noun: "a report in Markdown", beginnings: ["✅", "❌"].map { "###\($0)reelvalidate" })
    case .text(.github):
      OutputForm(
        noun: "annotations for GitHub",
        beginnings: ["error", "warning", "notice"].flatMap { ["::\($0)file=", "::\($0)title="] }
          + ["reelvalidate:"])
    case .text(.people): OutputForm(noun: "a report", end: "by the policy ")
    }
  }
}

/// The outputs for the reports of one run.
package struct ReportWriter {
  private let files: [(ReportKind, UserFile)]
  private let output: ReportKind
  private let summary: UserFile?

  /// Opens all output files, before anything is read.
  ///
  /// - Parameters:
  ///   - targets: the reports with their files; at most one has none.
  ///   - stepSummary: `$GITHUB_STEP_SUMMARY`; used if a report for GitHub is requested.
  /// - Throws: ``OutputRefusal``, or the error that keeps a file from being written.
  package init(_ targets: [(kind: ReportKind, path: String?)], stepSummary: String?) throws {
    files = try targets.compactMap { target in
      try target.path.map { (target.kind, try UserFile(writing: $0, as: target.kind.form)) }
    }
    for (index, file) in files.enumerated() {
      guard let other = files[..<index].first(where: { $0.1.isSameFile(as: file.1) }) else { continue }
      throw OutputRefusal(
        "two reports can't go to one file: \(other.1.path) and \(file.1.path) are the same; name another")
    }
    output = targets.first { $0.path == nil }?.kind ?? .text(.people)
    let wantsSummary = targets.contains { if case .text(.github) = $0.kind { true } else { false } }
    summary =
      try wantsSummary
      ? stepSummary.map { try UserFile(writing: $0, as: nil) } : nil
  }

  /// Whether one of the reports shows pictures of its files.
  package var hasPictures: Bool { output.hasPictures || files.contains { $0.0.hasPictures } }

  /// - Throws: what `UserFile` throws, or `OutputClosed` if an output can't be written.
  package func write(_ report: ValidationReport, _ pictures: ReportPictures) throws {
    for (kind, file) in files {
      try file.write(try kind.text(report, pictures, for: file.path, TerminalTraits()))
    }
    try summary?.write(MarkdownReport.text(report, room: MarkdownReport.mostBytes - (summary?.size ?? 0)))
    try OutputStream.standardOutput.write(try output.text(report, pictures, for: nil, .standardOutput()))
  }
}
