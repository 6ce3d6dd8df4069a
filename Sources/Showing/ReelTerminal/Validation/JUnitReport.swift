import ReelCore
import ReelValidation

/// JUnit XML as defined by Jenkins (xunit-plugin, junit-10.xsd), and as GitLab reads it: one test case for each file.
enum JUnitReport {
  static func text(_ report: ValidationReport) -> String {
    var xml = XMLText()
    let totals = report.totals
    let counts = [
      ("tests", "\(report.isEmptyFailure ? 1 : totals.files)"),
      ("failures", "\(report.isEmptyFailure ? 1 : totals.failed)"),
      ("errors", "\(totals.unjudged)"),
    ]
    xml.element("testsuites", [("name", "reel validate")] + counts) { xml in
      xml.element("testsuite", [("name", "reel validate \(report.policyWords)")] + counts) { xml in
        if report.isEmptyFailure { empty(&xml) }
        for file in report.files { testCase(file, report, &xml) }
      }
    }
    return xml.text
  }

  private static func empty(_ xml: inout XMLText) {
    xml.element("testcase", [("name", "files"), ("classname", "reel.validate")]) { xml in
      xml.element("failure", [("message", ValidationReport.emptyWords), ("type", "noFiles")])
    }
  }

  private static func testCase(_ file: ValidatedFile, _ report: ValidationReport, _ xml: inout XMLText) {
    let attributes = [("name", file.path.text), ("classname", "reel.validate")]
    guard file.isWorthTelling else { return xml.element("testcase", attributes) }
    xml.element("testcase", attributes) { xml in
      let failing = file.findings.filter { $0.fails(report) }
      if let first = failing.first {
        let more = failing.count > 1 ? " (and \(failing.count - 1) more)" : ""
        xml.element(
          "failure", [("message", first.sentence(about: file.path) + more), ("type", first.rule)],
          failing.flatMap { lines($0, file) })
      }
      if let error = file.unjudged {
        xml.element(
          "error",
          [("message", Sentence.naming(file.path.text, error.message)), ("type", error.code.rawValue)])
      }
      let others = file.findings.filter { !$0.fails(report) }
      if !others.isEmpty { xml.element("system-out", [], others.flatMap { lines($0, file) }) }
    }
  }

  private static func lines(_ finding: Finding, _ file: ValidatedFile) -> [String] {
    [
      "\(finding.word) \(finding.rule): \(finding.sentence(about: file.path))",
      finding.contrast.map { "  " + $0 }, finding.fix.map { "  fix: " + $0 },
    ].compactMap(\.self)
  }
}

/// Writes XML 1.0 elements with sanitized text. Control characters, which XML cannot represent at all, are shown as
/// escapes.
struct XMLText {
  private(set) var text = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
  private var depth = 0

  mutating func element(
    _ name: String, _ attributes: [(String, String)], _ content: (inout XMLText) -> Void
  ) {
    text += indent + "<\(name)\(Self.list(attributes))>\n"
    depth += 1
    content(&self)
    depth -= 1
    text += indent + "</\(name)>\n"
  }

  mutating func element(_ name: String, _ attributes: [(String, String)], _ lines: [String] = []) {
    let start = indent + "<\(name)\(Self.list(attributes))"
    text +=
      lines.isEmpty
      ? start + "/>\n" : start + ">" + lines.map(Self.escaped).joined(separator: "\n") + "</\(name)>\n"
  }

  private var indent: String { String(repeating: "  ", count: depth) }

  private static func list(_ attributes: [(String, String)]) -> String {
    attributes.map { " \($0.0)=\"\(escaped($0.1))\"" }.joined()
  }

  /// Escapes text for attributes and contents alike.
  static func escaped(_ text: String) -> String {
    SanitizedText.line(text).unicodeScalars.reduce(into: "") { result, scalar in
      switch scalar {
      case "&": result += "&amp;"
      case "<": result += "&lt;"
      case ">": result += "&gt;"
      case "\"": result += "&quot;"
      case "'": result += "&apos;"
      default: result.unicodeScalars.append(scalar)
      }
    }
  }
}
