import Foundation
import ReelHostileFiles
import Testing

@Suite("Strangers' words in every output", .serialized, .timeLimit(.minutes(5)))
struct OutputTests {
  private static let groups = ["tagged", "sidecars", "names"]
  let bench: Bench

  init() throws {
    let set = try Bench.hostileSet()
    bench = try Bench(set.files.filter { Self.groups.contains($0.group) || $0.group == "special" })
  }

  private func expectHarmless(
    _ run: ReelRun, _ what: String, isTerminal: Bool = false, seesWords: Bool = true
  ) {
    #expect(run.output.count + run.errors.count > 0, "\(what) says nothing")
    #expect(Harmlessness.problems(in: run.output, isTerminal: isTerminal) == [], "\(what), output")
    #expect(Harmlessness.problems(in: run.errors, isTerminal: isTerminal) == [], "\(what), errors")
    // The words themselves came through: the test looks at something.
    if seesWords { #expect((run.text + run.errorText).contains("marker"), "\(what) has none of the words") }
  }

  @Test("probe: cards, JSON, JSON lines", arguments: [[], ["--json"], ["--jsonl"]] as [[String]])
  func probe(format: [String]) throws {
    let run = try ReelRun.run(["probe", bench.files.path] + format, in: bench.folder)
    expectHarmless(run, "probe \(format)")
  }

  @Test("ingest: events, report, progress, JSON; then feed and status")
  func ingest() throws {
    let library = ["--library", bench.library.path]
    let first = try ReelRun.run(
      ["ingest", bench.files.path, "--events", "-", "--progress", "plain"] + library, in: bench.folder)
    expectHarmless(first, "ingest --events -")
    let files = bench.files.path
    for arguments in [
      ["ingest", files, "--progress", "plain"], ["ingest", files, "--json"], ["ingest", files, "--dry-run"],
      ["ingest", files, "--duplicates", "allow", "--progress", "plain"],
    ] {
      expectHarmless(try ReelRun.run(arguments + library, in: bench.folder), "\(arguments)", seesWords: false)
    }
    for arguments in [["feed"], ["feed", "--json"]] {
      expectHarmless(try ReelRun.run(arguments + library, in: bench.folder), "\(arguments)")
    }
    for arguments in [["status"], ["status", "--json"]] {
      expectHarmless(try ReelRun.run(arguments + library, in: bench.folder), "\(arguments)", seesWords: false)
    }
  }

  @Test(
    "validate: every report",
    arguments: ["people", "json", "jsonl", "junit", "github", "sarif", "markdown"])
  func validate(kind: String) throws {
    // Many rules, so that names and what was found stand in many sentences.
    let policy = bench.folder.appendingPathComponent("policy.yaml")
    try
      "rules: {duration.max: 1ms, codec.video: vp9, bytes.max: 1B, audio.none: error, size.aspect: \"9:16\"}"
      .write(to: policy, atomically: true, encoding: .utf8)
    let summary = bench.folder.appendingPathComponent("summary.md")
    let run = try ReelRun.run(
      ["validate", bench.files.path, "--policy", policy.path, "--report", kind], in: bench.folder,
      through: ["/usr/bin/env", "GITHUB_STEP_SUMMARY=\(summary.path)"])
    #expect(run.status == 4, "\(run.errorText)")
    guard kind == "github" else { return expectHarmless(run, "validate \(kind)", seesWords: false) }
    // Its annotations are commands, and ours alone: a level, a file or a title.
    let commands = run.lines.filter { $0.hasPrefix("::") }
    #expect(!commands.isEmpty)
    #expect(
      commands.allSatisfy {
        $0.firstMatch(of: #/^::(error|warning|notice) (file=[^:,]*,)?title=[^:,]*::/#) != nil
      })
    #expect(!run.text.contains("##[") && !run.text.contains("##vso["))
    #expect(Harmlessness.problems(in: [UInt8](try Data(contentsOf: summary))) == [])
  }

  @Test("lock: the file itself, and what is said of it")
  func lock() throws {
    let run = try ReelRun.run(["lock", bench.files.path, "--to", "reel.lock"], in: bench.folder)
    expectHarmless(run, "lock", seesWords: false)
    let lock = try Data(contentsOf: bench.folder.appendingPathComponent("reel.lock"))
    #expect(Harmlessness.problems(in: [UInt8](lock)) == [])
  }

  @Test("publish: the card of one file, and its JSON", arguments: [0, 5, 8, 12])
  func publish(number: Int) throws {
    for (name, format) in [("tagged/\(number).mp4", []), ("sidecars/\(number).mp4", ["--json"])] {
      let run = try ReelRun.run(
        ["publish", bench.files.appendingPathComponent(name).path, "--library", bench.library.path] + format,
        in: bench.folder)
      #expect(run.status == 0, "\(run.errorText)")
      expectHarmless(run, "publish \(name)")
    }
  }

  @Test("on a terminal", .enabled(if: ReelRun.hasTerminals, "script is missing"))
  func terminal() throws {
    let library = ["--library", bench.library.path]
    let files = bench.files.path
    let probe = try ReelRun.runInTerminal(["probe", files], in: bench.folder)
    expectHarmless(probe, "probe", isTerminal: true)
    let ingest = try ReelRun.runInTerminal(
      ["ingest", files, "--progress", "bar"] + library, in: bench.folder)
    expectHarmless(ingest, "ingest", isTerminal: true, seesWords: false)
    expectHarmless(
      try ReelRun.runInTerminal(["feed"] + library, in: bench.folder), "feed", isTerminal: true)
  }
}
