import ArgumentParser
import ReelTerminal
import ReelValidation

/// One `--report`: a form, and the file that it goes to; none for stdout.
struct ReportTarget: ExpressibleByArgument {
  let kind: ValidationReportKind
  let path: String?

  /// `KIND` or `KIND=FILE`.
  init?(argument: String) {
    guard let text = try? RawArguments.text(argument) else { return nil }
    let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
    guard let name = parts.first, let kind = ValidationReportKind(rawValue: name),
      parts.last?.isEmpty == false
    else { return nil }
    self.kind = kind
    path = parts.count > 1 && parts[1] != "-" ? parts[1] : nil
  }

  static var allValueStrings: [String] { ValidationReportKind.allCases.map { "\($0.rawValue)[=FILE]" } }
}

/// Where the reports of one run go.
struct ReportWriter {
  private let files: [(ValidationReportKind, UserFile)]
  private let output: ValidationReportKind
  private let summary: UserFile?

  /// Opens every file, before anything is read.
  ///
  /// - Parameters:
  ///   - targets: at most one of them without a file.
  ///   - stepSummary: `$GITHUB_STEP_SUMMARY`; used when a report for GitHub is asked for.
  /// - Throws: ``CommandFailure``.
  init(_ targets: [ReportTarget], stepSummary: String?) throws {
    files = try targets.compactMap { target in
      try target.path.map { (target.kind, try UserFile(writing: $0)) }
    }
    output = targets.first { $0.path == nil }?.kind ?? .people
    let wantsSummary = targets.contains { $0.kind == .github }
    summary =
      try wantsSummary
      ? stepSummary.map { try UserFile(writing: $0, appends: true) } : nil
  }

  /// - Throws: ``CommandFailure`` or `OutputClosed` when one can't be written.
  func write(_ report: ValidationReport) throws {
    for (kind, file) in files { try file.write(try kind.text(report, TerminalTraits())) }
    try summary?.write(MarkdownReport.text(report))
    try OutputStream.standardOutput.write(try output.text(report, .standardOutput()))
  }
}
