import Foundation
import ReelLibrary
import ReelTestServers
import ReelTestSupport
import Testing

extension Workbench {
  /// Returns the id of the post that a file has become.
  func id(of file: String, _ more: String...) async throws -> String {
    let shown = try await ReelBinary.run(
      ["show", file, "--json", "--library", library.path] + more, in: folder, environment: environment)
    return try #require(try shown.object()["id"] as? String, "\(shown)")
  }

  /// Returns the feed, newest first.
  func feed() async throws -> [[String: Any]] {
    let feed = try await reel("feed", "--json", "--size", "1000")
    return try #require(try feed.object()["posts"] as? [[String: Any]], "\(feed)")
  }

  /// Returns the names in a folder beside the library.
  func names(in folder: String) -> Set<String> {
    let names = try? FileManager.default.contentsOfDirectory(
      atPath: self.folder.appendingPathComponent(folder).path)
    return Set((names ?? []).filter { !$0.hasPrefix(".") })
  }

  func eventTypes(_ name: String = "events.jsonl") throws -> [String] {
    try EventLog(folder.appendingPathComponent(name)).types
  }
}

extension ReelBinary.Outcome {
  /// The outcome of each post according to `--json`.
  fileprivate func outcomes() throws -> [String] {
    try #require(try object()["posts"] as? [[String: Any]], "\(self)").compactMap { $0["outcome"] as? String }
  }
}

/// Makes a library with some posts by ada from the clips.
private func library(_ count: Int = 3) async throws -> Workbench {
  let bench = try Workbench(reader: .fake)
  try bench.addDistinct(count)
  let run = try await bench.reel("ingest", "clips", "--author", "ada", "--jobs", "1")
  try #require(run.status == 0, "\(run)")
  return bench
}

@Suite("reel remove", .shortTime)
struct RemoveCommandTests {
  @Test("takes a post out of feed and store, by its id, its file or a filter, and reports it")
  func ways() async throws {
    let bench = try await library(4)
    let first = try await bench.id(of: "clips/clip-00000.mp4")
    let byID = try await bench.reel(
      "remove", first, "--reason", "Its owner asked", "--by", "bo", "--events", "events.jsonl")
    #expect(
      byID.status == 0
        && byID.output.contains(
          "\n1 removed\nTo put it back, with the file that it was made from: "
            + "reel restore --library \(bench.library.path) \(first) --from FILE"),
      "\(byID)")
    #expect(try bench.objects().count == 3)
    #expect(try await bench.feed().compactMap { $0["pageNumber"] as? Int } == [4, 3, 2])
    let told = try #require(try EventLog(bench.folder.appendingPathComponent("events.jsonl")).events.first)
    #expect(told["type"] as? String == "post.removed")
    let removal = try #require(told["removal"] as? [String: Any])
    #expect(removal["reason"] as? String == "Its owner asked" && removal["by"] as? String == "bo")
    #expect(removal["keptUntil"] is NSNull)

    let byFile = try await bench.reel("remove", "clips/clip-00001.mp4", "--json")
    #expect(byFile.status == 0, "\(byFile)")
    let document = try byFile.object()
    #expect(document["v"] as? Int == 1 && document["ok"] as? Bool == true)
    #expect(["changed", "unchanged", "failed"].map { document[$0] as? Int } == [1, 0, 0])
    #expect(try byFile.outcomes() == ["changed"])

    let bytes = try Data(contentsOf: bench.clips.appendingPathComponent("clip-00002.mp4"))
    try bytes.write(to: bench.clips.appendingPathComponent("a clip.mp4"))
    let third = try await bench.id(of: "clips/clip-00002.mp4")
    let advised = try await bench.reel("remove", "clips/a clip.mp4")
    #expect(advised.output.contains(" \(third) --from 'clips/a clip.mp4'\n"), "\(advised)")
    #expect(try await bench.reel("restore", third, "--from", "clips/a clip.mp4").status == 0)

