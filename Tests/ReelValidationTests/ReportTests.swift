import Foundation
import ReelCore
import ReelTerminal
import ReelValidation
import Testing

@Suite("Reports") struct ReportTests {
  /// Names and sentences that would do something where they are shown.
  private static let hostile = [
    "\u{1B}[2J\u{1B}]0;owned\u{07}", "a\n::error::forged", "::set-output name=x::y", "##[command]rm",
    "##vso[task]x",
    "<script>alert(1)</script>", "]]>&<!--", "\"><failure/>", "| a | b |\n| --- |", "`code`",
    "[x](javascript:y)",
    "![x](https://evil.example/x.png)", "@everyone", "https://evil.example", "%0A::error::x", "a,b:c",
    "\u{202E}gpj.exe",
    "=1+1", "\u{0}", "\r\n", "</code>", "a\\|b", "\u{2028}x", "*bold* _it_ ~~x~~ #1",
  ]

  private static func report(of texts: [String], order: Bool = true) -> ValidationReport {
    let files = texts.enumerated().map { index, text in
      let states: [Finding.State] = [.broken, .unverified, .locked]
      return ValidatedFile(
        path: SourcePath("clips/\(index)\(text).mp4"),
        findings: states.map {
          Finding(
            rule: "video.none", severity: .error, state: $0, expected: text, found: text,
            sentence: "it is \(text)",
            fix: "ffmpeg -i \(text)")
        }, unjudged: index % 2 == 0 ? ProbeError(.timeout, "it took \(text)") : nil)
    }
    return ValidationReport(
      files: order ? files : files.reversed(), policy: texts.first ?? "sanity", policyVersion: texts.last,
      isLocked: true, strict: true, allowsEmpty: false, reader: Facts.reader)
  }

  @Test("nothing that a file says does anything", arguments: ValidationReportKind.allCases)
  func sanitized(kind: ValidationReportKind) throws {
    let text = try kind.text(Self.report(of: Self.hostile), TerminalTraits())
    for scalar in text.unicodeScalars where scalar != "\n" {
      #expect(scalar.properties.generalCategory != .control, "U+\(String(scalar.value, radix: 16))")
      #expect(!["\u{202E}", "\u{2028}"].contains(scalar))
    }
    #expect(!text.contains("##[") && !text.contains("##vso"))
    let commands = text.split(separator: "\n").filter { $0.hasPrefix("::") }
    if kind == .github {
      let levels = ["::error file=", "::warning file=", "::notice file="]
      #expect(commands.allSatisfy { line in levels.contains { line.hasPrefix($0) } })
      // Nothing but our own two separators, at the beginning and after the properties.
      #expect(commands.allSatisfy { $0.components(separatedBy: "::").count == 3 })
    } else {
      #expect(commands.isEmpty && !text.contains("::error"))
    }
  }

  @Test("Markdown holds no markup, link or mention of a stranger's")
  func markdown() throws {
    let text = MarkdownReport.text(Self.report(of: Self.hostile))
    for live in ["<script", "](", "![", "`", "@everyone", "https:", "**", "~~", "</code></code>"] {
      #expect(!text.contains(live), "\(live)")
    }
    let rows = text.split(separator: "\n").filter { $0.hasPrefix("|") }
    #expect(rows.allSatisfy { $0.split(separator: "|", omittingEmptySubsequences: false).count == 7 })
  }

  @Test(
    "the same findings give the same text, in whatever order they came",
    arguments: ValidationReportKind.allCases)
  func deterministic(kind: ValidationReportKind) throws {
    let texts = ["a", "b", "c"]
    let first = try kind.text(Self.report(of: texts), TerminalTraits())
    #expect(try kind.text(Self.report(of: texts, order: false), TerminalTraits()) == first)
  }

  @Test("JSON, JSON lines and SARIF are JSON", arguments: [ValidationReportKind.json, .jsonl, .sarif])
  func json(kind: ValidationReportKind) throws {
    let text = try kind.text(Self.report(of: Self.hostile), TerminalTraits())
    let documents = kind == .jsonl ? text.split(separator: "\n").map(String.init) : [text]
    for document in documents { _ = try JSONSerialization.jsonObject(with: Data(document.utf8)) }
    #expect(kind != .jsonl || documents.count == Self.hostile.count + 1)
  }

  @Test("JUnit counts what it tells")
  func junit() throws {
    let text = try ValidationReportKind.junit.text(Self.report(of: Self.hostile), TerminalTraits())
    #expect(text.components(separatedBy: "<testcase ").count == Self.hostile.count + 1)
    #expect(text.components(separatedBy: "<failure ").count == Self.hostile.count + 1)
    #expect(text.contains("failures=\"\(Self.hostile.count)\""))
  }

  @Test("nothing at all is a failure everywhere", arguments: ValidationReportKind.allCases)
  func empty(kind: ValidationReportKind) throws {
    let empty = Self.report(of: [])
    #expect(empty.outcome == .failed)
    #expect(try kind.text(empty, TerminalTraits()).contains("no files were found"))
  }

  @Test("broken outweighs not judged, and not judged is no pass")
  func outcomes() {
    func outcome(_ states: [Finding.State], unjudged: Bool) -> ValidationReport.Outcome {
      let files = [
        ValidatedFile(
          path: SourcePath("a"),
          findings: states.map { Finding(rule: "video.none", severity: .error, state: $0, sentence: "it is") }
        ),
        ValidatedFile(
          path: SourcePath("b"), findings: [],
          unjudged: unjudged ? ProbeError(.timeout, "it took too long") : nil),
      ]
      return ValidationReport(
        files: files, policy: "p", policyVersion: nil, isLocked: false, strict: false, allowsEmpty: false,
        reader: nil
      ).outcome
    }
    #expect(outcome([], unjudged: false) == .passed)
    #expect(outcome([.locked, .unverified], unjudged: false) == .passed)
    #expect(outcome([], unjudged: true) == .unjudged)
    #expect(outcome([.broken], unjudged: true) == .failed)
  }
}
