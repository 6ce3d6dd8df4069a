import Foundation
import ReelIngest
import ReelTestSupport
import Testing

/// `reel ingest --mend`: the mended file is published, and only once, whatever came in and whichever process died.
@Suite("Mended before they are published", .shortTime)
struct MendedPostTests {
  private static func posts(_ bench: Workbench) async throws -> [[String: Any]] {
    try await bench.reel("feed", "--json").object()["posts"] as? [[String: Any]] ?? []
  }

  private static func summary(_ bench: Workbench, _ more: String...) async throws -> [String: Any] {
    let run = try await ReelBinary.run(
      ["ingest", "clips", "--json", "--library", bench.library.path] + more, in: bench.folder,
      environment: bench.environment)
    return try run.object()["summary"] as? [String: Any] ?? [:]
  }

  @Test("the post lists the repairs, the object has them, and the file is a duplicate, mended or not")
  func publishes() async throws {
    let bench = try Workbench()
    try bench.add("clips/phone-located.mov", as: "a.mov")
    try bench.add("clips/faststart.mp4", as: "b.mp4")
    try bench.add("clips/recorded-in-a-browser.webm", as: "c.webm")
    let source = try Data(contentsOf: bench.clips.appendingPathComponent("a.mov"))
    let first = try await Self.summary(bench, "--mend", "faststart,location")
    #expect(first["published"] as? Int == 3, "\(first)")
    #expect(try Data(contentsOf: bench.clips.appendingPathComponent("a.mov")) == source)
    let posts = try await Self.posts(bench)
    let mended = try #require(posts.first { $0["sourceName"] as? String == "a.mov" })
    #expect(mended["mended"] as? [String] == ["faststart", "location"])
    for name in ["b.mp4", "c.webm"] {
      #expect(posts.first { $0["sourceName"] as? String == name }?["mended"] is NSNull)
    }
    let object = bench.media.appendingPathComponent(try #require(mended["video"] as? String))
    let facts = try await bench.reel("probe", object.path, "--json").object()["media"] as? [String: Any]
    #expect(facts?["fastStart"] as? Bool == true && facts?["hasLocation"] as? Bool == false)
    #expect(try await bench.reel("verify", "--read").status == 0)
    let shown = try await bench.reel("show", try #require(mended["id"] as? String))
    #expect(shown.output.contains("mended   faststart, location"), "\(shown.output)")

    // Recognized by the original, with other repairs, and by the stored bytes.
    #expect(try await Self.summary(bench)["duplicates"] as? Int == 3)
    #expect(try await Self.summary(bench, "--mend", "faststart,private,location")["duplicates"] as? Int == 3)
    try FileManager.default.copyItem(at: object, to: bench.clips.appendingPathComponent("again.mov"))
    try FileManager.default.copyItem(
      at: bench.clips.appendingPathComponent("a.mov"), to: bench.clips.appendingPathComponent("copy.mov"))
    let last = try await Self.summary(bench, "--mend", "faststart")
    #expect(last["duplicates"] as? Int == 5 && last["published"] as? Int == 0, "\(last)")
    #expect(try bench.objects().count == 3)
  }

  @Test("a video with Content Credentials is published unmended, and that is reported")
  func credentials() async throws {
    let bench = try Workbench()
    try bench.add("clips/moov-at-end.mp4", as: "a.mp4")
    let path = bench.clips.appendingPathComponent("a.mp4")
    var bytes = Array(try Data(contentsOf: path))
    RepairSession.addManifest(&bytes)
    try Data(bytes).write(to: path)
    let events = bench.folder.appendingPathComponent("events.jsonl")
    let summary = try await Self.summary(bench, "--mend", "faststart", "--events", events.path)
    #expect(summary["published"] as? Int == 1, "\(summary)")
    let post = try #require(try await Self.posts(bench).first)
    #expect(post["mended"] is NSNull)
    let object = bench.media.appendingPathComponent(try #require(post["video"] as? String))
    #expect(try Data(contentsOf: object) == Data(bytes))
    let lines = try String(contentsOf: events, encoding: .utf8).split(separator: "\n")
    let told = try #require(lines.first { $0.contains("\"file.notMended\"") })
    #expect(told.contains("Content Credentials") && told.contains("\"notMendable\""), "\(told)")

    let refused = try await bench.reel(
      "mend", path.path, "-o", bench.folder.appendingPathComponent("b.mp4").path, "--faststart")
    #expect(refused.status == 4 && refused.errors.contains("--drop-credentials"), "\(refused.errors)")
    let mended = try await bench.reel(
      "mend", path.path, "-o", bench.folder.appendingPathComponent("b.mp4").path, "--faststart",
      "--drop-credentials")
    #expect(mended.status == 0, "\(mended.errors)")
    // The credentials are dropped if that is requested.
    let again = try Workbench()
    try FileManager.default.copyItem(at: path, to: again.clips.appendingPathComponent("a.mp4"))
    #expect(try await Self.summary(again, "--mend", "faststart,credentials")["published"] as? Int == 1)
    #expect(try await Self.posts(again).first?["mended"] as? [String] == ["credentials", "faststart"])
  }

  @Test("a browser's recording is published with a duration; other containers are not affected")
  func duration() async throws {
    let bench = try Workbench()
    try bench.add("clips/recorded-in-a-browser.webm", as: "a.webm")
    try bench.add("clips/transport.ts", as: "b.ts")
    let summary = try await Self.summary(bench, "--mend", "duration,faststart")
    #expect(summary["published"] as? Int == 2, "\(summary)")
    let posts = try await Self.posts(bench)
    let mended = try #require(posts.first { $0["sourceName"] as? String == "a.webm" })
    #expect(mended["mended"] as? [String] == ["duration"])
    #expect(posts.first { $0["sourceName"] as? String == "b.ts" }?["mended"] is NSNull)
  }

  @Test(
    "a file that can't be mended as asked is not published, with the reason; policies judge the mended file")
  func refuses() async throws {
    let bench = try Workbench()
    try bench.add("clips/moov-at-end.mp4", as: "a.mp4")
    try bench.add("clips/matroska.mkv", as: "b.mkv")
    let policy = bench.folder.appendingPathComponent("p.yaml")
    try "policy: 1\nname: ours\nextends: none\nrules: {mp4.notFastStart: error}\n".write(
      to: policy, atomically: true, encoding: .utf8)
    let refused = try await Self.summary(bench, "--policy", "p.yaml")
    #expect(refused["refused"] as? Int == 1 && refused["published"] as? Int == 1, "\(refused)")
    // The refusal that is remembered for the file does not keep the mended one out.
    let mended = try await Self.summary(bench, "--policy", "p.yaml", "--mend", "faststart")
    #expect(mended["published"] as? Int == 1 && mended["duplicates"] as? Int == 1, "\(mended)")

    let other = try Workbench()
    try other.add("clips/matroska.mkv", as: "b.mkv")
    let run = try await other.reel("ingest", "clips", "--mend", "private")
    #expect(run.status == 4 && run.output.contains("notMendable"), "\(run.output) \(run.errors)")
    #expect(try other.objects().isEmpty)
    for wrong in ["salvage", "faststart,", "everything", ""] {
      let run = try await bench.reel("ingest", "clips", "--mend", wrong)
      #expect(run.status == 64, "\(wrong): \(run.errors)")
    }
    let set = try await bench.reel("ingest", "clips", environment: ["REEL_MEND": "salvage"])
    #expect(set.status == 1 && set.errors.contains("faststart, unfragment"), "\(set.errors)")
  }

  #if DEBUG
    /// Where something of a mended file is left behind, and where its digests are written.
    private static let places =
      ["mended", "claimWritten", "uploaded", "completeWritten"]
      + (TestForm.isLong
        ? [
          "probed", "judged", "intended", "claimCommitted", "verified", "completeCommitted", "published",
          "told",
        ]
        : [])

    @Test(
      "after kill -9 at each place, each file becomes one post, mended or not", arguments: places)
    func killed(at place: String) async throws {
      for mendsAgain in [true, false] {
        let bench = try Workbench()
        try bench.addDistinct(3, of: "clips/moov-at-end.mp4")
        let killed = try await bench.reel(
          "ingest", "clips", "--mend", "faststart", "--jobs", "2",
          environment: ["REEL_FAILPOINT": "\(place):2=crash"])
        #expect(killed.wasKilled, "never came to \(place): \(killed.errors)")
        #expect(try LibraryInspection(library: bench.library).broken() == [], "\(place)")
        let next = try await bench.reel(
          "ingest", "clips", environment: mendsAgain ? ["REEL_MEND": "faststart"] : [:])
        #expect(next.status == 0, "\(place): \(next.errors)")
        let posts = try await Self.posts(bench)
        #expect(
          posts.count == 3 && Set(posts.compactMap { $0["sourceName"] as? String }).count == 3, "\(place)")
        if mendsAgain {
          #expect(posts.allSatisfy { $0["mended"] as? [String] == ["faststart"] }, "\(place)")
          #expect(try LibraryInspection(library: bench.library).brokenAfterCompletion() == [], "\(place)")
        }
        for more in [[], ["--mend", "faststart"]] {
          let run = try await ReelBinary.run(
            ["ingest", "clips", "--json", "--library", bench.library.path] + more, in: bench.folder)
          let summary = try run.object()["summary"] as? [String: Any]
          #expect(
            summary?["duplicates"] as? Int == 3 && summary?["published"] as? Int == 0,
            "\(place): \(summary ?? [:])")
        }
        #expect(try await bench.reel("verify", "--read").status == 0, "\(place)")
      }
    }
  #endif
}
