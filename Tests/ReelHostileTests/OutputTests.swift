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