    let none = try await bench.reel("remove", "--author", "bo")
    #expect(none.status == 0 && none.output == "0 removed\n", "\(none)")
    let byFilter = try await bench.reel("remove", "--author", "ada", "--since", "1d", "--events", "-")
    #expect(byFilter.status == 0 && byFilter.errors.contains("\n2 removed\n"), "\(byFilter)")
    #expect(try EventLog(text: byFilter.output).types == ["post.removed", "post.removed"])
    #expect(try bench.objects().isEmpty)
    #expect(try await bench.feed().isEmpty)
    #expect(try await bench.reel("verify").status == 0)
    #expect(try await bench.reel("doctor").status == 0)
  }

  @Test(
    "a dry run, or a file without a post, changes nothing; other ids are removed all the same")
  func nothing() async throws {
    let bench = try await library()
    let id = try await bench.id(of: "clips/clip-00000.mp4")
    let plan = try await bench.reel("remove", id, "--dry-run")
    #expect(plan.status == 0 && plan.output.hasSuffix("1 would be removed\n"), "\(plan)")
    #expect(try await bench.reel("remove", "--author", "ada", "--dry-run", "--json").outcomes().count == 3)
    try bench.addDistinct(1, from: 9)
    // `--to` with a folder does not choose posts.
    let chosen = try await bench.reel("remove", "--author", "ada", "--to", bench.media.path)
    #expect(chosen.status == 64 && chosen.errors.contains("--to does not choose posts"), "\(chosen)")
    #expect(try await bench.feed().count == 3)
    for stranger in ["clips/clip-00009.mp4", "clips/nothing.mp4"] {
      let refused = try await bench.reel("remove", id, stranger)
      #expect(refused.status == 1 && refused.errors.contains(stranger), "\(refused)")
    }
    for arguments in [[], [id, "--author", "ada"], [id, "--keep", "3x"]] {
      let usage = try await ReelBinary.run(
        ["remove", "--library", bench.library.path] + arguments, in: bench.folder)
      #expect(usage.status == 64, "\(arguments) \(usage)")
    }
    #expect(try await bench.feed().count == 3)
    #expect(try bench.objects().count == 3)

    let unknown = "01a21a07-3c30-7bd1-b378-83095dcbab17"
    let partly = try await bench.reel("remove", unknown, id, "--json")
    #expect(partly.status == 1, "\(partly)")
    #expect(try partly.outcomes() == ["unknown", "changed"])
    #expect(try partly.object()["ok"] as? Bool == false)
  }

  @Test("happens once: repeated, it says so, and also removes what was kept")
  func twice() async throws {
    let bench = try await library()
    let id = try await bench.id(of: "clips/clip-00000.mp4")
    #expect(try await bench.reel("remove", id, "--keep", "30d").status == 0)
    #expect(try bench.objects().count == 3)
    let status = try await bench.reel("status")
    #expect(status.output.contains("removed        1 post, 1 of them kept in the store\n"), "\(status)")
    let plan = try await bench.reel("remove", id, "--dry-run")
    #expect(plan.output.hasSuffix("1 would be removed\n"), "\(plan)")
    let longer = try await bench.reel("remove", id, "--keep", "60d")
    #expect(
      longer.output.contains("kept until") && longer.output.contains("were not recorded"), "\(longer)")
    let kept = try await bench.reel("remove", id, "--keep", "30d", "--json")
    #expect(try kept.status == 0 && kept.outcomes() == ["removed"], "\(kept)")
    #expect(try await bench.reel("prune").output == "0 removed or finished\n")
    #expect(try bench.objects().count == 3)
    #expect(try await bench.reel("remove", "clips/clip-00000.mp4").status == 0)
    #expect(try bench.objects().count == 2)
    let again = try await bench.reel("remove", id, "--json")
    #expect(try again.status == 0 && again.outcomes() == ["removed"], "\(again)")
    #expect(try again.object()["unchanged"] as? Int == 1)
    #expect(try await bench.reel("status", "--json").object()["removed"] as? Int == 1)
    #expect(try await bench.reel("status", "--json").object()["kept"] as? Int == 0)
  }

  @Test("output fits 80 columns")
  func columns() async throws {
    let bench = try await library()
    let id = try await bench.id(of: "clips/clip-00000.mp4")
    let narrow = ["COLUMNS": "80"]
    let words = String(repeating: "of a caption that is long ", count: 20)
    let outcomes = [
      try await bench.reel("edit", id, "--caption", words, environment: narrow),
      try await bench.reel("remove", id, "--reason", words, environment: narrow),
      try await bench.reel("remove", id, environment: narrow),
      try await bench.reel("edit", id, "--music", "x", environment: narrow),
      try await bench.reel("show", id, environment: narrow),
      try await bench.reel("restore", id, environment: narrow),
      try await bench.reel("prune", environment: narrow),
      try await bench.reel("status", environment: narrow),
    ]
    for outcome in outcomes {
      // Commands are meant to be copied, so they contain no line breaks.
      for line in outcome.output.split(separator: "\n") where !line.hasPrefix("reel ") {
        #expect(line.count <= 80, "\(line)")
      }
    }
  }
}

