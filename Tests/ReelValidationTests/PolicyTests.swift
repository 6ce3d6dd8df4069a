import ReelCore
import ReelTestSupport
import ReelValidation
import Testing

@Suite("policies") struct PolicyTests {
  @Test(
    "every preset can be used, has a date, and names the sources of its numbers",
    arguments: Preset.all.map(\.name))
  func presets(name: String) throws {
    let policy = try library().policy(name)
    #expect(policy.name == name)
    #expect(policy.version?.wholeMatch(of: /\d{4}-\d\d-\d\d/) != nil)
    let text = try #require(Preset.named(name)?.text)
    #expect(name == "sanity" || text.contains("https://"))
    // The list says so, too.
    #expect(text.contains("could not be read") == Preset.named(name)?.title.contains("could not be read"))
  }

  @Test("an unknown preset is an error that suggests the nearest one")
  func noPreset() {
    do throws(PolicyError) {
      _ = try library().policy("sanitty")
      Issue.record("no error")
    } catch {
      #expect(error.description.hasPrefix("there is no preset \"sanitty\" (did you mean sanity?); "))
    }
  }

  @Test(
    "a mistake is reported with its line, its column and a suggestion",
    arguments: [
      ("rules:\n  duratoin.max: 60s", 2, 3, "did you mean duration.max?"),
      ("ruels:\n  duration.max: 60s", 1, 1, "did you mean rules?"),
      ("rules:\n  duration.max: 60x", 2, 17, "a duration like 60s"),
      ("rules:\n  duration.max: error", 2, 17, "has no value"),
      ("rules:\n  ext.mismatch: 5", 2, 17, "off, warn or error"),
      ("rules:\n  size.max: {value: 10x10, severty: warn}", 2, 28, "did you mean severity?"),
      ("rules:\n  size.max: {value: 10x10, severity: loud}", 2, 38, "off, warn or error"),
      ("overrides:\n  - files: \"/\"\n    rules: {}", 2, 12, "not a pattern"),
      ("overrides:\n  - rules: {}", 2, 5, "which files"),
      ("overrides: 5", 1, 12, "a list"), ("policy: 2", 1, 9, "format 1"), ("rules: [", 2, 1, "not YAML"),
      ("rules: *all", 1, 8, "not YAML"), ("a: &b c", 1, 4, "anchors"),
      ("rules:\n  - x", 2, 3, "keys and values"),
      ("rules:\n  a: 1\n  a: 2", 2, 3, "appears twice"), ("extends: snaity", 1, 10, "did you mean sanity?"),
    ])
  func mistakes(yaml: String, line: Int, column: Int, hint: String) {
    do throws(PolicyError) {
      _ = try policy(yaml)
      Issue.record("no error")
    } catch {
      let first = error.problems[0]
      #expect(first.message.contains(hint), "\(first)")
      #expect([first.line, first.column] == [line, column], "\(first)")
    }
  }

  @Test(
    "durations, sizes and rates are accepted in the usual notations",
    arguments: [
      ("duration.max", "1h30m"), ("duration.max", "500ms"), ("duration.max", "0.5"),
      ("duration.max", "2 min"),
      ("duration.max", "1:02:03.5"), ("bytes.max", "100MB"), ("bytes.max", "1.5GiB"), ("bytes.max", "4000"),
      ("bitrate.max", "8Mbps"), ("bitrate.max", "800 kb/s"), ("fps.max", "30000/1001"), ("fps.max", "29.97"),
      ("size.aspect", "\"1.91:1\""), ("size.max", "1080x1920"), ("size.max", "1080×1920"),
      ("pixel.depth", "10"),
    ])
  func quantities(rule: String, text: String) throws {
    _ = try policy("rules: {\(rule): \(text)}")
  }

  @Test(
    "invalid values are rejected",
    arguments: [
      ("duration.max", "-1s"), ("duration.max", "1s2"), ("duration.max", "1e9999"), ("duration.max", "nan"),
      ("duration.max", "9999999999h"), ("duration.max", "\"\""), ("duration.max", "1:60"),
      ("bytes.max", "1XB"),
      ("bytes.max", "99999999999TB"), ("bitrate.max", "fast"), ("fps.max", "30/0"), ("fps.max", "0"),
      ("fps.max", "1/2/3"), ("size.aspect", "\"0:1\""), ("size.max", "0x10"), ("size.max", "10"),
      ("pixel.depth", "eight"), ("codec.video", "[]"), ("codec.video", "null"), ("codec.video", "[h264, ~]"),
      ("codec.video", "\"h264; rm\""),
      ("container.allowed", "exe"),
      ("duration.max", "[1s, 2s]"),
    ])
  func nonsense(rule: String, text: String) {
    #expect(throws: PolicyError.self) { try policy("rules: {\(rule): \(text)}") }
  }

