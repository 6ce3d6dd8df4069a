import Foundation
import ReelIngest
import Testing

/// `kill -9`, for real, and the same command again: every file is published exactly once.
@Suite("After a crash", .timeLimit(.minutes(20)))
struct CrashTests {
  /// The long form runs by `scripts/test --long`.
  static let isLong = ProcessInfo.processInfo.environment["REEL_LONG"] == "1"

  @Test(
    "between each two steps of the first, a middle and the last file", arguments: IntakeStep.allCases,
    [1, 4, 6])
  func atStep(step: IntakeStep, count: Int) async throws {
    let bench = try Workbench()
    try bench.addDistinct(6)
    let killed = try await bench.reel(
      "ingest", "clips", "--jobs", "2", environment: ["REEL_DIE_AT": "\(step.rawValue):\(count)"])
    #expect(killed.wasKilled, "it should have died at \(step.rawValue):\(count): \(killed.errors)")
    if FileManager.default.fileExists(atPath: bench.library.appendingPathComponent("catalog.sqlite").path) {
      expectNothing(try LibraryInspection(library: bench.library).broken())
    }
    try await expectWholeAfterRerun(bench, count: 6)
  }

  @Test("at random moments")
  func atRandomMoments() async throws {
    let seed = UInt64.random(in: 0...(.max))
    var generator = SeededGenerator(seed: seed)
    for round in 0..<(Self.isLong ? 2000 : 170) {
      let bench = try Workbench()
      let files = 3 + Int(generator.next() % 10)
      try bench.addDistinct(files)
      let running = try ReelBinary.start(
        ["ingest", "clips", "--library", bench.library.path, "--jobs", "3"], in: bench.folder)
      try await Task.sleep(for: .microseconds(Int(generator.next() % 120_000)))
      running.send(SIGKILL)
      _ = try await running.outcome()
      if FileManager.default.fileExists(atPath: bench.library.appendingPathComponent("catalog.sqlite").path) {
        expectNothing(try LibraryInspection(library: bench.library).broken(), "seed \(seed), round \(round)")
      }
      try await expectWholeAfterRerun(bench, count: files, "seed \(seed), round \(round)")
    }
  }

  @Test("again and again, the same batch comes to its end in the end")
  func repeatedly() async throws {
    let seed = UInt64.random(in: 0...(.max))
    var generator = SeededGenerator(seed: seed)
    let bench = try Workbench()
    try bench.addDistinct(60)
    for round in 0..<25 {
      let running = try ReelBinary.start(
        ["ingest", "clips", "--library", bench.library.path], in: bench.folder)
      try await Task.sleep(for: .microseconds(Int(generator.next() % 150_000)))
      running.send(SIGKILL)
      _ = try await running.outcome()
      if FileManager.default.fileExists(atPath: bench.library.appendingPathComponent("catalog.sqlite").path) {
        expectNothing(try LibraryInspection(library: bench.library).broken(), "seed \(seed), round \(round)")
      }
    }
    try await expectWholeAfterRerun(bench, count: 60, "seed \(seed)")
  }

  private func expectWholeAfterRerun(_ bench: Workbench, count: Int, _ comment: Comment? = nil) async throws {
    let feed = try await bench.reel("feed", "--json")
    #expect(feed.status == 0, "the feed can't be read after a crash: \(feed.errors) \(comment ?? "")")
    let again = try await bench.reel("ingest", "clips")
    #expect(again.status == 0, "\(again.errors) \(comment ?? "")")
    let inspection = try LibraryInspection(library: bench.library)
    expectNothing(try inspection.brokenAfterCompletion(), comment)
    #expect(inspection.published.count == count, comment)
    let third = try await bench.reel("ingest", "clips", "--json")
    let summary = try third.object()["summary"] as? [String: Any]
    #expect(summary?["published"] as? Int == 0, comment)
    #expect(summary?["duplicates"] as? Int == count, comment)
  }
}

/// SplitMix64: the same numbers again for the same seed.
struct SeededGenerator: RandomNumberGenerator {
  private var state: UInt64

  init(seed: UInt64) {
    state = seed
  }

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }
}