@Suite("A video whose post was removed", .shortTime)
struct RemovedVideoTests {
  @Test("stays away: ingest counts it and succeeds, publish says why, and --again publishes it")
  func again() async throws {
    let bench = try await library()
    let id = try await bench.id(of: "clips/clip-00000.mp4")
    #expect(try await bench.reel("remove", id, "--reason", "Its owner asked").status == 0)
    let run = try await bench.reel("ingest", "clips", "--author", "ada", "--events", "events.jsonl")
    #expect(run.status == 0, "\(run)")
    #expect(run.output.hasPrefix("nothing published: 2 duplicates, 1 was removed before\n"), "\(run)")
    #expect(run.output.contains("  removed     1, its post was removed, and stays so"), "\(run)")
    #expect(try bench.eventTypes().count { $0 == "file.removed" } == 1)
    let counted = try await bench.reel(
      "ingest", "clips", "--author", "ada", "--json", "--report", "html=run.html")
    let summary = try #require(try counted.object()["summary"] as? [String: Any])
    #expect(summary["removed"] as? Int == 1 && summary["duplicates"] as? Int == 2, "\(counted)")
    let page = try String(contentsOf: bench.folder.appendingPathComponent("run.html"), encoding: .utf8)
    #expect(page.contains("removed before") && page.contains("Its owner asked"))
    let plan = try await bench.reel("ingest", "clips", "--author", "ada", "--dry-run")
    #expect(plan.status == 0 && plan.output.contains("1 was removed before"), "\(plan)")

    let publish = try await bench.reel("publish", "clips/clip-00000.mp4", "--author", "ada")
    #expect(publish.status == 0 && publish.output.hasPrefix("removed: "), "\(publish)")
    #expect(publish.output.contains("reason   Its owner asked\n"), "\(publish)")
    // The command names the id, because the file may also be the video of another author's post.
    let command = "reel restore --library \(bench.library.path) \(id) --from clips/clip-00000.mp4\n"
    #expect(publish.errors.contains(command), "\(publish)")
    #expect(publish.errors.contains("--again"), "\(publish)")
    let json = try await bench.reel("publish", "clips/clip-00000.mp4", "--author", "ada", "--json").object()
    #expect(json["post"] is [String: Any] && json["removal"] is [String: Any], "\(json)")

    // The same video by another author is another post.
    #expect(try await bench.reel("publish", "clips/clip-00000.mp4", "--author", "bo").status == 0)
    let anew = try await bench.reel(
      "ingest", "clips", "--author", "ada", "--again", "--events", "again.jsonl")
    #expect(anew.status == 0, "\(anew)")
    #expect(try bench.eventTypes("again.jsonl").count { $0 == "post.published" } == 1)
    #expect(try await bench.feed().compactMap { $0["pageNumber"] as? Int } == [5, 4, 3, 2])
    let duplicates = try await bench.reel("ingest", "clips", "--author", "ada")
    #expect(duplicates.output.hasPrefix("nothing new: all 3 videos are already published\n"), "\(duplicates)")
  }

