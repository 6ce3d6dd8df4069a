import Foundation
import Glibc
import ReelTestSupport
import Testing

/// A post counts as announced once its event has been handed over, not while the event waits.
@Suite("a slow reader of events", .shortTime)
struct SlowReaderTests {
  private static let clips = 60

  /// Runs `reel ingest clips` with its events written into a pipe, and returns the pipe's reading end.
  private func start(_ bench: Workbench) throws -> (ReelBinary.Running, FileHandle) {
    let pipe = bench.folder.appendingPathComponent("events.pipe").path
    try #require(mkfifo(pipe, 0o600) == 0)
    // Opened first, so that the shell's end opens at once.
    let reader = open(pipe, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
    try #require(reader >= 0)
    _ = fcntl(reader, F_SETFL, 0)
    let running = try ReelBinary.start(
      [
        "-c", "exec \"$0\" ingest clips --events fd:3 --library \"$1\" 3>\"$2\"", ReelBinary.url.path,
        bench.library.path, pipe,
      ],
      in: bench.folder, program: URL(fileURLWithPath: "/bin/sh"))
    return (running, FileHandle(fileDescriptor: reader, closeOnDealloc: true))
  }

  private func publishes(
    _ running: ReelBinary.Running, _ bench: Workbench, atLeast count: Int
  ) async throws -> Bool {
    while running.process.isRunning {
      if bench.hasCatalog, let found = try? LibraryInspection(library: bench.library),
        found.published.count >= count
      {
        return true
      }
      try await Task.sleep(for: .milliseconds(10))
    }
    return false
  }

  private func expectAllTold(_ bench: Workbench, by first: Data) async throws {
    let again = try await bench.reel("ingest", "clips", "--events", "again.jsonl")
    #expect(again.status == 0, "\(again.errors)")
    let inspection = try LibraryInspection(library: bench.library)
    expectNothing(try inspection.brokenAfterCompletion())
    #expect(inspection.published.count == Self.clips)
    let told = Announcements(String(decoding: first, as: UTF8.self)).keys.union(
      try bench.told(in: ["again.jsonl"]))
    #expect(inspection.published.filter { !told.contains($0.key) }.map(\.key) == [])
  }

  @Test("if a run is killed while nobody reads, the next run sends the events that did not fit into the pipe")
  func killed() async throws {
    let bench = try Workbench()
    try bench.addDistinct(Self.clips)
    let (running, reader) = try start(bench)
    #expect(try await publishes(running, bench, atLeast: Self.clips))
    // Longer than the catalog delays any write that nobody waits for.
    try await Task.sleep(for: .seconds(1))
    running.send(SIGKILL)
    #expect(try await running.outcome().wasKilled)
    let first = try reader.readToEnd() ?? Data()
    #expect(Announcements(String(decoding: first, as: UTF8.self)).keys.count < Self.clips)
    try await expectAllTold(bench, by: first)
  }
}
