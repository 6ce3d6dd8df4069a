import Foundation
import FoundationXML
import ReelHostileFiles
import ReelTestSupport
import Testing

@Suite("hostile text in every output", .serialized, .shortTime)
struct OutputTests {
  private static let groups = ["tagged", "sidecars", "names"]
  let bench: Bench

  init() throws {
    let set = try Bench.hostileSet()
    bench = try Bench(set.files.filter { Self.groups.contains($0.group) || $0.group == "special" })
  }

  private func expectSanitized(
    _ run: ReelRun, _ what: String, isTerminal: Bool = false, seesWords: Bool = true,
    ownCommands: Bool = false
  ) {
    #expect(run.output.count + run.errors.count > 0, "\(what) says nothing")
    let problems = Harmlessness.problems(in: run.output, isTerminal: isTerminal, ownCommands: ownCommands)
    #expect(problems == [], "\(what), output")
    #expect(Harmlessness.problems(in: run.errors, isTerminal: isTerminal) == [], "\(what), errors")
    // The text itself must be in the output, or the test would check nothing.
    if seesWords { #expect((run.text + run.errorText).contains("marker"), "\(what) has none of the words") }
  }

  @Test(
    "probe is harmless as cards, JSON and JSON lines", arguments: [[], ["--json"], ["--jsonl"]] as [[String]])
  func probe(format: [String]) throws {
    let run = try ReelRun.run(["probe", bench.files.path] + format, in: bench.folder)
    expectSanitized(run, "probe \(format)")
  }

  @Test("ingest is harmless in events, reports, progress and JSON, as are feed and status")
  func ingest() throws {
    let library = ["--library", bench.library.path]
    let first = try ReelRun.run(
      ["ingest", bench.files.path, "--events", "-", "--progress", "plain"] + library, in: bench.folder)
    expectSanitized(first, "ingest --events -")
    let files = bench.files.path
    for arguments in [
      ["ingest", files, "--progress", "plain"], ["ingest", files, "--json"], ["ingest", files, "--dry-run"],
      ["ingest", files, "--duplicates", "allow", "--progress", "plain"],
    ] {
      expectSanitized(
        try ReelRun.run(arguments + library, in: bench.folder), "\(arguments)", seesWords: false)
    }
    for arguments in [["feed"], ["feed", "--json"]] {
      expectSanitized(try ReelRun.run(arguments + library, in: bench.folder), "\(arguments)")
    }
    for arguments in [["status"], ["status", "--json"]] {
      expectSanitized(
        try ReelRun.run(arguments + library, in: bench.folder), "\(arguments)", seesWords: false)
    }
  }

  @Test(
    "validate is harmless in every report by a policy that most files break, and in GitHub's summary",
    arguments: reportKinds)
  func validateByManyRules(kind: String) throws {
    // Many rules, so that names and findings appear in many sentences.
    let policy = bench.folder.appendingPathComponent("policy.yaml")
    try
      "rules: {duration.max: 1ms, codec.video: vp9, bytes.max: 1B, audio.none: error, size.aspect: \"9:16\"}"
      .write(to: policy, atomically: true, encoding: .utf8)
    let summary = bench.folder.appendingPathComponent("summary.md")
    let run = try ReelRun.run(
      ["validate", bench.files.path, "--policy", policy.path, "--report", kind], in: bench.folder,
      through: ["/usr/bin/env", "GITHUB_STEP_SUMMARY=\(summary.path)"])
    #expect(run.status == 4, "\(run.errorText)")
    guard kind == "github" else { return expectSanitized(run, "validate \(kind)", seesWords: false) }
    // Its annotations are commands, but only Reel's own: a level, a file and a title.
    let commands = run.lines.filter { $0.hasPrefix("::") }
    #expect(!commands.isEmpty)
    #expect(
      commands.allSatisfy {
        $0.firstMatch(of: #/^::(error|warning|notice) (file=[^:,]*,)?title=[^:,]*::/#) != nil
      })
    #expect(!run.text.contains("##[") && !run.text.contains("##vso["))
    #expect(Harmlessness.problems(in: [UInt8](try Data(contentsOf: summary))) == [])
  }

  @Test("publish is harmless in the card of one file and in its JSON", arguments: [0, 5, 8, 12])
  func publish(number: Int) throws {
    for (name, format) in [("tagged/\(number).mp4", []), ("sidecars/\(number).mp4", ["--json"])] {
      let run = try ReelRun.run(
        ["publish", bench.files.appendingPathComponent(name).path, "--library", bench.library.path] + format,
        in: bench.folder)
      #expect(run.status == 0, "\(run.errorText)")
      expectSanitized(run, "publish \(name)")
    }
  }

  @Test("validate is harmless in every form of report", arguments: reportKinds)
  func validate(kind: String) throws {
    let name = "report.\(kind)"
    let files = bench.files.path
    let run = try ReelRun.run(
      ["validate", files, "--report", kind, "--report", "\(kind)=\(name)"], in: bench.folder)
    let file = try Data(contentsOf: bench.folder.appendingPathComponent(name))
    // GitHub is controlled by commands: Reel's begin a line, a stranger's never do.
    let isOurs = kind == "github"
    expectSanitized(run, "validate \(kind)", seesWords: false, ownCommands: isOurs)
    #expect(run.text.contains("names/"))
    #expect(Harmlessness.problems(in: Array(file), ownCommands: isOurs) == [], "the file of \(kind)")
    if kind == "junit" || kind == "sarif" || kind == "json" { try expectWellFormed(run.output, kind) }
  }

  private static let reportKinds = ["people", "json", "jsonl", "junit", "github", "sarif", "markdown"]

  private func expectWellFormed(_ output: [UInt8], _ kind: String) throws {
    if kind == "junit" {
      let parser = XMLParser(data: Data(output))
      #expect(parser.parse(), "\(String(describing: parser.parserError))")
    } else {
      _ = try JSONSerialization.jsonObject(with: Data(output))
    }
  }

  @Test("lock is harmless, as are its file and a draft of a policy")
  func lock() throws {
    let files = bench.files.path
    for arguments in [["lock", files, "-o", "reel.lock"], ["validate", files, "--lock", "reel.lock"]] {
      expectSanitized(try ReelRun.run(arguments, in: bench.folder), "\(arguments)", seesWords: false)
    }
    let lock = try Data(contentsOf: bench.folder.appendingPathComponent("reel.lock"))
    #expect(Harmlessness.problems(in: Array(lock)) == [], "the lock")
    for name in ["::error::no.mp4", "new\nline.mp4", "\u{1B}]0;title\u{7}.mp4"] {
      let video = bench.files.appendingPathComponent("names/\(name)").path
      let draft = try ReelRun.run(["policy", "init", video], in: bench.folder)
      expectSanitized(draft, "policy init \(name.debugDescription)", seesWords: false)
    }
  }

  @Test("show, doctor, cache and backup are harmless for a library full of hostile text")
  func library() throws {
    let library = ["--library", bench.library.path]
    _ = try ReelRun.run(["ingest", bench.files.path, "--trust-sidecars"] + library, in: bench.folder)
    let feed = try ReelRun.run(["feed", "--json", "--size", "100"] + library, in: bench.folder)
    let ids = Set(feed.text.matches(of: #/"id":\s*"([^"]+)"/#).map { String($0.1) })
    #expect(ids.count >= 50)
    for id in ids.sorted().prefix(TestForm.isLong ? 60 : 15) {
      for format in [[], ["--json"]] {
        let run = try ReelRun.run(["show", id] + format + library, in: bench.folder)
        #expect(run.status == 0, "\(run.errorText)")
        expectSanitized(run, "show \(id) \(format)", seesWords: false)
      }
    }
    // A missing object makes the doctor report its post, and a stray one makes it report an unknown file.
    let media = bench.library.appendingPathComponent("media")
    for name in try FileManager.default.contentsOfDirectory(atPath: media.path).sorted().prefix(40) {
      try FileManager.default.removeItem(at: media.appendingPathComponent(name))
    }
    try Data("x".utf8).write(to: media.appendingPathComponent("\u{1B}[2J\n::error::stray"))
    for arguments in [["doctor"], ["doctor", "--json"], ["doctor", "--deep"], ["cache", "show"]] {
      expectSanitized(
        try ReelRun.run(arguments + library, in: bench.folder), "\(arguments)", seesWords: false)
    }
  }

  /// A shell's `*` turns names into arguments, and one that begins with `-` into an option.
  @Test(
    "what the argument parser quotes is harmless",
    arguments: [
      ["probe", "--\u{1B}]0;title\u{7}"], ["-\u{1B}[2J"], ["\u{1B}[2J\n::error::x"],
      ["ingest", "--jobs", "\u{1B}[2J\n##[error]x"], ["show", "a", "\u{9B}2J"],
      ["validate", "--report=\u{202E}x"],
      ["show", "\u{1B}[2J"], ["feed", "--library", "/nowhere/\u{1B}[2J\n::error::x"],
      ["ingest", "x", "--events", "/nowhere/\u{1B}[2J\n::error::x"],
      ["validate", "x", "--policy", "/nowhere/\u{1B}[2J\n::error::x"],
      ["ingest", "x", "--captions", "/nowhere/\u{1B}[2J\n::error::x"],
      ["probe", "/nowhere/\u{1B}[2J\n::error::x"], ["backup", "-o", "/nowhere/\u{1B}[2J\n::error::x"],
    ])
  func arguments(_ arguments: [String]) throws {
    let run = try ReelRun.run(arguments, in: bench.folder)
    #expect(
      run.status.map { [0, 1, 3, 4, 64].contains($0) } == true, "\(run.status.map(String.init) ?? "killed")")
    expectSanitized(run, "\(arguments)", seesWords: false)
  }

  @Test("output on a terminal is harmless", .enabled(if: ReelRun.hasTerminals, "script is missing"))
  func terminal() throws {
    let library = ["--library", bench.library.path]
    let files = bench.files.path
    let probe = try ReelRun.runInTerminal(["probe", files], in: bench.folder)
    expectSanitized(probe, "probe", isTerminal: true)
    let ingest = try ReelRun.runInTerminal(
      ["ingest", files, "--progress", "bar"] + library, in: bench.folder)
    expectSanitized(ingest, "ingest", isTerminal: true, seesWords: false)
    expectSanitized(
      try ReelRun.runInTerminal(["feed"] + library, in: bench.folder), "feed", isTerminal: true)
  }
}