  @Test("is shown with the reason, by its id and by its file, unless the file has a post")
  func show() async throws {
    let bench = try await library()
    let file = "clips/clip-00001.mp4"
    let id = try await bench.id(of: file)
    #expect(
      try await bench.reel("remove", id, "--reason", "Its owner asked", "--by", "bo", "--keep", "30d").status
        == 0)
    for subject in [id, file] {
      let shown = try await bench.reel("show", subject)
      #expect(shown.status == 0 && shown.output.hasPrefix("removed: "), "\(shown)")
      for line in ["reason      Its owner asked\n", "by          bo\n", "kept until  "] {
        #expect(shown.output.contains(line), "\(shown)")
      }
      #expect(!shown.output.contains("\nurl "), "\(shown)")
      let json = try await bench.reel("show", subject, "--json").object()
      #expect((json["post"] as? [String: Any])?["id"] as? String == id)
      #expect((json["removal"] as? [String: Any])?["by"] as? String == "bo")
    }
    #expect(try await bench.reel("prune").status == 0)
    #expect(try await bench.reel("remove", id).status == 0)
    #expect(try await !bench.reel("show", id).output.contains("kept until"))
    #expect(try await bench.reel("publish", file, "--author", "ada", "--again").status == 0)
    let shown = try await bench.reel("show", file)
    #expect(shown.output.hasPrefix("id ") && !shown.output.contains(id), "\(shown)")
    #expect(try await bench.reel("show", id).output.hasPrefix("removed: "))
  }

  @Test("is rejected by a watch")
  func watch() async throws {
    let scene = try WatchScene()
    let file = scene.bench.clips.appendingPathComponent("clip.mp4")
    try scene.bench.addDistinct(1)
    try FileManager.default.moveItem(
      at: scene.bench.clips.appendingPathComponent("clip-00000.mp4"), to: file)
    #expect(try await scene.bench.reel("ingest", "clips").status == 0)
    #expect(try await scene.bench.reel("remove", "clips/clip.mp4", "--reason", "spam").status == 0)
    let watch = try scene.start(["--after", "move:done", "--reject", "move:no", "--settle", "0.3"])
    try await watch.until { scene.files("no").contains("clip.mp4.txt") }
    watch.send(SIGTERM)
    let outcome = try await watch.outcome()
    #expect(outcome.status == 0, "\(outcome)")
    #expect(scene.files("no") == ["clip.mp4", "clip.mp4.txt"] && scene.files("done").isEmpty)
    let reason = try String(
      contentsOf: scene.bench.folder.appendingPathComponent("no/clip.mp4.txt"), encoding: .utf8)
    #expect(reason.contains("(spam), and its video is not published again"), "\(reason)")
    #expect(scene.events("file.removed").count == 1)
  }

  @Test("leaves the page, its videos and its feed with the next run, and the others keep their numbers")
  func page() async throws {
    let bench = try await library(5)
    func run(_ arguments: String...) async throws -> [String: Any] {
      let page = try await ReelBinary.run(
        ["page", "-o", "site", "--json", "--library", bench.library.path] + arguments, in: bench.folder)
      #expect(page.status == 0, "\(page)")
      return try page.object()
    }
    func numbers() throws -> [Int] {
      try (1...3).flatMap { page -> [Int] in
        let file = bench.folder.appendingPathComponent("site/feed/\(page).json")
        guard let data = try? Data(contentsOf: file) else { return [] }
        let posts = (try JSONSerialization.jsonObject(with: data) as? [String: Any])?["posts"]
        return (posts as? [[String: Any]] ?? []).compactMap { $0["pageNumber"] as? Int }
      }
    }
    #expect(try await run("--size", "2", "--media", "copy")["posts"] as? Int == 5)
    #expect(bench.names(in: "site/media").count == 5)
    // One post in the middle, and the newest.
    for (number, left) in [(2, [1, 3, 4, 5]), (5, [1, 3, 4])] {
      let post = try #require(try await bench.feed().first { $0["pageNumber"] as? Int == number })
      let (id, video) = (try #require(post["id"] as? String), try #require(post["video"] as? String))
      #expect(try await bench.reel("remove", id).status == 0)
      let summary = try await run()
      #expect(summary["removed"] as? Int == 1 && summary["posts"] as? Int == left.count, "\(summary)")
      #expect(try numbers() == left)
      #expect(!bench.names(in: "site/media").contains(video))
      for name in bench.names(in: "site/feed") {
        let text = try String(
          contentsOf: bench.folder.appendingPathComponent("site/feed/" + name), encoding: .utf8)
        #expect(!text.contains(id), "\(name)")
      }
    }
    #expect(try await bench.reel("page", "-o", "site").output.hasPrefix("nothing new: "))
    #expect(try await bench.reel("restore", "clips/clip-00001.mp4").status == 0)
    _ = try await run()
    #expect(try numbers() == [1, 2, 3, 4])
    #expect(try await bench.reel("remove", "--author", "ada").status == 0)
    #expect(try await run()["posts"] as? Int == 0)
    #expect(bench.names(in: "site/media").isEmpty)
  }
}

@Suite("reel restore", .shortTime)
struct RestoreCommandTests {
  @Test("brings a post back to its place while its video is kept, and later from the file")
  func ways() async throws {
    let bench = try await library()
    let file = "clips/clip-00001.mp4"
    let before = try await bench.feed()
    let id = try await bench.id(of: file)
    #expect(try await bench.reel("remove", id, "--keep", "1d").status == 0)
    let kept = try await bench.reel("restore", id, "--events", "events.jsonl")
    #expect(kept.status == 0 && kept.output.hasSuffix("1 restored\n"), "\(kept)")
    #expect(try bench.eventTypes() == ["post.restored"])
    #expect(NSArray(array: try await bench.feed()) == NSArray(array: before))

    for subject in [[id, "--from", "clips"], [id, "--from", file], [file]] {
      #expect(try await bench.reel("remove", id).status == 0)
      let gone = try await bench.reel("restore", id)
      // `reel verify` calls a missing object by the same code.
      #expect(gone.status == 3 && gone.output.contains("--from"), "\(gone)")
      #expect(gone.output.contains(" [missing]\n"), "\(gone)")
      #expect(try bench.objects().count == 2)
      let restored = try await ReelBinary.run(
        ["restore", "--json", "--library", bench.library.path] + subject, in: bench.folder)
      #expect(try restored.status == 0 && restored.outcomes() == ["changed"], "\(restored)")
      #expect(try bench.objects().count == 3)
      #expect(NSArray(array: try await bench.feed()) == NSArray(array: before))
    }
    for subject in [id, file] {
      let again = try await bench.reel("restore", subject, "--json")
      #expect(try again.status == 0 && again.outcomes() == ["unchanged"], "\(again)")
    }
    #expect(try await bench.reel("verify", "--read").status == 0)
    let unknown = try await bench.reel("restore", "01a21a07-3c30-7bd1-b378-83095dcbab17", "--json")
    #expect(try unknown.status == 1 && unknown.outcomes() == ["unknown"], "\(unknown)")
  }
}

