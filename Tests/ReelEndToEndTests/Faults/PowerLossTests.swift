import Foundation
import ReelTestSupport
import Testing

/// Power losses: the writes of two runs and the doctor are replayed up to every point, data that was not synced is lost
/// in several ways, and a run recovers the library from the rest (`ImaginedDisk` states the rules).
@Suite("After a power loss", .shortTime, .serialized, .needsSystemShim)
struct PowerLossTests {
  static let clips = 3
  /// The number of states on which the real binary is run.
  static let broughtUp = TestForm.isLong ? 250 : 6

  private struct Case {
    let cut: Int
    let rule: ImaginedDisk.Rule
    let fate: ImaginedDisk.Fate
    let seed: UInt64
  }

  @Test(
    "what was reported as published exists and is complete, with one post for each video",
    arguments: ImaginedDisk.Rule.allCases)
  func replayed(rule: ImaginedDisk.Rule) async throws {
    var scene = try await PowerLossScene(clips: Self.clips)
    let seed = TestSeed.drawn()
    var generator = SplitMix64(seed: seed)
    let cases = Self.cases(of: scene.record, rule, &generator)
    let chosen = Set((0..<Self.broughtUp).map { _ in Int.random(in: cases.indices, using: &generator) })
    for (index, found) in cases.enumerated() {
      let comment: Comment =
        "cut \(found.cut) of \(scene.record.steps.count), \(found.rule), \(found.fate), \(found.seed)"
      try scene.cutPower(after: found.cut, found.rule, found.fate, found.seed)
      expectNothing(try scene.broken(), comment)
      if chosen.contains(index) { try await scene.bringUp(comment) }
    }
  }

  /// Every point: in the long form with all unsynced data lost, with all of it kept, and twice with a part lost. In the
  /// short form with one of these, and every other point for each rule.
  private static func cases(
    of record: DiskRecord, _ rule: ImaginedDisk.Rule, _ generator: inout SplitMix64
  ) -> [Case] {
    let first = TestForm.isLong || rule == .journal ? 0 : 1
    return stride(from: first, through: record.steps.count, by: TestForm.isLong ? 1 : 2).flatMap { cut in
      let fates = ImaginedDisk.Fate.allCases
      return (TestForm.isLong ? fates : [fates.randomElement(using: &generator) ?? .allLost]).map {
        Case(cut: cut, rule: rule, fate: $0, seed: generator.next())
      }
    }
  }

  @Test(
    "after a reboot, intents are free once their leases have ended, without the doctor",
    .needsFailpoints, arguments: ["intended:2", "uploaded:2", "published:2"])
  func otherBoot(step: String) async throws {
    let bench = try Workbench()
    try bench.addDistinct(Self.clips)
    let killed = try await bench.reel(
      "ingest", "clips", "--jobs", "1",
      environment: SystemShim.environment(
        root: bench.folder, ["REEL_DIE_AT": step, "REEL_LEASE_SECONDS": "3"]))
    #expect(killed.wasKilled)
    let boot = try await bench.otherBoot()
    let first = try await bench.reel("ingest", "clips", environment: boot)
    #expect(first.status == 0, "\(first.errors)")
    #expect(try LibraryInspection(library: bench.library).published.count == Self.clips)
    // A post that the other process was about to report is left to it until then.
    try await Task.sleep(for: .microseconds(Int(3_100_000)))
    try await bench.expectWhole(Self.clips, "\(step)", environment: boot)
  }

  @Test("after a failed sync, a second one is not trusted: none of the data concerned counts")
  func failedSync() async throws {
    let places = TestForm.isLong ? Array(1...40) : [3, 8, 13, 18]
    for nth in places {
      var scene = try await PowerLossScene(clips: Self.clips, fault: "fsync:\(nth):\(EIO)")
      for rule in ImaginedDisk.Rule.allCases {
        for fate in ImaginedDisk.Fate.allCases {
          let comment: Comment = "sync \(nth), \(rule), \(fate)"
          try scene.cutPower(after: scene.record.steps.count, rule, fate, 1)
          expectNothing(try scene.broken(), comment)
          if TestForm.isLong { try await scene.bringUp(comment) }
        }
      }
    }
  }

  @Test(
    "without the syncs, the replay finds violations", arguments: ["file", "folder", "catalog"])
  func withoutSyncs(of kind: String) async throws {
    var scene = try await PowerLossScene(clips: Self.clips)
    scene.forgetSyncs { path in
      switch kind {
      case "file": path.hasSuffix(".part")
      case "folder": path.hasSuffix("/media")
      default: path.contains("catalog.sqlite")
      }
    }
    var isBroken = false
    for cut in 0...scene.record.steps.count where !isBroken {
      try scene.cutPower(after: cut, .onlyWhatWasSynced, .allLost, 1)
      isBroken = (try? scene.broken().isEmpty) != true
    }
    #expect(isBroken)
  }
}
