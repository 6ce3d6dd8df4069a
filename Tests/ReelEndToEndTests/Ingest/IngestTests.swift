import Foundation
import ReelTestSupport
import Testing

@Suite("reel ingest", .shortTime)
struct IngestTests {
  static let clips = ReelBinary.project.appendingPathComponent("Samples/clips").path
  static let broken = ReelBinary.project.appendingPathComponent("Samples/broken").path

  @Test("publishes every clip once; the second time it publishes nothing, and says why")
  func once() async throws {
    let bench = try Workbench()
    let first = try await bench.reel("ingest", Self.clips)
    #expect(first.status == 0, "\(first.errors)")
    let videos = try FileManager.default.contentsOfDirectory(atPath: Self.clips).filter {
      !$0.hasSuffix(".json")
    }
    let inspection = try LibraryInspection(library: bench.library)
    #expect(inspection.published.count == videos.count)
    expectNothing(try inspection.brokenAfterCompletion())

    let second = try await bench.reel("ingest", Self.clips)
    #expect(second.status == 0)
    #expect(second.output.contains("already"), "\(second.output)")
    #expect(try LibraryInspection(library: bench.library).published.count == videos.count)
  }

  @Test("every broken sample ends with its own code, and none is published")
  func brokenSamples() async throws {
    let manifest = try Manifest.load()
    let bench = try Workbench()
    let run = try await bench.reel("ingest", Self.broken, "--events", "events.jsonl")
    #expect(run.status == 4, "\(run.output)\(run.errors)")
    let ends = try EventLog(bench.folder.appendingPathComponent("events.jsonl")).ends()
    for sample in manifest.samples where sample.path.hasPrefix("broken/") {
      guard let end = ends[String(sample.path.dropFirst("broken/".count))] else {
        // In a folder, a file that neither claims to be a video nor is one is ignored.
        #expect(sample.path.hasSuffix("raw-stream.h264"), "\(sample.path) has no end")
        continue
      }
      #expect(end.type == (sample.verdict == "refused" ? "file.refused" : "file.failed"), "\(sample.path)")
      #expect(end.code == sample.code, "\(sample.path): \(end.code ?? "") \(end.message ?? "")")
    }
    #expect(try LibraryInspection(library: bench.library).published.isEmpty)
  }

  @Test("a batch continues past broken files, and each file ends exactly once")
  func mixed() async throws {
    let bench = try Workbench()
    try bench.addDistinct(5)
    try bench.add("broken/playlist.mp4")
    try bench.add("broken/empty.mp4")
    try bench.add("broken/audio-only.mp4")
    let run = try await bench.reel("ingest", "clips", "--events", "events.jsonl")
    #expect(run.status == 4)
    let log = try EventLog(bench.folder.appendingPathComponent("events.jsonl"))
    #expect(log.endsByFile().values.allSatisfy { $0 == 1 })
    #expect(log.endsByFile().count == 8)
    #expect(log.types.filter { $0 == "run.finished" }.count == 1 && log.types.last == "run.finished")
    #expect(log.types.first == "run.started")
    #expect(try LibraryInspection(library: bench.library).published.count == 5)
  }

  @Test("exits with 4 if files were refused and none failed")
  func refused() async throws {
    let bench = try Workbench()
    try bench.add("broken/audio-only.mp4")
    #expect(try await bench.reel("ingest", "clips").status == 4)
  }

