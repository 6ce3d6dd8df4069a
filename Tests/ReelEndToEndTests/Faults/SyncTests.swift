import Foundation
import ReelTestSupport
import Testing

/// Checks in the system calls that durable data is synced. (`SystemErrorTests` has calls that fail, and
/// `PowerLossTests` what is lost without them.)
@Suite("What is synced", .shortTime)
struct SyncTests {
  @Test(
    "an object named by a dead process is synced with its folder before it becomes a post",
    .needsStrace, .needsFailpoints)
  func foundObject() async throws {
    let bench = try Workbench()
    try bench.addDistinct(1)
    _ = try await bench.reel("ingest", "clips", environment: ["REEL_DIE_AT": "uploaded"])
    let log = bench.folder.appendingPathComponent("calls")
    let again = try await ReelBinary.start(
      ["ingest", "clips", "--library", bench.library.path], in: bench.folder,
      launcher: [Strace.path, "-f", "-y", "-o", log.path, "-e", "trace=fsync"]
    ).outcome()
    #expect(again.status == 0, "\(again.errors)")
    let calls = String(decoding: try Data(contentsOf: log), as: UTF8.self)
    #expect(calls.contains("library/media>"), "\(calls)")
  }

  @Test(
    "a site's pages and media are synced before the index that refers to them",
    .needsStrace, arguments: ["in-place", "link", "copy"])
  func site(media: String) async throws {
    let bench = try Workbench(reader: .fake)
    try bench.addDistinct(2)
    _ = try await bench.reel("ingest", "clips")
    let log = bench.folder.appendingPathComponent("calls")
    let page = try await ReelBinary.start(
      ["page", "-o", "site", "--media", media, "--library", bench.library.path], in: bench.folder,
      launcher: [
        Strace.path, "-f", "-y", "-o", log.path, "-e", "trace=fsync,syncfs,rename,renameat,renameat2",
      ]
    ).outcome()
    #expect(page.status == 0, "\(page.errors)")
    let calls = String(decoding: try Data(contentsOf: log), as: UTF8.self).split(separator: "\n")
    let index = try #require(calls.firstIndex { $0.contains("\"feed/index.js\"") })
    let last = try #require(calls.lastIndex { $0.contains("\"feed/1.js\"") })
    #expect(last < index)
    #expect(calls[last..<index].contains { $0.contains("fsync(") && $0.contains("site/feed>") }, "\(calls)")
    guard media != "in-place" else { return }
    let brought = try #require(calls.lastIndex { $0.contains("\"media/") })
    #expect(brought < index)
    #expect(calls[brought..<index].contains { $0.contains("syncfs(") }, "\(calls)")
  }
}
