import Foundation
import ReelHostileFiles
import ReelTestSupport
import Testing

@Suite("hostile files, ingested", .serialized, .shortTime)
struct IngestTests {
  @Test("a dry run gives each file exactly one end and writes nothing")
  func dryRun() throws {
    let set = try Bench.hostileSet().files.filter { !["sparse", "edits"].contains($0.group) }
    let files = Bench.some(set, oneIn: 8)
    let bench = try Bench(files)
    let run = try bench.reel(
      "ingest", bench.files.path, "--dry-run", "--events", "events.jsonl", "--library", bench.library.path)
    #expect([3, 4].contains(run.status), "\(run.errorText)")
    ProbeTests.expectFit(run)
    let verdicts = Verdicts(files: files, answers: try ends(bench))
    #expect(verdicts.broken(ok: ["file.planned", "file.refused", "file.duplicate"]) == [])
    #expect(!FileManager.default.fileExists(atPath: bench.library.path))
  }

  @Test("what is published is complete, and nothing else is stored")
  func published() throws {
    let set = try Bench.hostileSet()
    let files =
      set.groups("names", "special")
      + Bench.some(set.groups("playlists", "cut", "tags", "compressed"), oneIn: 5)
    let bench = try Bench(files)
    let run = try bench.reel(
      "ingest", bench.files.path, "--events", "events.jsonl", "--library", bench.library.path)
    #expect([3, 4].contains(run.status), "\(run.errorText)")
    let ends = try ends(bench)
    let verdicts = Verdicts(files: files, answers: ends)
    #expect(verdicts.broken(ok: ["post.published", "file.refused", "file.duplicate"]) == [])
    let stored = try FileManager.default.contentsOfDirectory(
      atPath: bench.library.appendingPathComponent("media").path
    ).filter { !$0.hasPrefix(".") }
    #expect(stored.count == ends.count { $0.code == "post.published" })
    // Each of these names has a different video, and every one is published, whatever its name.
    let named = ends.filter { $0.path.starts(with: "names/".utf8) }
    #expect(named.count >= 60 && named.allSatisfy { $0.code == "post.published" })
  }

  private func ends(_ bench: Bench) throws -> [Answer] {
    let events = try Data(contentsOf: bench.folder.appendingPathComponent("events.jsonl"))
    return try Answer.ends(String(decoding: events, as: UTF8.self), beneath: bench.files)
  }
}
