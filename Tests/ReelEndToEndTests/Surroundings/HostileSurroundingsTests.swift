import Foundation
import Glibc
import ReelTestSupport
import Testing

/// Disks that are small or read-only, and files that change during a run.
@Suite("In hostile surroundings", .shortTime)
struct HostileSurroundingsTests {
  @Test(
    "with a store that fills up midway, what fits is published, and the rest once there is space",
    .needsMounting)
  func fullStore() async throws {
    let bench = try Workbench()
    try bench.addDistinct(8)
    let size = try Data(contentsOf: Workbench.sample("clips/faststart.mp4")).count
    let disk = try #require(TinyDisk(kilobytes: size * 4 / 1024 + 24))
    let store = disk.path + "/store"
    let first = try await bench.reel("ingest", "clips", "--to", store)
    #expect([1, 3].contains(first.status), "\(first.errors)")
    #expect((first.output + first.errors).contains("space"), "\(first.output) \(first.errors)")
    let storeURL = URL(fileURLWithPath: store)
    let before = try LibraryInspection(library: bench.library, store: storeURL)
    #expect(try before.broken() == [])
    #expect((1..<8).contains(before.published.count))
    #expect(disk.grow(kilobytes: size * 20 / 1024))
    let again = try await bench.reel("ingest", "clips", "--to", store)
    #expect(again.status == 0, "\(again.errors)")
    let after = try LibraryInspection(library: bench.library, store: storeURL)
    #expect(try after.brokenAfterCompletion() == [])
    #expect(after.published.count == 8)
  }

  @Test(
    "with a library on a disk that fills up, no post is lost, and the run ends with a clear error",
    .needsMounting, arguments: [40, 120, 200, 280, 400])
  func fullLibrary(kilobytes: Int) async throws {
    let bench = try Workbench()
    try bench.addDistinct(8)
    let disk = try #require(TinyDisk(kilobytes: kilobytes))
    let library = URL(fileURLWithPath: disk.path + "/library")
    func ingest() async throws -> ReelBinary.Outcome {
      try await ReelBinary.run(["ingest", "clips", "--library", library.path], in: bench.folder)
    }
    let first = try await ingest()
    #expect([0, 1, 3].contains(first.status) && !first.wasKilled, "\(first.status) \(first.errors)")
    #expect(first.status == 0 || !(first.output + first.errors).isEmpty)
    if FileManager.default.fileExists(atPath: library.appendingPathComponent("catalog.sqlite").path) {
      #expect(try LibraryInspection(library: library).broken() == [])
    }
    #expect(disk.grow(kilobytes: 20_000))
    let again = try await ingest()
    #expect(again.status == 0, "\(again.errors)")
    let after = try LibraryInspection(library: library)
    #expect(try after.brokenAfterCompletion() == [])
    #expect(after.published.count == 8)
  }

  @Test(
    "files in a folder that may not be listed are published, each with the sidecar of its exact name",
    .needsNoRoot)
  func unlistableFolder() async throws {
    let bench = try Workbench()
    for (place, name) in ["clip", "caf\u{E9}", "the\u{301}"].enumerated() {
      try bench.addDistinct(1, from: place)
      let made = try #require(
        FileManager.default.contentsOfDirectory(atPath: bench.clips.path).first { $0.hasPrefix("clip-") })
      try FileManager.default.moveItem(
        atPath: bench.clips.path + "/" + made, toPath: bench.clips.path + "/\(name).mp4")
      if place < 2 { try bench.write(#"{"caption":"Sea"}"#, to: "\(name).json") }
    }
    let names = try FileManager.default.contentsOfDirectory(atPath: bench.clips.path)
    for name in names { try #require(chmod(bench.clips.path + "/" + name, 0o644) == 0) }
    try #require(chmod(bench.folder.path, 0o777) == 0 && chmod(bench.clips.path, 0o311) == 0)
    defer { chmod(bench.clips.path, 0o755) }
    for name in names where name.hasSuffix(".mp4") {
      let run = try await ReelBinary.start(
        ["publish", "clips/\(name)", "--library", bench.library.path], in: bench.folder,
        environment: ["HOME": bench.folder.path], launcher: geteuid() == 0 ? OtherUser.launcher : []
      ).outcome()
      #expect(run.status == 0 && run.output.contains("Sea") == !name.hasPrefix("th"), "\(name): \(run)")
    }
  }

  @Test(
    "with a read-only store nothing is published, and it says why", .needsMounting)
  func readOnlyStore() async throws {
    let bench = try Workbench()
    try bench.addDistinct(2)
    let disk = try #require(TinyDisk(kilobytes: 4000))
    #expect(disk.makeReadOnly())
    let outcome = try await bench.reel("ingest", "clips", "--to", disk.path + "/store")
    #expect(
      outcome.status == 1 && (outcome.output + outcome.errors).lowercased().contains("read-only"),
      "\(outcome)")
    let inspection = try LibraryInspection(library: bench.library, store: URL(fileURLWithPath: disk.path))
    #expect(inspection.published.isEmpty && inspection.unfinished == 0)
  }

  @Test("a file may grow, shrink, be replaced or be removed while it is ingested")
  func restlessFile() async throws {
    let bench = try Workbench()
    let base = try Data(contentsOf: Workbench.sample("clips/faststart.mp4"))
    let file = bench.clips.appendingPathComponent("restless.mp4")
    let rounds = TestForm.isLong ? 200 : 12
    for round in 0..<rounds {
      try base.write(to: file)
      let running = try ReelBinary.start(
        ["ingest", "clips", "--library", bench.library.path], in: bench.folder)
      var number = round
      while running.process.isRunning {
        number += 1
        disturb(file, base, number)
        try await Task.sleep(for: .microseconds(Int(500)))
      }
      let outcome = try await running.outcome()
      #expect(
        [0, 3, 4].contains(outcome.status) && !outcome.wasKilled, "\(outcome.status) \(outcome.errors)")
      #expect(try LibraryInspection(library: bench.library).broken() == [])
    }
  }

  private func disturb(_ file: URL, _ base: Data, _ number: Int) {
    switch number % 5 {
    case 0:
      let handle = try? FileHandle(forWritingTo: file)
      _ = try? handle?.seekToEnd()
      try? handle?.write(contentsOf: Data([0, 0, 0, 8]) + Data("free".utf8))
      try? handle?.close()
    case 1: truncate(file.path, off_t(base.count / 2))
    case 2: try? base.write(to: file, options: .atomic)
    case 3: try? FileManager.default.removeItem(at: file)
    default:
      try? (base + Data([0, 0, 0, 16]) + Data("free".utf8) + Data(String(format: "%08d", number).utf8))
        .write(to: file)
    }
  }
}
