import Foundation
import ReelTestSupport
import Testing

/// The power goes: what two runs and the doctor wrote is played up to every point, what was not synced is lost in
/// several ways, and the library is brought up from what is left (`ImaginedDisk` says by which rules).
@Suite("After a power loss", .shortTime, .serialized, .enabled(if: SystemShim.isPossible))
struct PowerLossTests {
  static let clips = 3
  /// Of all states that are looked at, how many the real binary is run on.
  static let broughtUp = TestForm.isLong ? 250 : 6

  private struct Case {
    let cut: Int
    let rule: ImaginedDisk.Rule
    let fate: ImaginedDisk.Fate
    let seed: UInt64
  }

  @Test(
    "what was told as published is there, whole, and one post for each video",
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

  /// Every point: in the long form with all that was not synced lost, kept, and twice lost in part; in the short
  /// form with one of these, and every other point by either rule.
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
    "after another boot, what was in flight is free when its lease has run out, without a doctor",
    .enabled(if: ReelBinary.hasFailpoints), arguments: ["intended:2", "uploaded:2", "published:2"])
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
    // A post that the other was about to tell is left to it until then.
    try await Task.sleep(for: .microseconds(Int(3_100_000)))
    try await bench.expectWhole(Self.clips, "\(step)", environment: boot)
  }

  @Test("a sync that fails is not believed the second time: nothing that it was to write counts")
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
    "without the syncs it does not hold: the replay would tell", arguments: ["file", "folder", "catalog"])
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