@Suite("reel edit", .shortTime)
struct EditCommandTests {
  @Test("changes a post's words, finds it by the new ones, and reports a difference")
  func words() async throws {
    let bench = try await library()
    let file = "clips/clip-00000.mp4"
    let id = try await bench.id(of: file)
    let edited = try await bench.reel(
      "edit", file, "--caption", "The harbour", "--author-name", "Ada", "--likes", "12", "--events",
      "events.jsonl")
    #expect(edited.status == 0 && edited.output == "edited \(id) (The harbour)\n1 edited\n", "\(edited)")
    let told = try #require(try EventLog(bench.folder.appendingPathComponent("events.jsonl")).events.first)
    #expect(told["type"] as? String == "post.edited")
    #expect(told["changed"] as? [String] == ["autherName", "caption", "likeCount"])
    #expect(try await bench.reel("feed", "--search", "harbour", "--json").output.contains(id))
    let same = try await bench.reel("edit", id, "--caption", "The harbour", "--json")
    #expect(try same.status == 0 && same.outcomes() == ["unchanged"], "\(same)")
    #expect(try await bench.reel("edit", id, "--caption", "").status == 0)
    let post = try await bench.reel("show", id, "--json").object()
    #expect(post["caption"] is NSNull && post["autherName"] as? String == "Ada")
    #expect(post["likeCount"] as? Int == 12)

    let removed = try await bench.id(of: "clips/clip-00001.mp4")
    #expect(try await bench.reel("remove", removed).status == 0)
    let refused = try await bench.reel("edit", removed, "--caption", "x", "--json")
    #expect(try refused.status == 3 && refused.outcomes() == ["removed"], "\(refused)")
    for arguments in [[id], ["--caption", "x"], [id, "--likes", "-1"], [id, "--likes", "many"]] {
      let usage = try await ReelBinary.run(
        ["edit", "--library", bench.library.path] + arguments, in: bench.folder)
      #expect(usage.status == 64, "\(arguments) \(usage)")
    }
  }

  @Test("is the command that publish suggests, ready to paste, if the post's words differ")
  func afterPublish() async throws {
    let bench = try await library()
    let file = "clips/clip-00000.mp4"
    let id = try await bench.id(of: file)
    func publish(_ more: String...) async throws -> ReelBinary.Outcome {
      let outcome = try await ReelBinary.run(
        ["publish", file, "--author", "ada", "--library", bench.library.path] + more, in: bench.folder,
        environment: bench.environment)
      #expect(outcome.status == 0, "\(outcome)")
      return outcome
    }
    #expect(try await publish().errors.withoutProgress == "")
    let words = "-it's $(date) \"here\"\n"
    let told = try await publish("--caption=\(words)", "--music", "", "--json")
    #expect(try told.object()["new"] as? Bool == false && told.object()["id"] as? String == id)
    #expect(told.errors.contains("The post differs (caption) and was left unchanged."), "\(told)")
    let command = try #require(told.errors.split(separator: "\n").last { $0.hasPrefix("reel edit ") })
    let pasted = try await ReelBinary.runProgram(
      "/bin/bash", ["-c", "reel() { \"$REEL_PROGRAM\" \"$@\"; }; " + command], in: bench.folder,
      environment: ["REEL_PROGRAM": ReelBinary.url.path])
    #expect(pasted.status == 0, "\(pasted)")
    #expect(try await bench.reel("show", id, "--json").object()["caption"] as? String == words)
    #expect(try await publish("--caption=\(words)").errors.withoutProgress == "")
    try bench.addDistinct(1, from: 7)
    let new = try await bench.reel("publish", "clips/clip-00007.mp4", "--caption", "New", "--json")
    #expect(try new.object()["new"] as? Bool == true && new.errors.withoutProgress == "", "\(new)")
  }
}

