import ReelValidation

/// The forms of a report of `reel validate`.
package enum ValidationReportKind: String, Sendable, CaseIterable {
  case people
  case json
  case jsonl
  case junit
  case github
  case sarif
  case markdown

  /// The report, a newline after its last line. The same report gives the same text.
  ///
  /// - Parameter traits: of where `people` will be read.
  /// - Throws: what the JSON encoder throws.
  package func text(_ report: ValidationReport, _ traits: TerminalTraits) throws -> String {
    switch self {
    case .people: ValidationSummary.text(report, traits)
    case .json: try ValidationDocument(report).json(pretty: true)
    case .jsonl: try ValidationLines.text(report)
    case .junit: JUnitReport.text(report)
    case .github: GitHubAnnotations.text(report)
    case .sarif: try SARIFReport.text(report)
    case .markdown: MarkdownReport.text(report)
    }
  }
}
