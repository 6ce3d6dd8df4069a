import Foundation
import ReelTestSupport
import Testing

/// Readers start when a file needs one, and only then.
@Suite("When readers start", .shortTime)
struct ReaderStartTests {
  let bench: Workbench
  /// The path of a worker that records each start and then runs the real one.
  private let worker: String
  private let marks: URL

  init() throws {
    bench = try Workbench()
    let script = bench.folder.appendingPathComponent("worker")
    marks = bench.folder.appendingPathComponent("starts")
    let real = ReelBinary.folder.appendingPathComponent("reel-probe-worker").path
    try Script.write("#!/bin/sh\necho started >>'\(marks.path)'\nexec '\(real)'\n", to: script)
    worker = script.path
  }

  /// Returns how many readers a run has started, and how it ended.
  private func starts(_ arguments: String...) async throws -> (count: Int, status: Int32, words: String) {
    try await starts(arguments)
  }

  private func starts(_ arguments: [String]) async throws -> (count: Int, status: Int32, words: String) {
    try? FileManager.default.removeItem(at: marks)
    let library = arguments[0] == "ingest" ? ["--library", bench.library.path] : []
    let run = try await ReelBinary.run(arguments + ["--worker", worker] + library, in: bench.folder)
    let marked = (try? String(contentsOf: marks, encoding: .utf8)) ?? ""
    return (marked.split(separator: "\n").count, run.status, run.output + run.errors)
  }

  private func expectNone(_ arguments: String...) async throws {
    let run = try await starts(arguments)
    #expect(run.count == 0 && run.status == 0, "\(run)")
  }

  @Test("a run over files that are all published starts no reader, also under another name")
  func unchanged() async throws {
    try bench.addDistinct(5)
    // A file that changed less than two seconds ago is not remembered. This test needs files that are.
    try await Task.sleep(for: .milliseconds(2100))
    let first = try await starts("ingest", "clips")
    #expect(first.count >= 1 && first.status == 0)
    try await expectNone("ingest", "clips")
    try FileManager.default.copyItem(
      at: bench.clips.appendingPathComponent("clip-00000.mp4"),
      to: bench.clips.appendingPathComponent("copy.mp4"))
    try await expectNone("ingest", "clips")
    try bench.add("clips/titled.mp4", as: "new.mp4")
    let next = try await starts("ingest", "clips")
    #expect(next.count >= 1 && next.status == 0)
  }

  @Test(
    "without a video no reader is started, whatever the command", arguments: ["ingest", "probe", "validate"])
  func nothing(command: String) async throws {
    try bench.write("only words", to: "notes.txt")
    try bench.write("import { a } from './a'\n", to: "app.ts")
    try bench.add("broken/playlist.mp4")
    let found = try await starts(command, "clips")
    #expect(found.count == 0 && found.status != 0)
  }

  @Test("TypeScript in a folder is skipped; a file that the user names is refused")
  func typeScript() async throws {
    try bench.write("import { a } from './a'\n", to: "app.ts")
    try bench.add("clips/transport.ts")
    let folder = try await ReelBinary.run(["probe", "clips", "--jsonl"], in: bench.folder)
    #expect(folder.status == 0 && !folder.output.contains("app.ts"), "\(folder.output)")
    let named = try await ReelBinary.run(["probe", "clips/app.ts", "--json"], in: bench.folder)
    #expect(named.status == 4 && named.output.contains("notMedia"), "\(named.output)")
    #expect(
      try await ReelBinary.run(["publish", "clips/app.ts", "--library", "library"], in: bench.folder).status
        == 4)
  }
}