@Suite("reel move", .shortTime)
struct MoveCommandTests {
  @Test("takes a post to another folder, under its id, name and place")
  func folder() async throws {
    let bench = try await library()
    let file = "clips/clip-00000.mp4"
    let before = try await bench.feed()
    let id = try await bench.id(of: file)
    let moved = try await bench.reel("move", id, "--to", "other", "--events", "events.jsonl")
    #expect(moved.status == 0 && moved.output.hasSuffix("1 moved\n"), "\(moved)")
    #expect(try bench.eventTypes() == ["post.moved"])
    let after = try await bench.feed()
    #expect(after.map { $0["id"] as? String } == before.map { $0["id"] as? String })
    let post = try #require(after.last)
    #expect((post["videoURL"] as? String)?.contains("/other/") == true)
    #expect(bench.names(in: "other") == [try #require(post["video"] as? String)])
    #expect(try bench.objects().count == 2)
    let again = try await bench.reel("move", file, "--to", "other", "--json")
    #expect(try again.status == 0 && again.outcomes() == ["unchanged"], "\(again)")
    let all = try await bench.reel("move", "--author", "ada", "--to", "other", "--json")
    #expect(all.status == 0, "\(all)")
    #expect(try all.object()["changed"] as? Int == 2 && all.object()["unchanged"] as? Int == 1)
    #expect(try bench.objects().isEmpty && bench.names(in: "other").count == 3)
    #expect(try await bench.reel("verify", "--read").status == 0)
    // In the other store it is a post now.
    let ingest = try await bench.reel("ingest", "clips", "--author", "ada", "--to", "other")
    #expect(ingest.output.hasPrefix("nothing new: all 3 videos"), "\(ingest)")
  }

  @Test("leaves a record: its video is a duplicate in the old store, too, unless --again is given")
  func comesAgain() async throws {
    let bench = try await library()
    let id = try await bench.id(of: "clips/clip-00000.mp4")
    #expect(try await bench.reel("move", id, "--to", "other").status == 0)
    try bench.addDistinct(1, from: 7)
    let plan = try await bench.reel("ingest", "clips", "--author", "ada", "--dry-run", "--json")
    let planned = try #require(try plan.object()["summary"] as? [String: Any])
    #expect(planned["planned"] as? Int == 1 && planned["duplicates"] as? Int == 3, "\(plan)")
    for run in 0..<2 {
      let ingest = try await bench.reel("ingest", "clips", "--author", "ada", "--json")
      let summary = try #require(try ingest.object()["summary"] as? [String: Any])
      #expect(
        summary["published"] as? Int == 1 - run && summary["duplicates"] as? Int == 3 + run, "\(ingest)")
    }
    let told = try await bench.reel("publish", "clips/clip-00000.mp4", "--author", "ada", "--json")
    #expect(try told.object()["id"] as? String == id && told.object()["new"] as? Bool == false, "\(told)")
    // With another author or --again, it becomes another post.
    for more in [["--author", "bo"], ["--author", "ada", "--again"]] {
      let new = try await ReelBinary.run(
        ["publish", "clips/clip-00000.mp4", "--json", "--library", bench.library.path] + more,
        in: bench.folder, environment: bench.environment)
      #expect(try new.object()["new"] as? Bool == true, "\(new)")
    }
    #expect(try await bench.reel("verify").status == 0)
    #expect(try await bench.reel("doctor").status == 0)
  }

  @Test("fails if the video has a post there already, and ingest warns of that beforehand")
  func taken() async throws {
    let bench = try await library()
    try bench.addDistinct(1, from: 8)
    let plan = try await bench.reel("ingest", "clips", "--author", "ada", "--to", "other", "--dry-run")
    #expect(plan.output.contains("4 would be published"), "\(plan)")
    #expect(plan.output.contains("Of these, 3 are posts in another store of this library, too"), "\(plan)")
    // The commands can be copied as they are: they have no placeholders.
    let (media, other) = ("file://\(bench.media.path)", "file://\(bench.folder.path)/other")
    let relocate = "reel relocate --library \(bench.library.path) '\(media)' '\(other)'\n"
    #expect(plan.output.contains("reel move --library") && plan.output.contains(relocate), "\(plan)")
    #expect(!plan.output.contains("POST") && !plan.output.contains("STORE"), "\(plan)")
    let second = try await bench.reel("ingest", "clips", "--author", "ada", "--to", "other")
    #expect(second.status == 0, "\(second)")
    for words in ["Of these, 3 are posts in another store", "reel remove"] {
      #expect(second.output.contains(words), "\(second)")
    }
    let third = try await bench.reel("ingest", "clips", "--author", "ada", "--to", "third", "--json")
    #expect(try third.object()["elsewhere"] as? Int == 4, "\(third)")
    // Posts of another author do not count as posts in another store.
    let others = try await bench.reel("ingest", "clips", "--author", "bo", "--json")
    #expect(try others.object()["elsewhere"] as? Int == 0, "\(others)")
    #expect(try others.object()["ofOtherAuthors"] as? Int == 4, "\(others)")
    let here = try await bench.feed().first { post in
      post["author"] as? String == "ada" && (post["videoURL"] as? String)?.contains("/library/") == true
    }
    let id = try #require(here?["id"] as? String)
    let refused = try await bench.reel("move", id, "--to", "other", "--json")
    #expect(try refused.status == 3 && refused.outcomes() == ["taken"], "\(refused)")
    #expect(try await bench.reel("verify").status == 0)
  }
}

