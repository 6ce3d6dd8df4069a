import Foundation
import ReelTestSupport
import Testing

/// A library on a full disk, on real file systems. The free space determines which write is the first to fail. Some
/// writes are not calls that fail but accesses to memory (SIGBUS).
@Suite("A full disk under the library", .shortTime, .serialized)
struct FullDiskTests {
  /// The numbers of free bytes.
  private static let rests =
    TestForm.isLong ? (0...80).map { $0 * 1024 } : [0, 4, 20, 28, 36].map { $0 * 1024 }

  /// Every command that only reads, and writes at most elsewhere.
  private static let readers = [
    ["feed"], ["feed", "--search", "silent"], ["status"], ["export", "-o", "-"], ["verify"], ["doctor"],
    ["page", "-o", "site"],
    ["backup", "-o", "backup.sqlite"],
  ]

  @Test(
    "file systems of every kind can be made here",
    .enabled(if: MountedDisk.missing.isEmpty, "can't be made and mounted here: \(MountedDisk.missing)"))
  func kinds() { #expect(MountedDisk.possible.count == MountedDisk.Kind.allCases.count) }

  @Test(
    "a library on a full disk can be read, crashes no process, and accepts videos once there is room",
    .enabled(
      if: !MountedDisk.possible.isEmpty && !TestForm.isSanitized, "no file system can be mounted here"),
    arguments: MountedDisk.possible)
  func full(_ kind: MountedDisk.Kind) async throws {
    var codes: Set<String> = []
    for rest in Self.rests {
      let disk = try MountedDisk(kind)
      let library = disk.folder.appendingPathComponent("library").path
      let bench = try Workbench(reader: .fake)
      try bench.addDistinct(3)
      func reel(_ words: [String]) async throws -> ReelBinary.Outcome {
        try await ReelBinary.run(
          words + ["--library", library], in: bench.folder, environment: bench.environment)
      }
      let stored = ["--to", bench.folder.appendingPathComponent("store").path]
      #expect(try await reel(["ingest", "clips"] + stored).status == 0)
      try bench.addDistinct(1, from: 3)
      try disk.fill(leaving: rest)
      for words in Self.readers {
        let outcome = try await reel(words)
        #expect(outcome.status == 0 && !outcome.wasKilled, "\(kind), \(rest) left, \(words): \(outcome)")
      }
      #expect(
        try FileManager.default.attributesOfItem(atPath: bench.folder.path + "/backup.sqlite")[.size] as? Int
          ?? 0 > 0)
      let outcome = try await reel(["ingest", "clips", "--events", "events.jsonl"] + stored)
      let place: Comment = "\(kind), \(rest) left: \(outcome)"
      #expect(!outcome.wasKilled && [0, 1].contains(outcome.status), place)
      if outcome.status == 1 {
        #expect(outcome.errors.contains("no space left"), place)
        codes.insert("full")
      }
      disk.free()
      let again = try await reel(["ingest", "clips"] + stored)
      #expect(again.status == 0, "\(kind), \(rest) left: \(again)")
      let inspection = try LibraryInspection(
        library: URL(fileURLWithPath: library), store: bench.folder.appendingPathComponent("store"))
      #expect(try inspection.broken() == [] && inspection.published.count == 4, place)
      let looked = try await reel(["doctor", "--read"])
      #expect(looked.status == 0, "\(looked)")
    }
    #expect(codes == ["full"], "it was never full")
  }

  /// The log's contents count as well, whether a killed process has left them or one that has the catalog open.
  @Test(
    "a log that was not checkpointed can be read, and crashes neither readers nor an open catalog",
    .enabled(
      if: !MountedDisk.possible.isEmpty && !TestForm.isSanitized, "no file system can be mounted here"),
    .needsFailpoints, arguments: MountedDisk.possible, [0, 20, 32])
  func log(_ kind: MountedDisk.Kind, kilobytes: Int) async throws {
    let disk = try MountedDisk(kind)
    let library = disk.folder.appendingPathComponent("library").path
    let bench = try Workbench(reader: .fake)
    try bench.addDistinct(3)
    let stored = ["--to", bench.folder.appendingPathComponent("store").path, "--library", library]
    func reel(_ words: [String], _ environment: [String: String] = [:]) async throws -> ReelBinary.Outcome {
      try await ReelBinary.run(
        words, in: bench.folder, environment: bench.environment.merging(environment) { $1 })
    }
    #expect(try await reel(["ingest", "clips"] + stored, ["REEL_DIE_AT": "completeCommitted:3"]).wasKilled)
    #expect(FileManager.default.fileExists(atPath: library + "/catalog.sqlite-wal"))
    func expectReadable() async throws {
      for words in [["feed"], ["status"], ["export", "-o", "-"], ["verify"]] {
        let outcome = try await reel(words + ["--library", library])
        #expect(outcome.status == 0 && !outcome.wasKilled, "\(kind), \(words): \(outcome)")
      }
    }
    try disk.fill(leaving: kilobytes << 10)
    try await expectReadable()
    disk.free()
    let watch = try ReelBinary.start(
      ["watch", "clips"] + stored, in: bench.folder, environment: bench.environment)
    try bench.addDistinct(1, from: 3)
    while try await !reel(["export", "-o", "-", "--library", library]).output.contains("clip-00003") {
      try await Task.sleep(for: .milliseconds(100))
    }
    try disk.fill(leaving: kilobytes << 10)
    try bench.addDistinct(3, from: 4)
    try await expectReadable()
    disk.free()
    watch.send(SIGTERM)
    let outcome = try await watch.outcome()
    #expect(!outcome.wasKilled, "\(kind): \(outcome)")
    let again = try await reel(["ingest", "clips"] + stored)
    #expect(again.status == 0, "\(kind): \(again)")
    let inspection = try LibraryInspection(
      library: URL(fileURLWithPath: library), store: bench.folder.appendingPathComponent("store"))
    #expect(try inspection.broken() == [] && inspection.published.count == 7)
  }
}
