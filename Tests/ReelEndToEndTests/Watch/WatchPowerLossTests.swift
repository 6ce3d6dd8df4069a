import Foundation
import ReelTestSupport
import Testing

/// Power losses while a watch moves or removes ingested files, as in ``PowerLossTests``.
@Suite(
  "After a power loss under a watch", .shortTime, .notQuick, .serialized, .needsSystemShim)
struct WatchPowerLossTests {
  /// The number of states, for each way and rule, on which the real binary is run: 504 in all in the long form.
  private static let broughtUp = TestForm.isLong ? 84 : 2
  /// The number of states that are checked: all of them in the long form.
  private static let lookedAt = TestForm.isLong ? Int.max : 120

  private struct Case {
    let cut: Int
    let fate: ImaginedDisk.Fate
    let seed: UInt64
  }

  @Test(
    "a removed file is a post, a moved one is at its target, and the next watch makes each one post",
    arguments: WatchPowerLossScene.Way.allCases, ImaginedDisk.Rule.allCases)
  func replayed(_ way: WatchPowerLossScene.Way, _ rule: ImaginedDisk.Rule) async throws {
    var scene = try await WatchPowerLossScene(way)
    let seed = TestSeed.drawn()
    var generator = SplitMix64(seed: seed)
    let all = (0...scene.record.steps.count).flatMap { cut in
      ImaginedDisk.Fate.allCases.map { Case(cut: cut, fate: $0, seed: generator.next()) }
    }
    let indices = all.indices.shuffled(using: &generator).prefix(Self.lookedAt)
    let chosen = Set(indices.prefix(Self.broughtUp))
    for index in indices.sorted() {
      let found = all[index]
      let comment: Comment =
        "\(way), cut \(found.cut) of \(scene.record.steps.count), \(rule), \(found.fate), \(found.seed)"
      try scene.cutPower(after: found.cut, rule, found.fate, found.seed)
      expectNothing(try scene.broken(), comment)
      if chosen.contains(index) { try await scene.bringUp(comment) }
    }
  }

  @Test(
    "without one of the syncs, the replay finds violations",
    arguments: [
      (WatchPowerLossScene.Way.otherDisk, "/disk/done/.reel-moving-"), (.otherDisk, "/disk/done"),
      (.otherDisk, "/disk"), (.move, "/out"), (.delete, "catalog.sqlite"), (.delete, ".part"),
      (.delete, "/clips"), (.move, "/clips"), (.otherDisk, "/clips"),
    ])
  func withoutSyncs(_ way: WatchPowerLossScene.Way, of path: String) async throws {
    var scene = try await WatchPowerLossScene(way)
    scene.forgetSyncs { synced in
      // A folder is matched by its end, which may be a dot, and files by any part.
      path.contains(".") ? synced.contains(path) : synced.hasSuffix(path) || synced.hasSuffix(path + "/.")
    }
    var isBroken = false
    // Backwards: what is not synced at once never is, unless the library's next group syncs everything. The cuts right
    // after each file goes are tried first, often enough to make a chance of one in five certain.
    let cuts =
      scene.record.steps.indices.filter(scene.takesFileAway).reversed().map { ($0 + 1, 48) }
      + stride(from: scene.record.steps.count, through: 0, by: -3).map { ($0, 4) }
    for (cut, seeds) in cuts where !isBroken {
      for seed in 0..<UInt64(seeds) where !isBroken {
        try scene.cutPower(after: cut, .onlyWhatWasSynced, .someLost, seed)
        isBroken = (try? scene.broken().isEmpty) != true
      }
    }
    #expect(isBroken)
  }
}
