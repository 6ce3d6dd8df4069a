import Foundation
import ReelCore
import ReelTerminal
import ReelValidation
import Testing

@Suite("reports") struct ReportTests {
  /// Names and sentences that would have an effect where they are displayed.
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
      lock: "reel.lock", strict: true, allowsEmpty: false, reader: Facts.reader)
  }

  @Test("no text from a file has an effect in a report", arguments: ValidationReportKind.allCases)
  func sanitized(kind: ValidationReportKind) throws {
    let text = try kind.text(Self.report(of: Self.hostile), TerminalTraits())
    for scalar in text.unicodeScalars where scalar != "\n" {
      #expect(scalar.properties.generalCategory != .control, "U+\(String(scalar.value, radix: 16))")
      #expect(!["\u{202E}", "\u{2028}"].contains(scalar))
    }
    #expect(!text.contains("##[") && !text.contains("##vso"))
    let commands = text.split(separator: "\n").map { $0.drop(while: \.isWhitespace) }.filter {
      $0.hasPrefix("::")
    }
    if kind == .github {
      let levels = ["::error file=", "::warning file=", "::notice file="]
      #expect(commands.allSatisfy { line in levels.contains { line.hasPrefix($0) } })
      // The runner takes everything after the second separator for the message.
      #expect(
        commands.allSatisfy { line in
          let properties = line.dropFirst(2).components(separatedBy: "::")[0]
          return properties.components(separatedBy: "title=").count == 2 && !properties.contains(":")
        })
    } else {
      #expect(commands.isEmpty)
    }
  }

  @Test("Markdown contains no markup, link or mention from a stranger")
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

  @Test("JSON, JSON lines and SARIF are valid JSON", arguments: [ValidationReportKind.json, .jsonl, .sarif])
  func json(kind: ValidationReportKind) throws {
    let text = try kind.text(Self.report(of: Self.hostile), TerminalTraits())
    let documents = kind == .jsonl ? text.split(separator: "\n").map(String.init) : [text]
    for document in documents { _ = try JSONSerialization.jsonObject(with: Data(document.utf8)) }
    #expect(kind != .jsonl || documents.count == Self.hostile.count + 1)
  }

  @Test("a step summary has as many rows as fit", arguments: [1 << 20, 50_000, 5000, 100])
  func summaryRoom(room: Int) throws {
    let names = (0..<3000).map { "\($0) \(String(repeating: "é:", count: 100))" }
    let text = MarkdownReport.text(Self.report(of: names), room: room)
    #expect(text.utf8.count <= room)
    if room == 100 { return #expect(text == "") }
    let rows = text.split(separator: "\n").filter { $0.hasPrefix("| ") }.count - 2
    let all = 3000 * 3 + 1500
    #expect(text.contains("\(all - rows) more rows are left out"))
    // No space remains that another row could use.
    #expect(room < 10_000 || text.utf8.count > room - 3000)
  }

  @Test("SARIF has as many results as GitHub accepts, errors first, and says how many are left out")
  func mostResults() throws {
    let text = try ValidationReportKind.sarif.text(
      Self.report(of: (0..<9000).map { "\($0)" }), TerminalTraits())
    let document = try #require(try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any])
    let run = try #require((document["runs"] as? [[String: Any]])?.first)
    let results = try #require(run["results"] as? [[String: Any]])
    #expect(results.count == 25_000)
    #expect(results.count { $0["level"] as? String == "error" && $0["suppressions"] == nil } == 9000)
    #expect(results.count { $0["kind"] as? String == "open" } == 9000)
    #expect(text.contains("2000 results are left out"))
  }

  @Test(
    "a command is one line, however narrow the terminal, and a missing one has a reason"
  )
  func commands() {
    let command =
      "ffmpeg -n -i 'clips/a file with a long name.mkv' -vf 'a=1,\(String(repeating: "b", count: 90))' x.mp4"
    func finding(_ rule: String, _ fix: String?, hasRemedy: Bool) -> Finding {
      Finding(
        rule: rule, severity: .error, state: .broken, sentence: "it is", fix: fix, hasRemedy: hasRemedy)
    }
    let accept = "reel lock \(String(repeating: "clips/", count: 20)) --force"
    let files = [
      ValidatedFile(path: SourcePath("a"), findings: [finding("video.none", command, hasRemedy: true)]),
      ValidatedFile(
        path: SourcePath("b"),
        findings: [
          finding("mp4.notFastStart", nil, hasRemedy: true), finding("size.min", nil, hasRemedy: false),
        ]),
      ValidatedFile(path: SourcePath("c"), findings: [finding("lock.new", accept, hasRemedy: true)]),
      ValidatedFile(path: SourcePath("d"), findings: [finding("lock.gone", accept, hasRemedy: true)]),
    ]
    let report = ValidationReport(
      files: files, policy: "p", policyVersion: nil, lock: "reel.lock", strict: false, allowsEmpty: false,
      reader: nil, acceptance: accept)
    let text = ValidationSummary.text(report, TerminalTraits(isTerminal: true, columns: 60))
    let lines = text.split(separator: "\n")
    #expect(lines.count { $0.hasSuffix("  " + command) } == 1, "\(text)")
    #expect(lines.count { $0 == "  " + accept } == 1, "\(text)")
    #expect(text.contains("--explain size.min") && !text.contains("--explain mp4"), "\(text)")
    #expect(!text.contains("--explain lock"), "\(text)")
    let explained = RuleRegistry.info(LockRules.new).map {
      RuleSummary.text($0, TerminalTraits(isTerminal: true, columns: 40))
    }
    #expect(explained?.contains("`reel lock fixtures --force`") == true, "\(explained ?? "")")
  }

  @Test("a command names its file even where only ASCII is shown")
  func commandsInASCII() {
    let lines: [(String, String)] = [
      ("mv -n -- 'q/é.m4v' q/a.mp4", #"mv -n -- $'q/\xc3\xa9.m4v' q/a.mp4"#),
      (#"reel lock 'it'\''s é' 'a  b' --force"#, #"reel lock $'it\x27s \xc3\xa9' 'a  b' --force"#),
      (#"x $'a\x0a' --caption='é'"#, #"x $'a\x0a' $'--caption=\xc3\xa9'"#), ("reel feed", "reel feed"),
    ]
    for (command, told) in lines {
      let finding = Finding(
        rule: "video.none", severity: .error, state: .broken, sentence: "it is", fix: command)
      let report = ValidationReport(
        files: [ValidatedFile(path: SourcePath("a"), findings: [finding])], policy: "p", policyVersion: nil,
        lock: nil, strict: false, allowsEmpty: false, reader: nil)
      for (isUnicode, shown) in [(true, command), (false, told)] {
        let text = ValidationSummary.text(report, TerminalTraits(unicode: isUnicode))
        #expect(text.split(separator: "\n").contains { $0.hasSuffix("  " + shown) }, "\(text)")
      }
    }
  }

  @Test("differences of a lock stay indented when lines wrap")
  func indented() {
    let text = TerminalTraits(isTerminal: true, columns: 40).indented([
      "changed  a.mp4", "  title: a \(String(repeating: "long ", count: 12))-> none",
    ])
    let lines = text.split(separator: "\n")
    #expect(
      lines.count > 3 && lines[1].hasPrefix("  title")
        && lines.dropFirst(2).allSatisfy { $0.hasPrefix("      ") })
    #expect(lines.allSatisfy { $0.count <= 40 })
  }

  @Test("JUnit's counts match its contents")
  func junit() throws {
    let text = try ValidationReportKind.junit.text(Self.report(of: Self.hostile), TerminalTraits())
    #expect(text.components(separatedBy: "<testcase ").count == Self.hostile.count + 1)
    #expect(text.components(separatedBy: "<failure ").count == Self.hostile.count + 1)
    #expect(text.contains("failures=\"\(Self.hostile.count)\""))
  }

  @Test("finding no files is a failure in every report", arguments: ValidationReportKind.allCases)
  func empty(kind: ValidationReportKind) throws {
    let empty = Self.report(of: [])
    #expect(empty.outcome == .failed)
    #expect(try kind.text(empty, TerminalTraits()).contains("no files were found"))
  }

  @Test("a broken rule outweighs an unjudged file, which in turn is no pass")
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
        files: files, policy: "p", policyVersion: nil, lock: nil, strict: false, allowsEmpty: false,
        reader: nil
      ).outcome
    }
    #expect(outcome([], unjudged: false) == .passed)
    #expect(outcome([.locked, .unverified], unjudged: false) == .passed)
    #expect(outcome([], unjudged: true) == .unjudged)
    #expect(outcome([.broken], unjudged: true) == .failed)
  }
}