  @Test("a policy that extends another changes only what it states")
  func extends() throws {
    let files = [
      "base.yaml": "rules: {duration.max: 5s, audio.none: warn, ext.mismatch: error}",
      "mine.yaml": "extends: base.yaml\nrules: {duration.max: warn, audio.none: off, bytes.max: 1kB}",
    ]
    let policy = try library(files).policy("mine.yaml")
    let facts = Facts.fixture("a.mov") { $0.audio = [] }
    let found = RuleEvaluator.findings(facts, by: policy.rules(for: facts.patternPath))
    #expect(found.map(\.rule) == ["ext.mismatch", "duration.max", "bytes.max"])
    #expect(found.map(\.severity) == [.error, .warn, .error])
  }

  @Test("a cycle of policies is an error")
  func circle() {
    let files = ["a.yaml": "extends: b.yaml", "b.yaml": "extends: a.yaml"]
    #expect(throws: PolicyError.self) { try library(files).policy("a.yaml") }
  }

  @Test("the last override that matches a file wins")
  func overrides() throws {
    let policy = try policy(
      """
      rules: {duration.max: 5s}
      overrides:
        - files: ["long/**", "*.mkv"]
          rules: {duration.max: 20s}
        - files: long/but/short.mp4
          rules: {duration.max: {value: 1s, severity: warn}}
      """)
    func outcome(_ path: String) -> [Severity] {
      let facts = Facts.fixture(path)
      return RuleEvaluator.findings(facts, by: policy.rules(for: facts.patternPath)).filter {
        $0.rule == "duration.max"
      }
      .map(\.severity)
    }
    #expect(outcome("a.mp4") == [.error])
    #expect(outcome("long/a.mp4") == [])
    #expect(outcome("x/y.mkv") == [])
    #expect(outcome("long/but/short.mp4") == [.warn])
  }

  @Test("any bytes are a policy or an error, without a crash", arguments: 0..<40)
  func anyBytes(seed: UInt64) {
    var random = SplitMix64(seed: seed)
    let words = [
      "rules", ":", "\n", "  ", "- ", "[", "]", "{", "}", "duration.max", "60s", "overrides", "files", "*",
      "&a", "*a",
      "!!binary", "\"", "'", "|", ">", "#", "? ", "extends", "none", "---", "...", "%YAML 1.1", "\u{2028}",
      "\0", "\t",
      "value", "severity", "~", "<<", "é", ",", "\r",
    ]
    for _ in 0..<60 {
      let structured = random.next() % 3 > 0
      let bytes: [UInt8] =
        structured
        ? (0..<Int(random.next() % 60)).flatMap { _ in
          Array(words[Int(random.next() % UInt64(words.count))].utf8)
        }
        : (0..<Int(random.next() % 200)).map { _ in UInt8(truncatingIfNeeded: random.next()) }
      _ = try? bytePolicy(bytes)
    }
  }

  @Test("deep nesting and alias bombs end quickly with errors")
  func bombs() {
    let bombs = [
      String(repeating: "[", count: 100_000), String(repeating: "- ", count: 100_000),
      String(repeating: "? ", count: 50_000), String(repeating: "{a: ", count: 50_000),
      "a: &a [x,x]\nb: &b [*a,*a]\nc: &c [*b,*b]\n? *c\n: 1", String(repeating: "a", count: 1 << 20),
    ]
    for bomb in bombs { #expect(throws: PolicyError.self) { try policy(bomb) } }
  }

  private func bytePolicy(_ bytes: [UInt8]) throws -> Policy {
    try PolicyLibrary { (_, _) throws(PolicyError) in (bytes, "fuzz.yaml") }.policy("fuzz.yaml")
  }

  @Test("a policy drafted from an example passes that example")
  func draft() throws {
    for media in [
      Facts.media(),
      Facts.media {
        $0.audio = []; $0.video = nil
      }, MediaInfo(container: .webm, size: 1),
    ] {
      let facts = FixtureFacts(
        path: SourcePath("a.\(media.container.rawValue)"), size: media.size,
        reading: .media(Facts.report(media)))
      let policy = try policy(PolicyDraft.text(from: media, name: "a\n- b.mp4"))
      let broken = RuleEvaluator.findings(facts, by: policy.rules(for: facts.path)).filter {
        $0.state == .broken && $0.severity == .error && $0.rule != "video.none"
      }
      #expect(broken == [])
    }
  }
}
