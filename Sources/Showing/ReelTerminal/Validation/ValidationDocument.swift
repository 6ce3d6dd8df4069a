import ReelCore
import ReelValidation

/// `{"outcome": …, "totals": {…}, "policy": {…}, "files": […]}`
package struct ValidationDocument: Encodable {
  private let report: ValidationReport

  package init(_ report: ValidationReport) {
    self.report = report
  }

  /// The answer, whose problems are what makes the validation fail.
  package var answer: AnswerDocument<Self> {
    var problems = report.files.flatMap { file in
      file.findings.filter { ValidatedFile.fails($0, strict: report.strict) }.map {
        AnswerProblem($0.rule, $0.sentence(about: file.path), path: file.path)
      } + (file.unjudged.map { [AnswerProblem($0.code.rawValue, $0.message, path: file.path)] } ?? [])
    }
    let isPassed = report.outcome == .passed
    if problems.isEmpty, !isPassed {
      problems.append(
        report.isEmptyFailure
          ? .noFiles(report.headline) : AnswerProblem(report.outcome.rawValue, report.headline))
    }
    return AnswerDocument(self, problems: problems, ok: isPassed)
  }

  private enum CodingKeys: String, CodingKey { case files }

  package func encode(to encoder: any Encoder) throws {
    try Head(report).encode(to: encoder)
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(report.files.map { FileBody($0, report) }, forKey: .files)
  }

  struct Head: Encodable {
    struct PolicyName: Encodable {
      let name: String
      let version: String?
    }
    let outcome: ValidationReport.Outcome
    let message: String
    let totals: ValidationReport.Totals
    let policy: PolicyName
    let locked: Bool
    let strict: Bool
    let reader: ReaderVersion?

    init(_ report: ValidationReport) {
      outcome = report.outcome
      message = report.headline
      totals = report.totals
      policy = PolicyName(name: report.policy, version: report.policyVersion)
      locked = report.isLocked
      strict = report.strict
      reader = report.reader
    }
  }

  struct FileBody: Encodable {
    private struct FindingBody: Encodable {
      let rule: String
      let severity: Severity
      let state: Finding.State
      let expected: String?
      let found: String?
      let message: String
      let fix: String?
      /// The old name of ``fix``, kept for one more version.
      let mend: String?
    }
    private struct Unjudged: Encodable {
      let code: String
      let message: String
    }
    private let file: ValidatedFile
    private let report: ValidationReport
    private enum CodingKeys: String, CodingKey { case standing, findings, error }

    init(_ file: ValidatedFile, _ report: ValidationReport) {
      self.file = file
      self.report = report
    }

    func encode(to encoder: any Encoder) throws {
      var paths = encoder.container(keyedBy: SourcePathCoding.self)
      try file.path.encode(into: &paths)
      var container = encoder.container(keyedBy: CodingKeys.self)
      try container.encode(file.standing(strict: report.strict), forKey: .standing)
      try container.encode(file.findings.map(body), forKey: .findings)
      try container.encodeIfPresent(
        file.unjudged.map {
          Unjudged(code: $0.code.rawValue, message: Sentence.naming(file.path.text, $0.message))
        }, forKey: .error)
    }

    private func body(_ finding: Finding) -> FindingBody {
      FindingBody(
        rule: finding.rule, severity: finding.severity, state: finding.state, expected: finding.expected,
        found: finding.found, message: finding.sentence(about: file.path), fix: finding.fix,
        mend: finding.fix)
    }
  }
}

/// One JSON object per line: each file with `"type": "file"`, then the run with `"type": "run"`.
enum ValidationLines {
  private struct Line<Body: Encodable>: Encodable {
    let v = 1
    let type: String
    let body: Body
    private enum CodingKeys: String, CodingKey { case v, type }

    func encode(to encoder: any Encoder) throws {
      try body.encode(to: encoder)
      var container = encoder.container(keyedBy: CodingKeys.self)
      try container.encode(v, forKey: .v)
      try container.encode(type, forKey: .type)
    }
  }

  static func text(_ report: ValidationReport) throws -> String {
    var text = ""
    for file in report.files {
      text += try JSONOutput.text(
        Line(type: "file", body: ValidationDocument.FileBody(file, report)))
    }
    return text + (try JSONOutput.text(Line(type: "run", body: ValidationDocument.Head(report))))
  }
}
