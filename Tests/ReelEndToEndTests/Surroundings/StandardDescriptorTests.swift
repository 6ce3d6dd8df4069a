import Foundation
import ReelTestSupport
import Testing

/// Reel started with some standard descriptors closed, as by `2>&-` or a careless service manager.
@Suite("Closed standard descriptors", .shortTime)
struct StandardDescriptorTests {
  private func run(
    _ bench: Workbench, closing: String, _ arguments: [String], through wrapper: [String] = []
  ) async throws -> ReelBinary.Outcome {
    try await ReelBinary.start(
      arguments + ["--library", bench.library.path], in: bench.folder,
      launcher: wrapper + ["/bin/sh", "-c", "exec \"$0\" \"$@\" \(closing)"]
    ).outcome()
  }

  /// Otherwise messages for stderr would be written into whatever file has its number.
  @Test(
    "none of Reel's own files gets a standard descriptor's number", .needsStrace,
    arguments: ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
  func numbers(closing: String) async throws {
    let bench = try Workbench()
    try bench.addDistinct(2)
    try bench.write("just text", to: "text.mp4")
    let log = bench.folder.appendingPathComponent("calls").path
    let outcome = try await run(
      bench, closing: closing, ["ingest", "clips", "--progress", "plain"],
      through: [
        Strace.path, "-f", "-o", log, "-e",
        "trace=open,openat,openat2,socket,socketpair,eventfd2,epoll_create1",
      ])
    #expect(!outcome.wasKilled)
    let calls = String(decoding: try Data(contentsOf: URL(fileURLWithPath: log)), as: UTF8.self)
      .split(separator: "\n")
    let first = try #require(calls.first?.split(separator: " ").first)
    // Earlier calls are the dynamic linker's, which closes what it opens.
    let ours = calls.filter { $0.hasPrefix(first) }.drop { !$0.contains("/dev/null") }
    #expect(!ours.isEmpty)
    let low = ours.filter { $0.firstMatch(of: #/\) += [012]$/#) != nil }
    #expect(low.allSatisfy { $0.contains("/dev/null") }, "\(low)")
    #expect(try bench.objects().count == 2, "\(outcome.errors)")
    #expect(try LibraryInspection(library: bench.library).broken() == [])
  }

  @Test("a closed output is reported by the exit code")
  func output() async throws {
    let bench = try Workbench()
    try bench.addDistinct(1)
    _ = try await bench.reel("ingest", "clips")
    let outcome = try await run(bench, closing: ">&-", ["feed", "--json"])
    #expect(outcome.status == 1, "\(outcome.errors)")
    #expect(outcome.errors.contains("output"))
  }
}