@Suite("What the changing commands suggest", .shortTime)
struct ChangeAdviceTests {
  @Test(
    "a command that publish prints sets exactly the words that were given",
    arguments: [
      "rtl \u{202E} abc", "zero\u{200B}width", "line\u{2028}end", "Gr\u{FC}\u{DF}e, \u{1F600}",
      "it's `$(touch x)` \"q\"", "it'\u{301};touch x;echo '\u{301}",
      "-x --y", "a\nb\tc", "##[error] ::set-output", "\u{1B}[31mred",
    ], ["C.UTF-8", "C"])
  func paste(caption: String, locale: String) async throws {
    let bench = try await library()
    let said = try await bench.reel(
      "publish", "clips/clip-00000.mp4", "--author", "ada", "--caption=\(caption)",
      environment: ["LC_ALL": locale])
    let command = try #require(
      said.errors.split(separator: "\n").map(String.init).last { $0.contains(" edit ") }, "\(said)")
    let shell = Process()
    shell.executableURL = URL(filePath: "/bin/bash")
    let call = try #require(command.range(of: "edit ")).lowerBound
    shell.arguments = ["-c", "exec \"$0\" " + command[call...], ReelBinary.url.path]
    shell.currentDirectoryURL = bench.folder
    shell.standardOutput = nil
    try Spawning.alone { try shell.run() }
    shell.waitUntilExit()
    #expect(shell.terminationStatus == 0, "\(command)")
    let id = try await bench.id(of: "clips/clip-00000.mp4")
    let post = try #require(try await bench.feed().first { $0["id"] as? String == id })
    #expect(post["caption"] as? String == caption, "\(command)")
  }

  @Test("a move of nothing creates no store")
  func moveOfNothing() async throws {
    let bench = try await library()
    let moved = try await bench.reel("move", "01a21a07-3c30-7bd1-b378-83095dcbab17", "--to", "new")
    #expect(moved.status == 1, "\(moved)")
    #expect(!FileManager.default.fileExists(atPath: bench.folder.appendingPathComponent("new").path))
    #expect(try await bench.reel("doctor").status == 0)
  }

  @Test("moving a removed post leaves the library sound")
  func moveOfRemoved() async throws {
    let bench = try await library()
    let id = try await bench.id(of: "clips/clip-00000.mp4")
    #expect(try await bench.reel("remove", id).status == 0)
    #expect(try await bench.reel("move", id, "--to", "new").status == 3)
    let doctor = try await bench.reel("doctor")
    #expect(doctor.status == 0, "\(doctor)")
  }
}

