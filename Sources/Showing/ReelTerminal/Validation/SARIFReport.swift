import ReelCore
import ReelValidation

/// SARIF 2.1.0 (OASIS), as GitHub's code scanning reads it.
enum SARIFReport {
  /// GitHub refuses a run with more results ("SARIF support for code scanning", limits).
  static let mostResults = 25_000

  static func text(_ report: ValidationReport) throws -> String {
    try JSONOutput.text(Log(runs: [Run(report)]), pretty: true)
  }

  private struct Log: Encodable {
    let version = "2.1.0"
    let schema = "https://json.schemastore.org/sarif-2.1.0.json"
    let runs: [Run]
    enum CodingKeys: String, CodingKey {
      case version, runs
      case schema = "$schema"
    }
  }

  private struct Text: Encodable {
    let text: String
  }

  private struct Tool: Encodable {
    let driver: Driver
  }

  private struct Driver: Encodable {
    let name = "reel validate"
    let semanticVersion = ReelVersion.current
    let rules: [Descriptor]
  }

  private struct Descriptor: Encodable {
    let id: String
    let shortDescription: Text
    let fullDescription: Text
    let help: Text
  }

  private struct Run: Encodable {
    let tool: Tool
    let columnKind = "unicodeCodePoints"
    let invocations: [Invocation]
    let results: [Result]

    init(_ report: ValidationReport) {
      let told = Set(report.files.flatMap { $0.findings.map(\.rule) })
      let infos = RuleRegistry.infos.filter { told.contains($0.id) }
      tool = Tool(
        driver: Driver(
          rules: infos.map {
            Descriptor(
              id: $0.id, shortDescription: Text(text: $0.title), fullDescription: Text(text: $0.explanation),
              help: Text(text: $0.explanation))
          }))
      let indices = Dictionary(uniqueKeysWithValues: infos.enumerated().map { ($1.id, $0) })
      let all = report.files.flatMap { file in
        file.findings.map { Result($0, file, report, index: indices[$0.rule]) }
      }
      results = SARIFReport.weightiest(all)
      invocations = [Invocation(report, leavingOut: all.count - results.count)]
    }
  }

  /// Keeps as many results as allowed, in their order: errors take precedence over warnings, and both over open or
  /// suppressed results.
  private static func weightiest(_ results: [Result]) -> [Result] {
    guard results.count > mostResults else { return results }
    let kept = results.indices.sorted { (results[$0].rank, $0) < (results[$1].rank, $1) }.prefix(mostResults)
    return kept.sorted().map { results[$0] }
  }

  /// Files that could not be judged are problems of the tool, not results.
  private struct Invocation: Encodable {
    struct Notification: Encodable {
      var level = "error"
      let message: Text
      let locations: [Location]?
    }
    let executionSuccessful: Bool
    let toolExecutionNotifications: [Notification]

    init(_ report: ValidationReport, leavingOut count: Int) {
      let left = Notification(
        level: "warning",
        message: Text(
          text: HumanNumber.count(count, "result is", "results are")
            + " left out: GitHub takes \(mostResults) at most"), locations: nil)
      let empty =
        report.isEmptyFailure ? [Notification(message: Text(text: report.headline), locations: nil)] : []
      let notifications =
        empty
        + report.files.compactMap { file in
          file.unjudged.map {
            Notification(
              message: Text(text: sanitized(Sentence.naming(file.path.text, $0.message))),
              locations: [Location(file.place)])
          }
        }
      executionSuccessful = notifications.isEmpty
      toolExecutionNotifications = notifications + (count > 0 ? [left] : [])
    }
  }

  private struct Location: Encodable {
    struct Physical: Encodable {
      let artifactLocation: Artifact
    }
    struct Artifact: Encodable {
      let uri: String
      let uriBaseId: String?
    }
    let physicalLocation: Physical

    init(_ path: SourcePath) {
      let uri = PathURI(path)
      physicalLocation = Physical(
        artifactLocation: Artifact(uri: uri.text, uriBaseId: uri.isRelative ? "%SRCROOT%" : nil))
    }
  }

  private struct Suppression: Encodable {
    let kind = "external"
    let justification = "It broke this rule when it was locked."
  }

  private struct Result: Encodable {
    let ruleId: String
    let ruleIndex: Int?
    /// SARIF, 3.27.9 and 3.27.10: a rule that could not be judged is `open`, with level `none`.
    let kind: String
    let level: String
    let message: Text
    let locations: [Location]
    let partialFingerprints: [String: String]
    let suppressions: [Suppression]?
    /// Lower is more important.
    var rank: Int { suppressions != nil ? 3 : level == "error" ? 0 : level == "warning" ? 1 : 2 }

    init(_ finding: Finding, _ file: ValidatedFile, _ report: ValidationReport, index: Int?) {
      ruleId = finding.rule
      ruleIndex = index
      kind = finding.state == .unverified ? "open" : "fail"
      level =
        finding.state == .unverified ? "none" : finding.severity == .error ? "error" : "warning"
      message = Text(text: sanitized(finding.sentence(about: file.path)))
      locations = [Location(file.place)]
      partialFingerprints = ["reelRuleAndPath/v1": "\(finding.rule) \(PathURI(file.place).text)"]
      suppressions = finding.state == .locked ? [Suppression()] : nil
    }
  }

  private static func sanitized(_ text: String) -> String { SanitizedText.terminal(text) }
}

/// A path as a URI reference (RFC 3986): bytes that are not unreserved are percent-encoded.
struct PathURI {
  let text: String
  let isRelative: Bool

  init(_ path: SourcePath) {
    var bytes = path.bytes[...]
    while bytes.starts(with: "./".utf8) { bytes = bytes.dropFirst(2) }
    isRelative = bytes.first != UInt8(ascii: "/")
    text =
      (isRelative ? "" : "file://") + PercentEncoding.path(bytes)
  }
}
