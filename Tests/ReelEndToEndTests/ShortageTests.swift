import Foundation
import Testing

/// A process that may have few descriptors, few other processes, or no large files: each is an error that says so.
@Suite("When the machine is short of something", .timeLimit(.minutes(60)), .serialized)
struct ShortageTests {
  private static let isSanitized = ProcessInfo.processInfo.environment["REEL_SANITIZER"] != nil

  private func run(
    _ bench: Workbench, limit: String, _ arguments: [String], environment: [String: String] = [:]
  ) async throws -> ReelBinary.Outcome {
    try await ReelBinary.start(
      arguments + ["--library", bench.library.path], in: bench.folder, environment: environment,
      launcher: ["/bin/sh", "-c", "\(limit); exec \"$0\" \"$@\""]
    ).outcome()
  }

  /// Whatever call is the first without one: nothing is blamed on the file, and the next run takes all of them in.
  @Test("a process with few descriptors blames no file", .enabled(if: !isSanitized))
  func descriptors() async throws {
    var codes: Set<String> = []
    for most in [6, 12, 20, 31] + Array(32...42) {
      let bench = try Workbench()
      try bench.addDistinct(8)
      // The shim lets libdispatch look at its threads, which ends the process if it can't, on a crowded machine.
      let outcome = try await run(
        bench, limit: "ulimit -Sn \(most)", ["ingest", "clips", "--jobs", "8", "--events", "events.jsonl"],
        environment: SystemShim.environment(root: bench.folder, [:]))
      let place: Comment = "\(most): \(outcome.status) \(outcome.output) \(outcome.errors)"
      #expect(!outcome.wasKilled && [0, 1, 3, 127].contains(outcome.status), place)
      #expect(outcome.status == 0 || !(outcome.output + outcome.errors).isEmpty, place)
      let events = bench.folder.appendingPathComponent("events.jsonl")
      if let log = try? EventLog(events) { codes.formUnion(log.ends().values.compactMap(\.code)) }
      let again = try await bench.reel("ingest", "clips")
      #expect(again.status == 0, "\(most): \(again.errors)")
      #expect(try bench.objects().count == 8)
    }
    // What is no fault of a file's: a shortage, of the store or the catalog too, which ends the run.
    let ours: Set = [
      "tooManyOpenFiles", "unavailable", "cancelled", "catalog.unusable", "catalog.unavailable",
    ]
    #expect(codes.isSubset(of: ours), "\(codes)")
    #expect(codes.contains("tooManyOpenFiles"))
  }

  /// A limit on the size of files ends nobody: the write says what is wrong. A sanitizer's own files don't fit into it.
  @Test("a limit on the size of files is an error", .enabled(if: !isSanitized), arguments: [1, 8, 100])
  func fileSize(blocks: Int) async throws {
    let bench = try Workbench()
    try bench.addDistinct(1)
    let outcome = try await run(bench, limit: "ulimit -f \(blocks)", ["ingest", "clips"])
    let place: Comment = "\(outcome.status) \(outcome.output) \(outcome.errors)"
    #expect(!outcome.wasKilled && [1, 3].contains(outcome.status), place)
    #expect(!outcome.errors.isEmpty, place)
    #expect(try bench.objects().isEmpty)
    let again = try await bench.reel("ingest", "clips")
    #expect(again.status == 0, "\(again.errors)")
    #expect(try bench.objects().count == 1)
  }
}
