import Foundation
import ReelTestSupport
import Testing

/// That what must be durable is asked to be: seen in the system calls. (Calls that fail: `SystemErrorTests`; what is
/// lost without them: `PowerLossTests`.)
@Suite("What is synced", .shortTime)
struct SyncTests {
  @Test(
    "an object that a dead process named is synced with its folder before it becomes a post",
    .enabled(if: Strace.isPossible && ReelBinary.hasFailpoints))
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
}