@Suite("Remains of removed posts", .shortTime)
struct RemovedRestTests {
  @Test("doctor reports a kept video that is missing, and a removed one that is back")
  func findings() async throws {
    let bench = try await library()
    var videos: [String: String] = [:]
    for post in try await bench.feed() { videos[post["id"] as? String ?? ""] = post["video"] as? String }
    let (kept, gone) = (
      try await bench.id(of: "clips/clip-00000.mp4"), try await bench.id(of: "clips/clip-00001.mp4")
    )
    let media = bench.library.appendingPathComponent("media")
    func video(_ id: String) throws -> URL { media.appendingPathComponent(try #require(videos[id])) }
    let bytes = try Data(contentsOf: video(gone))
    #expect(try await bench.reel("remove", kept, "--keep", "30d").status == 0)
    #expect(try await bench.reel("remove", gone).status == 0)
    #expect(try await bench.reel("doctor").status == 0)
    try FileManager.default.removeItem(at: video(kept))
    try bytes.write(to: video(gone))
    func kinds(_ outcome: ReelBinary.Outcome, _ key: String) throws -> [String] {
      let found = try outcome.object()[key] as? [[String: Any]] ?? []
      return found.compactMap { $0["kind"] as? String }.sorted()
    }
    let found = try await bench.reel("doctor", "--json")
    #expect(found.status == 3, "\(found)")
    #expect(try kinds(found, "left") == ["object.kept-missing", "object.removed"])
    // Verify checks only the posts in the feed.
    #expect(try await bench.reel("verify").status == 0)
    let fixed = try await bench.reel("doctor", "--fix", "--json")
    #expect(try kinds(fixed, "mended") == ["object.removed"], "\(fixed)")
    #expect(try kinds(fixed, "left") == ["object.kept-missing"], "\(fixed)")
    #expect(try !FileManager.default.fileExists(atPath: video(gone).path))
    // The command that the finding suggests.
    #expect(try await bench.reel("restore", kept, "--from", "clips").status == 0)
    #expect(try await bench.reel("doctor").status == 0)
  }

  @Test("--json reports what the store keeps, and changes that an earlier command had begun")
  func remains() async throws {
    let bench = try Workbench(reader: .fake)
    try bench.addDistinct(3)
    let adapter = ReelBinary.project.appendingPathComponent("Samples/adapters/folder.sh")
    let program = bench.folder.appendingPathComponent("store.sh")
    let script = try String(contentsOf: adapter, encoding: .utf8)
      .replacing("remove() {", with: "remove() { [ ! -e \"$folder/broken\" ] || fail denied 'not now'")
      .replacing(
        "sync \"$folder\" || fail storeUnusable 'the folder can not be synced'\n  printf '{\"type\":\"result\"}",
        with: "printf '{\"type\":\"result\",\"remains\":\"a copy stays until 2030\"}"
      )
    try Script.write(script, to: program)
    let store = bench.folder.appendingPathComponent("store")
    let settings = ["REEL_ADAPTER_FOLDER": store.path, "REEL_TO": "command:" + program.path]
    let run = try await bench.reel("ingest", "clips", "--author", "ada", environment: settings)
    #expect(run.status == 0, "\(run)")
    let broken = store.appendingPathComponent("broken")
    try Data().write(to: broken)
    let failed = try await bench.reel("remove", "clips/clip-00000.mp4", "--json", environment: settings)
    #expect(try failed.status == 3 && failed.outcomes() == ["failed"], "\(failed)")
    #expect(try await bench.feed().count == 2)
    try FileManager.default.removeItem(at: broken)
    let removed = try await bench.reel(
      "remove", "--author", "ada", "--since", "1d", "--json", environment: settings)
    #expect(removed.status == 0 && removed.errors.contains("a copy stays until 2030"), "\(removed)")
    #expect(try removed.outcomes() == ["carriedOn", "changed", "changed"], "\(removed)")
    for post in try #require(try removed.object()["posts"] as? [[String: Any]]) {
      let left = try #require(post["left"] as? [[String: Any]])
      #expect(left.count == 1, "\(removed)")
      #expect((left.first?["remains"] as? String)?.contains("a copy stays until 2030") == true)
      #expect((left.first?["versions"] as? [Any])?.isEmpty == true)
    }
  }
}

@Suite("reel prune", .shortTime)
struct PruneCommandTests {
  @Test("removes what is no longer kept, and lists it in a dry run")
  func expired() async throws {
    let bench = try await library()
    #expect(try await bench.reel("remove", "clips/clip-00000.mp4", "--keep", "1s").status == 0)
    #expect(try await bench.reel("remove", "clips/clip-00001.mp4", "--keep", "1d").status == 0)
    #expect(try bench.objects().count == 3)
    try await Task.sleep(for: .milliseconds(1100))
    let plan = try await bench.reel("prune", "--dry-run", "--json")
    #expect(try plan.status == 0 && plan.outcomes() == ["planned"], "\(plan)")
    #expect(try bench.objects().count == 3)
    let pruned = try await bench.reel("prune", "--json")
    #expect(try pruned.status == 0 && pruned.outcomes() == ["changed"], "\(pruned)")
    #expect(try bench.objects().count == 2)
    #expect(try await bench.reel("prune").output == "0 removed or finished\n")
    #expect(try await bench.reel("restore", "clips/clip-00001.mp4").status == 0)
  }

  @Test("forgets outdated rows, but nothing about posts")
  func rows() async throws {
    let bench = try await library()
    let catalog = try Connection(bench.library.appendingPathComponent("catalog.sqlite").path)
    try catalog.run("INSERT INTO reading VALUES (zeroblob(32), '0.0', '59', '{}')")
    try catalog.close()
    for caption in ["one", "two"] {
      #expect(try await bench.reel("edit", "clips/clip-00000.mp4", "--caption", caption).status == 0)
    }
    #expect(try await bench.reel("remove", "clips/clip-00001.mp4").status == 0)
    let plan = try await bench.reel("prune", "--dry-run", "--json")
    #expect(try plan.status == 0 && plan.object()["forgotten"] as? Int == 1, "\(plan)")
    let pruned = try await bench.reel("prune")
    #expect(pruned.output == "0 removed or finished, 1 row of the catalog forgotten\n", "\(pruned)")
    #expect(try await bench.reel("prune", "--json").object()["forgotten"] as? Int == 0)
    #expect(try await bench.reel("feed", "--search", "two").output.contains("two"))
    let run = try await bench.reel("ingest", "clips", "--author", "ada")
    #expect(run.output.hasPrefix("nothing published: 2 duplicates, 1 was removed before\n"), "\(run)")
  }
}
