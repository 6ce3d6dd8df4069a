import Foundation
import ReelTestSupport
import Testing

@Suite("Files that are still arriving, and the verbose output", .shortTime)
struct SettleAndVerboseTests {
  private func age(_ name: String, _ seconds: Double, _ bench: Workbench) throws {
    try FileManager.default.setAttributes(
      [.modificationDate: Date(timeIntervalSinceNow: -seconds)],
      ofItemAtPath: bench.clips.appendingPathComponent(name).path)
  }

  @Test(
    "half a transport stream is left alone, and published once it is complete",
    arguments: ["clips", "clips/a.ts"])
  func half(input: String) async throws {
    let bench = try Workbench(reader: .real)
    let whole = try Data(contentsOf: Workbench.sample("clips/transport.ts"))
    let file = bench.clips.appendingPathComponent("a.ts")
    // Whole packets, as an unfinished copy may have.
    try whole.prefix(whole.count / 376 * 188).write(to: file)
    let early = try await bench.reel("ingest", input, "--settle", "1h", "--events", "events", "--json")
    #expect(early.status == 0, "\(early)")
    let summary = try early.object()["summary"] as? [String: Any]
    #expect(summary?["leftAlone"] as? Int == 1 && summary?["published"] as? Int == 0)
    let log = try EventLog(bench.folder.appendingPathComponent("events"))
    #expect(log.events.last?["leftAlone"] as? Int == 1)
    #expect(log.events.filter { $0["type"] as? String == "run.scanned" }.last?["leftAlone"] as? Int == 1)
    #expect(try bench.objects().isEmpty)
    let told = try await bench.reel("ingest", input, "--settle", "1h")
    #expect(told.output == "nothing to ingest yet: 1 file left alone, changed less than 1h ago\n")

    try whole.write(to: file)
    try age("a.ts", 7200, bench)
    let late = try await bench.reel("ingest", input, "--settle", "1h", "--json")
    #expect((try late.object()["summary"] as? [String: Any])?["published"] as? Int == 1)
    let inspection = try LibraryInspection(library: bench.library)
    #expect(inspection.published.count == 1)
    expectNothing(try inspection.brokenAfterCompletion())
    let object = try #require(try bench.objects().first)
    #expect(try Data(contentsOf: bench.media.appendingPathComponent(object)) == whole)
  }

  @Test("a timestamp in the future does not hold a file back forever")
  func future() async throws {
    let bench = try Workbench()
    try bench.addDistinct(1)
    try age("clip-00000.mp4", -86_400, bench)
    #expect(try await bench.reel("ingest", "clips", "--settle", "60s").status == 0)
    #expect(try bench.objects().count == 1)
  }

  @Test("--verbose prints a line for each file on stderr, and leaves stdout unchanged")
  func verbose() async throws {
    let bench = try Workbench()
    try bench.addDistinct(2)
    try bench.write("text", to: "text.mp4")
    try bench.write("text", to: "notes.txt")
    try bench.write("{}", to: "clip-00000.json")
    for option in ["--progress=plain", "--progress=none"] {
      let library = "library-of\(option)"
      let run = try await ReelBinary.run(
        ["ingest", "clips", "--library", library, "-v", "--json", option], in: bench.folder)
      #expect(run.status == 4)
      let summary = try run.object()["summary"] as? [String: Any]
      #expect(summary?["published"] as? Int == 2)
      let lines = run.errors.split(separator: "\n").map(String.init)
      #expect(lines.contains("ignored: clips/notes.txt, not a video"), "\(run.errors)")
      #expect(lines.contains("ignored: clips/clip-00000.json, the sidecar of a video"), "\(run.errors)")
      #expect(lines.contains { $0.hasPrefix("failed: clips/text.mp4 is a text file") })
      let published = lines.filter { $0.hasPrefix("published: clips/clip-0000") }
      #expect(published.count == 2)
      let again = try await ReelBinary.run(
        ["ingest", "clips", "--library", library, "--verbose", option], in: bench.folder)
      for line in published {
        let id = try #require(line.split(separator: " ").last)
        let name = try #require(line.split(separator: " ").dropFirst().first)
        #expect(again.errors.contains("duplicate: \(name) of \(id)\n"), "\(again.errors)")
      }
    }
    let silent = try await bench.reel("ingest", "clips", "--progress", "none")
    #expect(!silent.errors.contains("published:") && !silent.errors.contains("ignored:"))
    #expect(try await bench.reel("ingest", "clips", "-v", "--quiet").status == 64)
  }

  @Test("publish names the post on stderr, and prints it on stdout")
  func publish() async throws {
    let bench = try Workbench()
    try bench.addDistinct(1)
    let run = try await bench.reel("publish", "clips/clip-00000.mp4", "-v", "--json", "--progress", "none")
    let id = try #require(try run.object()["id"] as? String)
    #expect(run.errors == "published: clips/clip-00000.mp4 as \(id)\n")
    try bench.write("text", to: "text.mp4")
    let failed = try await bench.reel("publish", "clips/text.mp4", "-v")
    #expect(failed.errors.components(separatedBy: "failed:").count == 2, "\(failed.errors)")
  }
}
