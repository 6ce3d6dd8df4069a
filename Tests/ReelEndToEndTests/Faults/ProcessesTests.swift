import Foundation
import ReelLibrary
import ReelTestSupport
import Testing

/// Several processes that use one library.
@Suite("Several processes", .shortTime)
struct ProcessesTests {
  @Test("publish every video once and without an error, whichever comes first", arguments: [2, 4, 8])
  func together(count: Int) async throws {
    let bench = try Workbench()
    try bench.addDistinct(20)
    try bench.add("clips/studio.mxf", as: "more/other.mxf")
    let runs = try (0..<count).map { number in
      try ReelBinary.start(
        ["ingest", number.isMultiple(of: 2) ? "clips" : "clips/more", "clips", "--json", "--jobs", "2"]
          + ["--library", bench.library.path], in: bench.folder)
    }
    var published = 0
    for run in runs {
      let outcome = try await run.outcome()
      #expect(outcome.status == 0, "\(outcome.errors)")
      published += (try outcome.object()["summary"] as? [String: Any])?["published"] as? Int ?? 0
    }
    let inspection = try LibraryInspection(library: bench.library)
    #expect(try inspection.brokenAfterCompletion() == [])
    #expect(inspection.published.count == 21 && published == 21)
  }

  /// SQLite's WAL-reset bug in the program itself. `WALResetCampaign` in `ReelLibraryTests` is the campaign.
  @Test(
    "lose no reported post while checkpoints are paused, and all succeed",
    .needsSystemShim)
  func pausedCheckpoints() async throws {
    let seed = TestSeed.drawn()
    for round in 0..<(TestForm.isLong ? 50 : 1) {
      let bench = try Workbench(reader: .fake)
      try bench.addDistinct(120)
      var environment = try await PausingVFS.environment(pausing: 20_000, seed: seed &+ UInt64(round))
      // A release build uses SQLite's own 1,000 pages, which only closing catalogs reach here.
      environment["REEL_CHECKPOINTS"] = "alone:20"
      for (key, value) in bench.environment { environment[key] = value }
      let told = try await withThrowingTaskGroup(of: Set<String>.self) { [environment] group in
        for lane in 0..<4 {
          group.addTask { try await Self.publishInParts(lane, bench, environment) }
        }
        return try await group.reduce(into: Set()) { $0.formUnion($1) }
      }
      let library = bench.library.appendingPathComponent("catalog.sqlite").path
      let sound = try await ReelBinary.runProgram(
        "/usr/bin/env", ["python3", "-c", Self.look, library], in: bench.folder)
      let lines = sound.output.split(separator: "\n").map(String.init)
      #expect(sound.status == 0 && lines.first == "ok", "REEL_SEED=\(seed) \(sound)")
      #expect(told.count == 120 && told.isSubset(of: lines.dropFirst()), "REEL_SEED=\(seed)")
      let inspection = try LibraryInspection(library: bench.library)
      #expect(try inspection.brokenAfterCompletion() == [], "REEL_SEED=\(seed)")
    }
  }

  /// A script that reads the catalog with another SQLite library than Reel's.
  private static let look = """
    import sqlite3, sys, uuid
    db = sqlite3.connect(sys.argv[1])
    print(*[row[0] for row in db.execute("PRAGMA integrity_check")])
    for row in db.execute("SELECT id FROM post NOT INDEXED"): print(uuid.UUID(bytes=row[0]))
    """

  /// Runs several processes in sequence for a quarter of the clips, and returns the ids of the posts that they
  /// reported.
  private static func publishInParts(
    _ lane: Int, _ bench: Workbench, _ environment: [String: String]
  ) async throws -> Set<String> {
    var told: Set<String> = []
    for part in 0..<5 {
      let first = lane * 30 + part * 6
      let clips = (first..<first + 6).map { String(format: "clips/clip-%05d.mp4", $0) }
      let events = bench.folder.appendingPathComponent("events-\(lane)-\(part)")
      let run = try await ReelBinary.run(
        ["ingest"] + clips + ["--events", events.path, "--library", bench.library.path], in: bench.folder,
        environment: environment)
      #expect(run.status == 0, "\(run.errors)")
      for event in try EventLog(events).events where event["type"] as? String == "post.published" {
        if let id = (event["post"] as? [String: Any])?["id"] as? String { told.insert(id) }
      }
    }
    return told
  }

  @Test(
    "a process that was stopped past its lease finds its work done when it resumes",
    .needsFailpoints,
    arguments: ["intended", "uploaded", "verified", "published"])
  func stopped(step: String) async throws {
    // A process that is stopped within a commit keeps SQLite's lock, and the others wait for it. This test is about the
    // lease.
    while try await !stopsBetweenCommits(at: step) {}
  }

