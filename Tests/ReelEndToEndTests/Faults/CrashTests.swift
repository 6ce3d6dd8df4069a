import Foundation
import ReelIngest
import ReelTestSupport
import Testing

/// A real `kill -9`, and then the same command again: every file is published exactly once.
@Suite("After a crash", .shortTime)
struct CrashTests {
  /// Crashes at the first file are covered by `FailpointTests`, too. The short form draws one of the other two.
  private static let dyingAt: [Int] =
    if TestForm.isLong { [1, 4, 6] } else { TestSeed.drawn().isMultiple(of: 2) ? [4] : [6] }

  @Test(
    "a crash after each step of the first, a middle and the last file is recovered from",
    .needsFailpoints, arguments: IntakeStep.allCases.filter { $0 != .mended }, dyingAt)
  func atStep(step: IntakeStep, count: Int) async throws {
    let bench = try Workbench(reader: .fake, hasPosters: true)
    try bench.addDistinct(6)
    let killed = try await bench.reel(
      "ingest", "clips", "--jobs", "2", environment: ["REEL_DIE_AT": "\(step.rawValue):\(count)"])
    #expect(killed.wasKilled, "it should have died at \(step.rawValue):\(count): \(killed.errors)")
    if FileManager.default.fileExists(atPath: bench.library.appendingPathComponent("catalog.sqlite").path) {
      expectNothing(try LibraryInspection(library: bench.library).broken())
    }
    try await expectWholeAfterRerun(bench, count: 6)
  }

  /// Two thousand rounds in the long form, or `REEL_KILLS`. `REEL_SEED` repeats the same moments.
  @Test("crashes at random moments are recovered from")
  func atRandomMoments() async throws {
    // The time in microseconds within which a run is killed. It adapts to the machine, so that most runs are killed
    // midway.
    var window: UInt64 = 150_000
    let environment = ProcessInfo.processInfo.environment
    let seed = TestSeed.drawn(environment)
    let rounds = environment["REEL_KILLS"].flatMap { Int($0) } ?? (TestForm.isLong ? 2000 : 12)
    var generator = SplitMix64(seed: seed)
    var tally = KillTally()
    for round in 0..<rounds {
      let bench = try Workbench(reader: .fake, hasPosters: true)
      let files = 3 + Int(generator.next() % 10)
      try bench.addDistinct(files)
      let running = try ReelBinary.start(
        ["ingest", "clips", "--library", bench.library.path, "--jobs", "3", "--events", "killed-0.jsonl"],
        in: bench.folder, environment: bench.environment)
      // Starting takes longer on a busy machine. Only one run in four is killed during its start.
      if generator.next() % 4 != 0 {
        while running.process.isRunning, !bench.hasCatalog { try await Task.sleep(for: .microseconds(500)) }
      }
      try await Task.sleep(for: .microseconds(Int(generator.next() % window)))
      running.send(SIGKILL)
      let wasKilled = try await running.outcome().wasKilled
      if !wasKilled { window = max(20_000, window - window / 8) }
      let isEarly = try !bench.hasCatalog || LibraryInspection(library: bench.library).published.isEmpty
      if wasKilled, isEarly { window += window / 12 }
      if bench.hasCatalog {
        let found = try LibraryInspection(library: bench.library)
        expectNothing(try found.broken(), "seed \(seed), round \(round)")
        tally.count(found, of: files, wasKilled: wasKilled)
      } else {
        tally.count(nil, of: files, wasKilled: wasKilled)
      }
      try await expectWholeAfterRerun(bench, count: files, killed: 1, "seed \(seed), round \(round)")
      if (round + 1).isMultiple(of: 100) { print("after \(round + 1) kills, seed \(seed): \(tally)") }
    }
    print("random kills, seed \(seed): \(tally)")
  }

  @Test("a batch that is killed again and again is completed in the end")
  func repeatedly() async throws {
    let seed = TestSeed.drawn()
    var generator = SplitMix64(seed: seed)
    let bench = try Workbench(reader: .fake, hasPosters: true)
    try bench.addDistinct(60)
    let rounds = TestForm.isLong ? 25 : 8
    for round in 0..<rounds {
      let running = try ReelBinary.start(
        ["ingest", "clips", "--library", bench.library.path, "--events", "killed-\(round).jsonl"],
        in: bench.folder, environment: bench.environment)
      try await Task.sleep(for: .microseconds(Int(generator.next() % 150_000)))
      running.send(SIGKILL)
      _ = try await running.outcome()
      if FileManager.default.fileExists(atPath: bench.library.appendingPathComponent("catalog.sqlite").path) {
        expectNothing(try LibraryInspection(library: bench.library).broken(), "seed \(seed), round \(round)")
      }
    }
    try await expectWholeAfterRerun(bench, count: 60, killed: rounds, "seed \(seed)")
  }

  /// - Parameter killed: The number of runs with events. Together with those of the next run, they must report every
  ///   post.
  private func expectWholeAfterRerun(
    _ bench: Workbench, count: Int, killed: Int = 0, _ comment: Comment? = nil
  ) async throws {
    let wasBegun = FileManager.default.fileExists(atPath: bench.library.path)
    let feed = try await bench.reel("feed", "--json")
    #expect(
      feed.status == (wasBegun ? 0 : 1),
      "the feed can't be read after a crash: \(feed.errors) \(comment ?? "")")
    let again = try await bench.reel("ingest", "clips", "--events", "again.jsonl")
    #expect(again.status == 0, "\(again.errors) \(comment ?? "")")
    let inspection = try LibraryInspection(library: bench.library)
    expectNothing(try inspection.brokenAfterCompletion(), comment)
    #expect(inspection.published.count == count, comment)
    #expect(inspection.posters.count == count, comment)
    if killed > 0 {
      let told = try bench.told(in: (0..<killed).map { "killed-\($0).jsonl" } + ["again.jsonl"])
      #expect(inspection.published.filter { !told.contains($0.key) }.map(\.key) == [], comment)
    }
    let third = try await bench.reel("ingest", "clips", "--json")
    let summary = try third.object()["summary"] as? [String: Any]
    #expect(summary?["published"] as? Int == 0, comment)
    #expect(summary?["duplicates"] as? Int == count, comment)
  }
}

/// The states in which the killed runs left their libraries. They show that not all were killed before or after the
/// work.
struct KillTally: CustomStringConvertible {
  private var killed = 0
  private var ended = 0
  private var withoutCatalog = 0
  private var withoutPost = 0
  private var midway = 0
  private var whole = 0
  private var unfinished = 0
  private var untold = 0
  private var leftovers = 0

  mutating func count(_ found: LibraryInspection?, of files: Int, wasKilled: Bool) {
    if wasKilled { killed += 1 } else { ended += 1 }
    guard let found else {
      withoutCatalog += 1
      return
    }
    switch found.published.count {
    case 0: withoutPost += 1
    case files: whole += 1
    default: midway += 1
    }
    unfinished += found.unfinished > 0 ? 1 : 0
    untold += found.untold > 0 ? 1 : 0
    leftovers += found.leftovers.contains { $0.hasSuffix(".part") } ? 1 : 0
  }

  var description: String {
    """
    \(killed) killed, \(ended) had ended; \(withoutCatalog) without a catalog, \(withoutPost) without a post, \
    \(midway) midway, \(whole) with every post; \(unfinished) with unfinished intents, \(untold) with untold posts, \
    \(leftovers) with temporary files
    """
  }
}
