import Foundation
import Glibc
import ReelTestSupport
import Testing

/// Signal settings inherited from the parent process: some daemons ignore SIGCHLD, and some block the signals that end
/// a run.
@Suite("Inherited signals", .shortTime)
struct InheritedSignalsTests {
  private func run(
    _ bench: Workbench, _ state: String, _ arguments: String..., environment: [String: String] = [:]
  ) async throws -> ReelBinary.Outcome {
    try await ReelBinary.start(
      arguments + ["--library", bench.library.path], in: bench.folder, environment: environment,
      launcher: ["/usr/bin/env", state]
    ).outcome()
  }

  @Test("an adapter's exit is noticed even if SIGCHLD was ignored")
  func adapter() async throws {
    let bench = try Workbench()
    try bench.addDistinct(3)
    let store = bench.folder.appendingPathComponent("store")
    let adapter = ReelBinary.project.appendingPathComponent("Samples/adapters/folder.sh").path
    let run = try await run(
      bench, "--ignore-signal=CHLD", "ingest", "clips", "--to", "command:" + adapter,
      environment: ["REEL_ADAPTER_FOLDER": store.path])
    #expect(run.status == 0, "\(run.output) \(run.errors)")
    let stored = try FileManager.default.contentsOfDirectory(atPath: store.path)
    #expect(stored.count { $0.hasSuffix(".mp4") } == 3)
  }

  @Test("a reader's exit status is known even if SIGCHLD was ignored")
  func reader() async throws {
    let bench = try Workbench()
    try bench.addDistinct(2)
    // To the sniffer this is an MP4. Behind its first 32 bytes is an order for the sabotaged reader.
    let head = Data([0, 0, 0, 24]) + Data("ftypisom".utf8) + Data([0, 0, 2, 0]) + Data("isomiso2".utf8)
    let order = Data([0, 0, 0, 8]) + Data("moovescape socket".utf8)
    try (head + order).write(to: bench.clips.appendingPathComponent("bad.mp4"))
    let worker = ReelBinary.folder.appendingPathComponent("reel-sabotaged-worker").path
    let bad = try await run(
      bench, "--ignore-signal=CHLD", "ingest", "clips/bad.mp4", "--worker", worker, "--events", "events.jsonl"
    )
    #expect(bad.status == 4, "\(bad.output) \(bad.errors)")
    let ends = try EventLog(bench.folder.appendingPathComponent("events.jsonl")).ends()
    #expect(ends["bad.mp4"]?.code == "sandboxViolation")
    let good = try await run(bench, "--ignore-signal=CHLD", "ingest", "clips", "--exclude", "bad.mp4")
    #expect(good.status == 0, "\(good.output) \(good.errors)")
    #expect(try bench.objects().count == 2)
  }

  @Test(
    "a signal that was blocked still ends a run", .needsFailpoints,
    arguments: [SIGINT, SIGTERM, SIGHUP])
  func blocked(signal: Int32) async throws {
    let bench = try Workbench()
    try bench.addDistinct(3)
    // By the time it stops, it has long been listening to signals.
    let running = try ReelBinary.start(
      ["ingest", "clips", "--library", bench.library.path, "--jobs", "1"], in: bench.folder,
      environment: ["REEL_FAILPOINT": "bytesCopied:2=stop"], launcher: ["/usr/bin/env", "--block-signal"])
    try await running.untilStopped()
    running.send(signal)
    running.send(SIGCONT)
    let run = try await running.outcome()
    #expect(run.status == 130 && !run.wasKilled, "\(run.status) \(run.errors)")
    #expect(try await bench.reel("ingest", "clips").status == 0)
    #expect(try bench.objects().count == 3)
  }
}
