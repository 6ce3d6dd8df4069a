import Foundation
import ReelTestSupport
import Testing

/// Power losses while posts are removed, restored and moved (`ImaginedDisk` states the rules).
@Suite(
  "After a power loss during changes to posts", .shortTime, .serialized, .needsSystemShim)
struct ChangePowerLossTests {
  /// The number of states, per rule, on which the real binary is run.
  static let broughtUp = TestForm.isLong ? 100 : 3

  @Test(
    "no post lacks its objects, what was reported is in effect, and everything can be completed",
    arguments: ImaginedDisk.Rule.allCases)
  func replayed(rule: ImaginedDisk.Rule) async throws {
    var scene = try await ChangePowerLossScene()
    let seed = TestSeed.drawn()
    var generator = SplitMix64(seed: seed)
    let fates = ImaginedDisk.Fate.allCases
    let cuts = stride(from: scene.first, through: scene.record.steps.count, by: TestForm.isLong ? 1 : 3)
    let chosen = Set((0..<Self.broughtUp).compactMap { _ in Array(cuts).randomElement(using: &generator) })
    for cut in cuts {
      for fate in TestForm.isLong ? fates : [fates.randomElement(using: &generator) ?? .allLost] {
        let comment: Comment = "cut \(cut) of \(scene.record.steps.count), \(rule), \(fate), seed \(seed)"
        try scene.cutPower(after: cut, rule, fate, generator.next())
        expectNothing(try scene.broken(), comment)
        if chosen.contains(cut) { try await scene.bringUp(comment) }
      }
    }
  }

  @Test("without the syncs, the replay finds violations")
  func withoutSyncs() async throws {
    var scene = try await ChangePowerLossScene()
    scene.forgetSyncsOfChanges { $0.hasSuffix("/media") || $0.hasSuffix("/other") }
    var isBroken = false
    for cut in scene.first...scene.record.steps.count where !isBroken {
      try scene.cutPower(after: cut, .onlyWhatWasSynced, .allLost, 1)
      isBroken = try !scene.broken().isEmpty
    }
    #expect(isBroken)
  }
}

/// A library whose posts were changed while all writes to the disk were recorded.
private struct ChangePowerLossScene {
  var record: DiskRecord { replay.record }
  private var replay: DiskReplay
  /// The steps before the first change.
  let first: Int
  private let bench: Workbench
  private let ids: [String]
  private var told = ToldChanges("")
  private var other: URL { bench.folder.appendingPathComponent("other") }

  init() async throws {
    bench = try Workbench(reader: .fake)
    try bench.addDistinct(4)
    let log = bench.folder.appendingPathComponent("record")
    let environment = try await SystemShim.environment(
      root: bench.folder, ["REEL_SHIM_RECORD": log.path, "REEL_LEASE_SECONDS": "1"])
    let filled = try await bench.reel("ingest", "clips", "--jobs", "2", environment: environment)
    #expect(filled.status == 0, "\(filled.errors)")
    first = try DiskRecord(log).steps.count
    ids = try ChangeInspection(library: bench.library).posts.values.sorted { $0.page < $1.page }.map(\.id)
    let commands = [
      ["remove", ids[0]], ["remove", "--keep", "1h", ids[1]], ["move", ids[2], ids[3], "--to", "other"],
      ["restore", ids[1]], ["restore", ids[0], "--from", "clips"], ["remove", ids[2]],
    ]
    for command in commands {
      let changed = try await ReelBinary.run(
        command + ["--events", "-", "--library", bench.library.path], in: bench.folder,
        environment: bench.environment.merging(environment) { $1 })
      #expect(changed.status == 0, "\(changed.errors)")
    }
    replay = DiskReplay(try DiskRecord(log))
    try await Task.sleep(for: .milliseconds(1_100))
    try FileManager.default.removeItem(at: log)
  }

  /// Earlier syncs are kept.
  mutating func forgetSyncsOfChanges(_ isForgotten: (String) -> Bool) {
    replay.forgetSyncs(after: first, isForgotten)
  }

  mutating func cutPower(after cut: Int, _ rule: ImaginedDisk.Rule, _ fate: ImaginedDisk.Fate, _ seed: UInt64)
    throws
  {
    for folder in [bench.library, other] { try? FileManager.default.removeItem(at: folder) }
    told = ToldChanges(
      try replay.cutPower(after: cut, on: ImaginedDisk(root: bench.folder, rule: rule), fate, seed))
  }

  func inspection() throws -> ChangeInspection {
    try ChangeInspection(library: bench.library, others: [other])
  }

  /// Returns the violations before any process has touched the library.
  func broken() throws -> [String] {
    let found = try inspection()
    var broken = found.broken()
    for id in ids where found.posts[id] == nil && found.removed[id] == nil { broken.append("\(id) is lost") }
    // The third post is moved and then removed.
    let isGone = told.ids["post.removed"] ?? []
    if isGone.contains(ids[2]), found.posts[ids[2]] != nil { broken.append("a removal was told and lost") }
    for id in told.ids["post.restored"] ?? [] where found.posts[id] == nil {
      broken.append("a restoration was told and lost")
    }
    for id in told.ids["post.moved"] ?? [] {
      let store = found.posts[id]?.store ?? found.removed[id]?.store
      if store != "file://" + other.path { broken.append("a move was told and lost") }
    }
    return broken
  }

  /// Runs the real binary on the library, on a machine that was rebooted.
  func bringUp(_ comment: Comment) async throws {
    let boot = try await bench.otherBoot()
    let prune = try await bench.reel("prune", environment: boot)
    // No run has the file that is needed for the restoration.
    #expect([0, 3].contains(prune.status), "\(prune.output) \(prune.errors) \(comment)")
    _ = try await bench.reel("prune", environment: boot)
    let doctor = try await bench.reel("doctor", "--fix", "--read", "--grace", "0", environment: boot)
    #expect(doctor.status == 0, "\(doctor.output) \(doctor.errors) \(comment)")
    expectNothing(try inspection().brokenAtRest(), comment)
    expectNothing(try broken(), comment)
  }
}
