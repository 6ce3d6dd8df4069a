import Foundation
import ReelTestSupport
import Testing

@Suite("The other commands", .shortTime)
struct CommandTests {
  @Test("an export has every post once, in order, and is written completely or not at all")
  func export() async throws {
    let bench = try Workbench()
    let none = try await bench.reel("export", "-o", "-")
    #expect(none.status == 1 && none.output.isEmpty && none.errors.contains("no library at"), "\(none)")
    try bench.addDistinct(3)
    try bench.write("path,caption\nclip-00001.mp4,=1+1\nclip-00002.mp4,\"a, \"\"b\"\"\"\n", to: "list.csv")
    #expect(
      try await bench.reel("ingest", "clips", "--captions", "clips/list.csv", "--jobs", "1").status == 0)
    let lines = try await bench.reel("export", "-o", "-")
    let posts = try lines.output.split(separator: "\n").map {
      try #require(try JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any])
    }
    #expect(posts.compactMap { $0["pageNumber"] as? Int } == [1, 2, 3] && lines.errors.isEmpty)
    let file = bench.folder.appendingPathComponent("posts.csv")
    try "old".write(to: file, atomically: true, encoding: .utf8)
    let told = try await bench.reel("export", "-o", "posts.csv")
    #expect(told.status == 0 && told.errors.contains("3 posts in posts.csv") && told.output.isEmpty)
    let text = try String(contentsOf: file, encoding: .utf8)
    #expect(text.hasPrefix("id,pageNumber,") && text.components(separatedBy: "\r\n").count == 5)
    #expect(text.contains(",'=1+1,") && text.contains(",\"a, \"\"b\"\"\","), "\(text)")
    let raw = try await bench.reel("export", "-o", "-", "--format", "csv", "--raw")
    #expect(raw.output.contains(",=1+1,"))
    let names = try FileManager.default.contentsOfDirectory(atPath: bench.folder.path)
    #expect(Set(names) == ["clips", "library", "posts.csv"], "\(names)")
    for wrong in [
      ["-o", "posts.txt"], ["-o", "posts.jsonl", "--raw"], ["-o", "x.csv", "--format", "xml"], [],
    ] {
      let run = try await ReelBinary.run(
        ["export"] + wrong + ["--library", bench.library.path], in: bench.folder)
      #expect(run.status == 64, "\(wrong)")
    }
    let nowhere = try await bench.reel("export", "-o", "no/such/folder/posts.csv")
    #expect(nowhere.status == 1 && nowhere.errors.contains("no/such/folder/posts.csv"))
    let lost = try await ReelBinary.run(
      ["export", "-o", "posts.csv", "--library", "not-mounted"], in: bench.folder)
    #expect(lost.status == 1 && lost.errors.contains("no library at"), "\(lost)")
    #expect(try String(contentsOf: file, encoding: .utf8) == text)
    // A device is not replaced by a file.
    #expect(try await bench.reel("export", "-o", "/dev/null", "--format", "csv").status == 0)
    #expect(
      try FileManager.default.attributesOfItem(atPath: "/dev/null")[.type] as? FileAttributeType
        == .typeCharacterSpecial)
  }

  @Test(
    "a signal ends an export without a trace: the file is unchanged, and there is none beside it",
    .needsFailpoints, arguments: [SIGINT, SIGTERM, SIGHUP])
  func interruptedExport(signal: Int32) async throws {
    let bench = try Workbench()
    try bench.addDistinct(1)
    #expect(try await bench.reel("ingest", "clips").status == 0)
    let file = bench.folder.appendingPathComponent("posts.csv")
    try "old".write(to: file, atomically: true, encoding: .utf8)
    let running = try ReelBinary.start(
      ["export", "-o", "posts.csv", "--library", bench.library.path], in: bench.folder,
      environment: ["REEL_FAILPOINT": "exportWritten=stop"])
    try await running.untilStopped()
    #expect(try FileManager.default.contentsOfDirectory(atPath: bench.folder.path).count == 4)
    running.send(signal)
    running.send(SIGCONT)
    let outcome = try await running.outcome()
    let text = try String(contentsOf: file, encoding: .utf8)
    // It may have finished before it noticed the signal.
    #expect(
      outcome.status == 130 ? text == "old" : outcome.status == 0 && text.hasPrefix("id,"), "\(outcome)")
    let names = try FileManager.default.contentsOfDirectory(atPath: bench.folder.path)
    #expect(Set(names) == ["clips", "library", "posts.csv"], "\(names)")
  }

  @Test("pages of the feed by page number each say where the next one begins")
  func feedByPageNumber() async throws {
    let bench = try Workbench()
    try bench.addDistinct(5)
    #expect(try await bench.reel("ingest", "clips", "--quiet").status == 0)
    var (from, seen) = ("1", [Int]())
    for _ in 0..<4 {
      let page = try await bench.reel("feed", "--from", from, "--size", "2", "--json").object()
      seen += (page["posts"] as? [[String: Any]] ?? []).compactMap { $0["pageNumber"] as? Int }
      guard let next = page["next"] as? String else { break }
      from = next
    }
    #expect(seen == [1, 2, 3, 4, 5] && from == "5")
    let exact = try await bench.reel("feed", "--from", "1", "--size", "5", "--json").object()
    #expect(exact["next"] is NSNull)
    let beyond = try await bench.reel("feed", "--from", "100")
    #expect(beyond.status == 0 && beyond.output.contains("the last one is 5"), "\(beyond.output)")
    let largest = try await bench.reel("feed", "--from", "\(Int.max)", "--size", "1000", "--json").object()
    #expect(largest["next"] is NSNull)
  }

  @Test("publish makes one post, prints it, and says so if it is a post already")
  func publish() async throws {
    let bench = try Workbench()
    try bench.add("clips/phone-portrait.mov", as: "phone.mp4")
    let first = try await bench.reel(
      "publish", "clips/phone.mp4", "--caption", "Hello", "--author", "u1", "--author-name", "Ada", "--music",
      "m",
      "--json")
    #expect(first.status == 0, "\(first.errors)")
    let post = try first.object()
    #expect(post["caption"] as? String == "Hello")
    #expect(post["author"] as? String == "u1")
    #expect(post["autherName"] as? String == "Ada")
    #expect(post["videoFileExtension"] as? String == "mov")
    #expect((post["videoHeight"] as? Int ?? 0) > (post["videoWidth"] as? Int ?? 0))
    #expect((post["video"] as? String ?? "").hasSuffix(".mov") && (post["video"] as? String)?.count == 26)
    #expect(post["likeCount"] as? Int == 0)
    #expect(try #require(post["probe"] as? [String: Any])["isolation"] as? String != "none")

    let again = try await bench.reel("publish", "clips/phone.mp4", "--author", "u1")
    #expect(again.status == 0)
    #expect(again.output.contains("is already published"))
    #expect(again.output.contains(post["id"] as? String ?? "?"))

    let other = try await bench.reel("publish", "clips/phone.mp4", "--author", "u2")
    #expect(other.status == 0)
    #expect(try LibraryInspection(library: bench.library).published.count == 2)
    expectNothing(try LibraryInspection(library: bench.library).brokenAfterCompletion())

    let shown = try await bench.reel("show", post["id"] as? String ?? "", "--json")
    #expect(try shown.object()["video"] as? String == post["video"] as? String)
    #expect(try await bench.reel("show", "017f22e2-79b0-7cc3-98c4-dc0c0c07398f").status == 1)
  }

  @Test("show finds a file's post by its bytes, whatever the file's name")
  func showFile() async throws {
    let bench = try Workbench()
    try bench.add("clips/phone-portrait.mov", as: "first.mov")
    try bench.add("clips/faststart.mp4")
    #expect(try await bench.reel("ingest", "clips").status == 0)
    try bench.add("clips/phone-portrait.mov", as: "copy of it.bin")
    let shown = try await bench.reel("show", "clips/copy of it.bin", "--json")
    #expect(try shown.object()["sourceName"] as? String == "first.mov", "\(shown)")
    #expect(try await bench.reel("publish", "clips/first.mov", "--duplicates", "allow").status == 0)
    let both = try await bench.reel("show", "clips/first.mov", "--json")
    #expect((try both.object()["posts"] as? [Any])?.count == 2, "\(both)")
    try bench.add("clips/vp9.webm")
    let none = try await bench.reel("show", "clips/vp9.webm")
    #expect(none.status == 1 && none.errors.contains("was made from clips/vp9.webm"), "\(none)")
    let gone = try await bench.reel("show", "clips/none.mp4")
    #expect(gone.status == 1 && gone.errors.contains("clips/none.mp4 is not a post id"), "\(gone)")
  }

  @Test("posts are filtered by author, time and words, and the next page keeps the filters")
  func feedFilters() async throws {
    let bench = try Workbench()
    try bench.add("clips/phone-portrait.mov", as: "harbour one.mov")
    try bench.add("clips/faststart.mp4", as: "harbour two.mp4")
    #expect(try await bench.reel("ingest", "clips", "--author", "ada").status == 0)
    try bench.add("clips/vp9.webm", as: "secret.webm")
    #expect(try await bench.reel("ingest", "clips", "--no-source-name").status == 0)
    let table: [(filter: [String], count: Int)] = [
      (["--author", "ada"], 2), (["--search", "harb"], 2), (["--search", "secret"], 0),
      (["--since", "1h"], 5),
      (["--since", "2020-01-01", "--search", "two"], 1),
    ]
    for (filter, count) in table {
      let listed = try await ReelBinary.run(
        ["feed", "--json", "--library", bench.library.path] + filter, in: bench.folder)
      #expect((try listed.object()["posts"] as? [Any])?.count == count, "\(filter)")
    }
    let page = try await bench.reel("feed", "--search", "harbour o", "--size", "1")
    #expect(page.output.contains("harbour one.mov") && !page.output.contains("Next page"), "\(page)")
    let first = try await bench.reel("feed", "--author", "ada", "--search", "harbour", "--size", "1")
    #expect(first.output.contains("--before 2 --size 1 --author=ada --search=harbour"), "\(first)")
  }

  @Test("a long list of files with options in between is read in order")
  func longRowOfFiles() async throws {
    let bench = try Workbench()
    try bench.add("clips/phone-portrait.mov", as: "phone.mp4")
    let names = (0..<150).map { "missing \($0)\u{E9}.mp4" } + ["clips/phone.mp4"]
    let arguments =
      ["probe"] + names[..<50] + ["--jsonl", "--isolation", "auto"] + names[50..<120] + ["--"] + names[120...]
    let run = try await ReelBinary.run(arguments, in: bench.folder)
    #expect(run.status == 1, "\(run.errors)")
    let paths = run.output.split(separator: "\n").compactMap { line in
      (try? JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])?["path"] as? String
    }
    #expect(paths == names)
  }

  @Test("demo counts are between 1000 and 100000")
  func demoCounts() async throws {
    let bench = try Workbench()
    try bench.addDistinct(5)
    #expect(try await bench.reel("ingest", "clips", "--demo-counts").status == 0)
    let posts = try await bench.reel("feed", "--json").object()["posts"] as? [[String: Any]] ?? []
    #expect(posts.count == 5)
    for post in posts {
      #expect((1000...100_000).contains(post["likeCount"] as? Int ?? 0))
      #expect((1000...100_000).contains(post["shareCount"] as? Int ?? 0))
    }
  }

  @Test("the feed pages by cursor from the newest, and by page number from the oldest")
  func feed() async throws {
    let bench = try Workbench()
    try bench.addDistinct(7)
    #expect(try await bench.reel("ingest", "clips").status == 0)
    func pages(_ arguments: String...) async throws -> ([Int], String?) {
      let run = try await ReelBinary.run(
        ["feed", "--json", "--library", bench.library.path] + arguments, in: bench.folder)
      let object = try run.object()
      let posts = object["posts"] as? [[String: Any]] ?? []
      return (posts.compactMap { $0["pageNumber"] as? Int }, object["next"] as? String)
    }
    let first = try await pages("--size", "3")
    #expect(first.0 == [7, 6, 5])
    let second = try await pages("--size", "3", "--before", first.1 ?? "")
    #expect(second.0 == [4, 3, 2])
    let third = try await pages("--size", "3", "--before", second.1 ?? "")
    #expect(third.0 == [1] && third.1 == nil)
    #expect(try await pages("--from", "3", "--size", "2").0 == [3, 4])
    #expect(try await pages("--from", "7", "--size", "5").0 == [7])
    #expect(try await pages("--from", "8").0 == [])
  }

  @Test("status lists what failed and why, until it is fixed")
  func status() async throws {
    let bench = try Workbench()
    try bench.write("text", to: "a.mp4")
    #expect(try await bench.reel("ingest", "clips").status == 4)
    let failed = try await bench.reel("status")
    #expect(failed.status == 0)
    #expect(failed.output.contains("a.mp4") && failed.output.contains("notMedia"), "\(failed.output)")
    try FileManager.default.removeItem(at: bench.clips.appendingPathComponent("a.mp4"))
    try bench.add("clips/faststart.mp4", as: "a.mp4")
    #expect(try await bench.reel("ingest", "clips").status == 0)
    let mended = try await bench.reel("status")
    #expect(!mended.output.contains("notMedia"))
  }

  @Test(
    "status omits missing files unless their folder is missing, too, and forgets what it is told to"
  )
  func statusOfWhatIsGone() async throws {
    let bench = try Workbench()
    try bench.write("text", to: "a.mp4")
    try bench.write("text", to: "b.mp4")
    let below = bench.clips.appendingPathComponent("below")
    try FileManager.default.createDirectory(at: below, withIntermediateDirectories: true)
    try bench.write("text", to: "below/c.mp4")
    #expect(try await bench.reel("ingest", "clips").status == 4)
    #expect(try await bench.reel("publish", "clips/mistyped.mp4").status == 1)
    func listed(_ arguments: String...) async throws -> [String] {
      let status = try await ReelBinary.run(
        ["status", "--json", "--library", bench.library.path] + arguments, in: bench.folder
      ).object()
      let paths = (status["failures"] as? [[String: Any]] ?? []).compactMap { $0["path"] as? String }
      #expect(status["failureCount"] as? Int == paths.count, "\(status)")
      return paths.map { ($0 as NSString).lastPathComponent }.sorted()
    }
    #expect(try await listed() == ["a.mp4", "b.mp4", "c.mp4"])
    try FileManager.default.removeItem(at: bench.clips.appendingPathComponent("a.mp4"))
    try FileManager.default.moveItem(at: below, to: bench.folder.appendingPathComponent("away"))
    #expect(try await listed() == ["b.mp4", "c.mp4"])
    #expect(try await bench.reel("publish", "clips/a.mp4").status == 1)
    try bench.write("text", to: "a.mp4")
    // The publish command that found no file has removed its entry.
    #expect(try await listed() == ["b.mp4", "c.mp4"])
    #expect(try await listed("--forget") == [])
    #expect(try await bench.reel("ingest", "clips").status == 4)
    #expect(try await listed() == ["a.mp4", "b.mp4"])
    let none = try await ReelBinary.run(["status", "--forget", "--library", "none"], in: bench.folder)
    #expect(none.status == 1)
  }

  @Test("the cache reports its size, and clearing it reports what was freed and costs no post")
  func cache() async throws {
    let bench = try Workbench()
    try bench.addDistinct(4)
    // What becomes a post is not read again, so only the other file's reading is kept.
    try bench.add("broken/audio-only.mp4")
    #expect(try await bench.reel("ingest", "clips").status == 4)
    #expect(try await bench.reel("cache", "--json").object()["readings"] as? Int == 1)
    let cleared = try await bench.reel("cache", "clear", "--json").object()
    #expect(cleared["readings"] as? Int == 1)
    #expect(try await bench.reel("cache", "--json").object()["readings"] as? Int == 0)
    let again = try await bench.reel("ingest", "clips", "--json").object()["summary"] as? [String: Any]
    #expect(again?["duplicates"] as? Int == 4)
  }

  @Test("version lists every component; --version alone is one line")
  func version() async throws {
    let bench = try Workbench()
    let all = try await bench.reel("version", "--json").object()
    for key in ["reel", "worker", "isolation", "ffmpeg", "sqlite"] { #expect(all[key] is String, "\(key)") }
    #expect(all["reel"] as? String == all["worker"] as? String)
    #expect(["affected", "fixed"].contains(all["walResetBug"] as? String))
    let short = try await ReelBinary.run(["--version"], in: bench.folder)
    #expect(short.status == 0)
    #expect(short.output == "\(all["reel"] as? String ?? "?")\n")
    let missing = try await bench.reel("version", "--worker", "/nowhere/worker")
    #expect(missing.status == 1)
    #expect(missing.output.contains("scripts/reel"))
  }

  @Test("reel is not linked with FFmpeg; its worker is")
  func linkage() async throws {
    func libraries(_ program: String) async throws -> String {
      try await ReelBinary.runProgram(
        "/usr/bin/ldd", [ReelBinary.folder.appendingPathComponent(program).path],
        in: FileManager.default.temporaryDirectory
      ).output
    }
    let reel = try await libraries("reel")
    #expect(reel.contains("libc.so"))
    #expect(!reel.contains("libav"))
    #expect(try await libraries("reel-probe-worker").contains("libavformat"))
  }

  @Test("probe prints one object for one file, a list for several, and one line each with --jsonl")
  func probe() async throws {
    let bench = try Workbench()
    try bench.add("clips/phone-portrait.mov")
    try bench.add("broken/playlist.mp4")
    let one = try await bench.reel("probe", "clips/phone-portrait.mov", "--json")
    #expect(one.status == 0)
    let media = try one.object()["media"] as? [String: Any]
    #expect(media?["container"] as? String == "mov")
    let two = try await bench.reel("probe", "clips/playlist.mp4", "clips/phone-portrait.mov", "--jsonl")
    #expect(two.status == 4)
    let lines = try EventLog(text: two.output).events
    #expect(lines.map { $0["ok"] as? Bool } == [false, true])
    #expect((lines[0]["error"] as? [String: Any])?["code"] as? String == "playlist")
    let list = try await bench.reel("probe", "clips/playlist.mp4", "clips/phone-portrait.mov", "--json")
      .object()
    #expect((list["files"] as? [Any])?.count == 2)
    let card = try await bench.reel("probe", "clips/phone-portrait.mov")
    #expect(card.output.contains("mov") && card.output.contains("90"), "\(card.output)")
  }

  @Test("flags precede the environment, which precedes the file; a bad file is named")
  func settings() async throws {
    let bench = try Workbench()
    try bench.addDistinct(1)
    try Data("author: from-file\nauthorName: File\njobs: 2\n".utf8).write(
      to: bench.folder.appendingPathComponent("reel.yaml"))
    let run = try await ReelBinary.run(
      [
        "publish", "clips/clip-00000.mp4", "--json", "--config", "reel.yaml", "--library", bench.library.path,
      ],
      in: bench.folder, environment: ["REEL_AUTHOR": "from-env"])
    #expect(run.status == 0, "\(run.errors)")
    #expect(try run.object()["author"] as? String == "from-env")
    #expect(try run.object()["autherName"] as? String == "File")
    try Data("author: [unclosed\n".utf8).write(to: bench.folder.appendingPathComponent("bad.yaml"))
    let bad = try await ReelBinary.run(["feed", "--config", "bad.yaml"], in: bench.folder)
    #expect(bad.status == 1)
    #expect(bad.errors.contains("bad.yaml"))
    let missing = try await ReelBinary.run(["feed", "--config", "nowhere.yaml"], in: bench.folder)
    #expect(missing.status == 1)
  }

  @Test("a failed publish gives the reason once, on standard error; --json and --quiet behave as documented")
  func failedPublish() async throws {
    let bench = try Workbench()
    try bench.write("just text", to: "text.mp4")
    for flags in [[], ["--quiet"], ["--progress", "plain"]] {
      let run = try await ReelBinary.run(
        ["publish", "clips/text.mp4", "--library", bench.library.path] + flags, in: bench.folder)
      #expect(run.status == 4)
      #expect(run.output.isEmpty, "\(run.output)")
      #expect(run.errors.components(separatedBy: "notMedia").count == 2, "\(flags): \(run.errors)")
    }
    let run = try await bench.reel("publish", "clips/text.mp4", "--json")
    #expect((try run.object()["error"] as? [String: Any])?["code"] as? String == "notMedia")
    #expect(run.errors.components(separatedBy: "notMedia").count == 2, "\(run.errors)")
  }

  @Test("Reel's own objects are never ingested, neither by publish nor by ingest")
  func ownObjects() async throws {
    let bench = try Workbench()
    try bench.addDistinct(2)
    #expect(try await bench.reel("ingest", "clips").status == 0)
    let object = try #require(try bench.objects().first)
    let run = try await bench.reel("publish", "library/media/\(object)", "--author", "somebody-else")
    #expect(run.status == 4)
    #expect(try await bench.reel("ingest", "library/media", "--author", "x").status == 4)
    #expect(try await bench.reel("ingest", ".", "--author", "y").status == 0)
    #expect(try LibraryInspection(library: bench.library).published.count == 4)
  }

  @Test("a missing worker is reported once, nothing is read, and the exit code is 1")
  func missingWorker() async throws {
    let bench = try Workbench()
    try bench.addDistinct(3)
    for command in [["probe", "clips"], ["ingest", "clips", "--library", bench.library.path]] {
      let run = try await ReelBinary.run(command + ["--worker", "/nowhere/worker"], in: bench.folder)
      #expect(run.status == 1, "\(command)")
      let text = run.output + run.errors
      #expect(text.components(separatedBy: "/nowhere/worker").count == 2, "\(text)")
      #expect(text.contains("scripts/reel"))
    }
  }

  @Test(
    "invalid settings are reported before a library is created",
    arguments: [["--to", "s3://bucket/x"], ["--mode", "999"], ["--to", ""]])
  func settingsFirst(flags: [String]) async throws {
    let bench = try Workbench()
    try bench.addDistinct(1)
    let run = try await ReelBinary.run(
      ["ingest", "clips", "--library", bench.library.path] + flags, in: bench.folder)
    #expect([1, 64].contains(run.status))
    #expect(!FileManager.default.fileExists(atPath: bench.library.path), "\(run.errors)")
    let misspelt = try await ReelBinary.run(
      ["ingest", "clips", "--library", bench.library.path], in: bench.folder,
      environment: ["REEL_PROGRESS": "barr"])
    #expect(misspelt.status == 1 && misspelt.errors.contains("barr"))
  }

  @Test("a folder elsewhere is a destination; an unsupported kind gets a clear message")
  func destinations() async throws {
    let bench = try Workbench()
    try bench.addDistinct(2)
    let store = bench.folder.appendingPathComponent("elsewhere")
    let run = try await bench.reel(
      "ingest", "clips", "--to", store.path, "--mode", "644", "--public-base-url",
      "https://media.example.org/v")
    #expect(run.status == 0, "\(run.errors)")
    let inspection = try LibraryInspection(library: bench.library, store: store)
    #expect(inspection.published.count == 2)
    expectNothing(try inspection.brokenAfterCompletion())
    let posts = try await bench.reel("feed", "--json").object()["posts"] as? [[String: Any]] ?? []
    #expect(posts.allSatisfy { ($0["videoURL"] as? String ?? "").hasPrefix("https://media.example.org/v/") })
    let other = try await bench.reel("ingest", "clips", "--to", "gopher://host/x")
    #expect(other.status == 64 && other.errors.contains("gopher"))
  }
}