  /// Returns false if the process was stopped within a commit.
  private func stopsBetweenCommits(at step: String) async throws -> Bool {
    let bench = try Workbench()
    try bench.addDistinct(3)
    let sleeper = try ReelBinary.start(
      ["ingest", "clips", "--jobs", "1", "--library", bench.library.path], in: bench.folder,
      environment: ["REEL_FAILPOINT": "\(step)=stop"])
    try await sleeper.untilStopped()
    do {
      try sleeper.endLease(in: bench.library)
    } catch let error as SQLiteError where error.code == .busy {
      sleeper.send(SIGCONT)
      #expect(try await sleeper.outcome().status == 0)
      return false
    }
    let other = try await bench.reel("ingest", "clips")
    #expect(other.status == 0, "\(other.errors)")
    #expect(try LibraryInspection(library: bench.library).published.count == 3)
    sleeper.send(SIGCONT)
    let woken = try await sleeper.outcome()
    #expect(woken.status == 0, "\(woken.errors)")
    let inspection = try LibraryInspection(library: bench.library)
    #expect(try inspection.brokenAfterCompletion() == [])
    #expect(inspection.published.count == 3)
    return true
  }

  #if DEBUG
    @Test(
      "a process stopped within a commit, or while it opens the catalog, is waited for, with a message",
      arguments: ["groupWritten:3", "completeWritten:2", "catalogOpened:1"])
    func stoppedWithinCommit(place: String) async throws {
      let bench = try Workbench()
      try bench.addDistinct(3)
      let sleeper = try ReelBinary.start(
        ["ingest", "clips", "--jobs", "1", "--library", bench.library.path], in: bench.folder,
        environment: ["REEL_FAILPOINT": "\(place)=stop"])
      try await sleeper.untilStopped()
      let others = try (0..<2).map { _ in
        try ReelBinary.start(["ingest", "clips", "--library", bench.library.path], in: bench.folder)
      }
      for other in others {
        let words = "waiting for process \(sleeper.process.processIdentifier)"
        #expect(try await other.says(words), "\(words): \(other.errorsSoFar())")
      }
      // Longer than the default timeout.
      if TestForm.isLong { try await Task.sleep(for: .microseconds(Int(14_000_000))) }
      for other in others {
        // One message for each wait, and this is the first.
        let said = other.errorsSoFar()
        #expect(said.components(separatedBy: "waiting for process").count == 2, "\(said)")
      }
      sleeper.send(SIGCONT)
      for run in others + [sleeper] {
        let outcome = try await run.outcome()
        #expect(outcome.status == 0, "\(outcome.errors)")
      }
      let inspection = try LibraryInspection(library: bench.library)
      #expect(try inspection.brokenAfterCompletion() == [])
      #expect(inspection.published.count == 3)
    }
  #endif

  @Test(
    "clocks that differ by a day, or jump during a run, cause no second post and block nobody",
    .needsSystemShim,
    arguments: [["86400", "-86400"], ["86400@40", "-86400@40"], ["-7200@25", ""], ["600@30", "-600@60"]])
  func clocks(shifts: [String]) async throws {
    let bench = try Workbench()
    try bench.addDistinct(8)
    for round in 0..<(TestForm.isLong ? 25 : 1) {
      let library = bench.folder.appendingPathComponent("library-\(round)")
      var runs: [ReelBinary.Running] = []
      for (number, shift) in shifts.enumerated() {
        var environment = try await SystemShim.environment(root: bench.folder, ["REEL_SHIM_CLOCK": shift])
        // One of the processes dies during its run.
        if number == 0 { environment["REEL_DIE_AT"] = "uploaded:5" }
        runs.append(
          try ReelBinary.start(
            ["ingest", "clips", "--jobs", "2", "--library", library.path], in: bench.folder,
            environment: environment))
      }
      for run in runs {
        let outcome = try await run.outcome()
        #expect(outcome.status == 0 || outcome.wasKilled, "\(outcome.errors)")
      }
      expectNothing(try LibraryInspection(library: library).broken())
      let again = try await ReelBinary.run(
        ["ingest", "clips", "--library", library.path], in: bench.folder)
      #expect(again.status == 0, "\(again.errors)")
      let inspection = try LibraryInspection(library: library)
      #expect(try inspection.brokenAfterCompletion() == [])
      #expect(inspection.published.count == 8)
    }
  }

  @Test(
    "one that is slow at any step does not block the others for good", .needsFailpoints,
    arguments: ["intended", "uploaded", "published"])
  func slow(step: String) async throws {
    let bench = try Workbench()
    try bench.addDistinct(4)
    let runs = try (0..<2).map { _ in
      try ReelBinary.start(
        ["ingest", "clips", "--library", bench.library.path], in: bench.folder,
        environment: ["REEL_FAILPOINT": "\(step):1=delay:700"])
    }
    for run in runs {
      let outcome = try await run.outcome()
      #expect(outcome.status == 0, "\(outcome.errors)")
    }
    let inspection = try LibraryInspection(library: bench.library)
    #expect(try inspection.brokenAfterCompletion() == [])
    #expect(inspection.published.count == 4)
  }
}