  @Test("captions and sidecars without effect are reported, and change nothing else")
  func metadataWarnings() async throws {
    let bench = try Workbench()
    try bench.add("clips/faststart.mp4", as: "a.mp4")
    try bench.write(#"{"captoin": "x"}"#, to: "a.json")
    try bench.write(#"{"caption": "x"}"#, to: "lone.json")
    try bench.write("path,caption\na.mp4,A\ngone.mp4,G\n", to: "list.csv")
    let run = try await bench.reel(
      "ingest", "clips", "--captions", "clips/list.csv", "--events", "events.jsonl")
    #expect(run.status == 0, "\(run.errors)")
    for code in ["sidecarUnknownKey", "sidecarWithoutVideo", "captionWithoutFile"] {
      #expect(run.errors.contains("[\(code)]"), "\(run.errors)")
    }
    #expect(run.errors.contains("did you mean caption?"))
    let log = try EventLog(bench.folder.appendingPathComponent("events.jsonl"))
    #expect(log.types.filter { $0 == "metadata.warning" }.count == 3)
    #expect(log.endsByFile().count == 1)
    // A duplicate is not opened, and its sidecar is not read.
    let again = try await bench.reel("ingest", "clips", "--captions", "clips/list.csv", "--json", "--quiet")
    #expect(again.status == 0 && again.errors.isEmpty, "\(again.errors)")
    #expect(again.output.contains("captionWithoutFile") && again.output.contains("sidecarWithoutVideo"))
  }

  @Test("an encrypted video is published with a warning unless a policy refuses it")
  func encrypted() async throws {
    let bench = try Workbench()
    let clip = bench.clips.appendingPathComponent("faststart.mp4")
    var bytes = [UInt8](try Data(contentsOf: Workbench.sample("clips/faststart.mp4")))
    RepairSession.setEntry(&bytes, "encv", size: nil)
    try Data(bytes).write(to: clip)
    try bench.write("policy: 1\nname: clear\nrules:\n  encryption.present: error\n", to: "clear.yaml")
    let refused = try await bench.reel("publish", "clips/faststart.mp4", "--policy", "clips/clear.yaml")
    #expect(refused.status == 4 && !refused.errors.contains("warning"), "\(refused.errors)")
    let run = try await bench.reel("publish", "clips/faststart.mp4")
    #expect(run.status == 0 && run.errors.contains("[encrypted]"), "\(run.errors)")
  }

  @Test("the same video under two names is one post")
  func sameTwice() async throws {
    let bench = try Workbench()
    try bench.add("clips/faststart.mp4", as: "a.mp4")
    try bench.add("clips/faststart.mp4", as: "deep/er/b.mp4")
    #expect(try await bench.reel("ingest", "clips").status == 0)
    #expect(try LibraryInspection(library: bench.library).published.count == 1)
    let third = try await bench.reel("ingest", "clips", "--duplicates", "allow")
    #expect(third.status == 0)
    #expect(try bench.objects().count == 3)
  }

  @Test("a dry run says what would happen and writes nothing")
  func dryRun() async throws {
    let bench = try Workbench()
    try bench.add("clips/faststart.mp4")
    try bench.add("clips/faststart.mp4", as: "again.mp4")
    try bench.add("broken/cut-off.mp4")
    let run = try await bench.reel("ingest", "clips", "--dry-run", "--json")
    #expect(run.status == 4, "\(run.errors)")
    let summary = try run.object()["summary"] as? [String: Any]
    #expect(summary?["planned"] as? Int == 1)
    #expect(summary?["duplicates"] as? Int == 1)
    #expect(summary?["refused"] as? Int == 1)
    #expect(!FileManager.default.fileExists(atPath: bench.library.path))
  }

  @Test("captions come from the flag, the list, the sidecar and the file, in this order")
  func captions() async throws {
    let bench = try Workbench()
    for (number, name) in ["a", "b", "c", "d"].enumerated() {
      let clip = try Data(
        contentsOf: Workbench.sample(name == "d" ? "clips/titled.mp4" : "clips/faststart.mp4"))
      let box = Data([0, 0, 0, 9]) + Data("free".utf8) + Data([UInt8(number)])
      try (clip + box).write(to: bench.clips.appendingPathComponent(name + ".mp4"))
    }
    try bench.write("path,caption,author\r\na.mp4,\"from the list, quoted\",u-list\r\n", to: "list.csv")
    try bench.write(#"{"caption":"side a","author":"evil"}"#, to: "a.json")
    try bench.write(#"{"caption":"side b","music":"m","author":"evil"}"#, to: "b.json")
    let run = try await bench.reel("ingest", "clips", "--captions", "clips/list.csv")
    #expect(run.status == 0, "\(run.errors)")
    let feed = try await bench.reel("feed", "--json").object()["posts"] as? [[String: Any]] ?? []
    let captions = Set(feed.map { $0["caption"] as? String })
    #expect(
      captions.contains("from the list, quoted") && captions.contains("side b") && captions.contains(nil))
    #expect(feed.allSatisfy { $0["author"] as? String != "evil" })
    #expect(feed.contains { $0["author"] as? String == "u-list" })
    #expect(captions.count == 4, "\(captions)")
  }

  @Test("a broken sidecar fails its file with a clear message")
  func brokenSidecar() async throws {
    let bench = try Workbench()
    try bench.addDistinct(2)
    try bench.write("{ not json", to: "clip-00000.json")
    let run = try await bench.reel("ingest", "clips")
    #expect(run.status == 4)
    #expect((run.output + run.errors).contains("clip-00000.mp4: its sidecar"))
    #expect(try LibraryInspection(library: bench.library).published.count == 1)
  }

  @Test("new captions for a video that is already a post are reported at the end, and change nothing")
  func unheeded() async throws {
    let bench = try await Workbench.settled(3)
    try bench.write(#"{"caption": "as it was"}"#, to: "clip-00002.json")
    #expect(try await bench.reel("ingest", "clips").status == 0)
    let same = try await bench.reel("ingest", "clips")
    #expect(!same.output.contains("Of those already published"), "\(same)")
    // In the first round the files are known from earlier runs; in the second they must be read.
    for round in 0..<2 {
      try bench.write(#"{"caption": "new \#(round)"}"#, to: "clip-00000.json")
      try bench.write("path,caption\nclip-00001.mp4,from the list\n", to: "list.csv")
      let id = try await bench.id(of: "clips/clip-00000.mp4")
      let run = try await bench.reel("ingest", "clips")
      #expect(
        run.output.contains(
          "Of those already published, 1 is a post that differs from what was given for the video now, and was left "
            + "unchanged. To change it: reel edit --library \(bench.library.path) \(id) --caption='new \(round)'\n"
        ),
        "\(run)")
      let more = try await bench.reel("ingest", "clips", "--captions", "clips/list.csv", "--posters")
      #expect(more.output.contains("2 are posts that differ from what was given"), "\(more)")
      #expect(more.output.contains("3 are posts without a poster. To make them: reel poster"), "\(more)")
      for number in 0..<3 {
        let clip = bench.clips.appendingPathComponent("clip-0000\(number).mp4")
        try Data(contentsOf: clip).write(to: clip)
      }
    }
    let captions = try await bench.feed().compactMap { $0["caption"] as? String }
    #expect(!captions.contains { $0.hasPrefix("new") || $0.hasPrefix("from") }, "\(captions)")
    let one = try await bench.reel("publish", "clips/clip-00001.mp4", "--posters")
    #expect(
      one.errors.contains("The post has no poster, and was left unchanged. To make one:\nreel poster"),
      "\(one)")
  }

  @Test("videos that another author has published already are reported")
  func anotherAuthor() async throws {
    let bench = try Workbench()
    try bench.addDistinct(2)
    let first = try await bench.reel("ingest", "clips")
    #expect(first.status == 0 && !first.output.contains("Of these"), "\(first)")
    let plan = try await bench.reel("ingest", "clips", "--author", "ada", "--dry-run")
    #expect(plan.output.contains("Of these, 2 are posts of another author already.\n"), "\(plan)")
    let second = try await bench.reel("ingest", "clips", "--author", "ada")
    #expect(
      second.output.contains("2 are posts of another author already, and the feed shows both."), "\(second)")
    let ids = try await bench.feed().filter { $0["author"] as? String == "ada" }.compactMap {
      $0["id"] as? String
    }
    #expect(ids.count == 2 && ids.allSatisfy { second.output.contains($0) }, "\(second)")
    let third = try await bench.reel("ingest", "clips", "--author", "ada", "--json")
    #expect(try third.object()["ofOtherAuthors"] as? Int == 0, "\(third)")
  }

  @Test("files0-from accepts names with newlines, and include and exclude choose among files")
  func lists() async throws {
    let bench = try Workbench()
    try bench.add("clips/faststart.mp4", as: "new\nline.mp4")
    try bench.add("clips/matroska.mkv")
    try bench.add("clips/old.avi")
    try Data("clips/new\nline.mp4\0clips/old.avi\0".utf8).write(
      to: bench.folder.appendingPathComponent("list"))
    #expect(try await bench.reel("ingest", "--files0-from", "list").status == 0)
    #expect(try bench.objects().count == 2)
    #expect(try await bench.reel("ingest", "clips", "--exclude", "*.mkv").status == 0)
    #expect(try bench.objects().count == 2)
    #expect(try await bench.reel("ingest", "clips", "--include", "*.mkv").status == 0)
    #expect(try bench.objects().count == 3)
  }
}
