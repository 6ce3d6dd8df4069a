import Foundation
import Testing

/// `reel ingest --posters` with the real worker: what is stored, and what happens to it later.
@Suite("Posters of posts", .shortTime)
struct PostersOfPostsTests {
  private struct Shown: Equatable {
    let video: String
    let poster: String?
    let url: String?
    let size: [Int?]
    let hasHash: Bool
  }

  private func published(_ flags: String...) async throws -> Workbench {
    let bench = try Workbench()
    for name in ["clips/faststart.mp4", "clips/phone-portrait.mov", "clips/vp9.webm"] { try bench.add(name) }
    let outcome = try await run(bench, ["ingest", "clips", "--posters"] + flags)
    #expect(outcome.status == 0, "\(outcome)")
    return bench
  }

  private func run(_ bench: Workbench, _ arguments: [String]) async throws -> ReelBinary.Outcome {
    try await ReelBinary.run(arguments + ["--library", bench.library.path], in: bench.folder)
  }

  private func feed(_ bench: Workbench) async throws -> [Shown] {
    let posts = try await bench.reel("feed", "--json").object()["posts"] as? [[String: Any]]
    return try #require(posts).map { post in
      Shown(
        video: post["video"] as? String ?? "", poster: post["poster"] as? String,
        url: post["posterURL"] as? String,
        size: [post["posterWidth"] as? Int, post["posterHeight"] as? Int],
        hasHash: (post["blurHash"] as? String)?.count == 28)
    }
  }

  private func stray(_ bench: Workbench) throws -> [String] {
    try LibraryInspection(library: bench.library).brokenAfterCompletion()
  }

  @Test("each post has an upright poster beside its video, and posters are verified with the videos")
  func stored() async throws {
    let bench = try await published()
    let posts = try await feed(bench)
    #expect(try stray(bench) == [])
    #expect(try LibraryInspection(library: bench.library).posters.count == 3)
    for post in posts {
      let poster = try #require(post.poster)
      #expect(post.url == bench.media.appendingPathComponent(poster).absoluteString && post.hasHash)
      let bytes = try Data(contentsOf: bench.media.appendingPathComponent(poster))
      #expect(bytes.starts(with: [0xFF, 0xD8, 0xFF]))
    }
    // The phone was held upright.
    let sizes = posts.map(\.size)
    #expect(sizes.contains { ($0[1] ?? 0) > ($0[0] ?? 0) } && sizes.contains { ($0[1] ?? 0) < ($0[0] ?? 0) })
    let looked = try await bench.reel("verify", "--read", "--json").object()
    #expect(looked["sound"] as? Int == 6, "\(looked)")
    #expect(try await bench.reel("ingest", "clips", "--posters").status == 0)
    #expect(try bench.objects().count == 6)
  }

  @Test("a missing or damaged poster is reported, and restored from a backup of the store")
  func damaged() async throws {
    let bench = try await published("--poster-size", "64")
    let backup = bench.folder.appendingPathComponent("backup")
    try FileManager.default.copyItem(at: bench.media, to: backup)
    let posters = try await feed(bench).compactMap(\.poster)
    try FileManager.default.removeItem(at: bench.media.appendingPathComponent(posters[0]))
    try Data("no picture".utf8).write(to: bench.media.appendingPathComponent(posters[1]))
    let verified = try await bench.reel("verify")
    #expect(verified.status == 3 && verified.output.contains("2 damaged objects"), "\(verified)")
    let found = try await bench.reel("doctor")
    #expect(found.status == 3, "\(found)")
    #expect(found.output.contains("its poster is missing from"), "\(found)")
    #expect(try await bench.reel("doctor", "--fix", "--from", backup.path).status == 0)
    #expect(try stray(bench) == [])
    #expect(try await bench.reel("verify", "--read").status == 0)
  }

  @Test(
    "a killed run's poster is used by the next run's post if its bytes are the same, and removed otherwise",
    .needsFailpoints, arguments: [[], ["--poster-size", "64"], ["--posters", "none"]])
  func afterCrash(_ change: [String]) async throws {
    let bench = try Workbench()
    try bench.add("clips/faststart.mp4")
    let killed = try await bench.reel(
      "ingest", "clips", "--posters", environment: ["REEL_DIE_AT": "uploaded"])
    #expect(killed.wasKilled)
    let before = try bench.objects()
    #expect(before.count == 2)
    let flags = change.first == "--posters" ? change : ["--posters"] + change
    #expect(try await run(bench, ["ingest", "clips"] + flags).status == 0)
    expectNothing(try LibraryInspection(library: bench.library).broken())
    let posters = try await feed(bench).map(\.poster)
    guard !change.isEmpty else {
      #expect(try bench.objects() == before && posters.allSatisfy { $0 != nil })
      return
    }
    #expect(posters.allSatisfy { ($0 == nil) == (change.first == "--posters") })
    #expect(try await bench.reel("doctor").status == 0, "it is younger than the grace period")
    let found = try await bench.reel("doctor", "--grace", "0")
    #expect(found.status == 3 && found.output.contains("the post does not show it"), "\(found)")
    #expect(try await bench.reel("doctor", "--fix", "--grace", "0").status == 0)
    #expect(try stray(bench) == [])
    #expect(try await feed(bench).map(\.poster) == posters)
  }

  @Test(
    "an abandoned intent takes its poster along", .needsFailpoints)
  func stale() async throws {
    let bench = try Workbench()
    try bench.add("clips/faststart.mp4")
    _ = try await bench.reel("ingest", "clips", "--posters", environment: ["REEL_DIE_AT": "uploaded"])
    #expect(try bench.objects().count == 2)
    let fixed = try await bench.reel("doctor", "--fix", "--grace", "0")
    #expect(fixed.status == 0, "\(fixed)")
    #expect(try bench.objects().isEmpty)
    #expect(try await bench.reel("ingest", "clips", "--posters").status == 0)
    #expect(try stray(bench) == [])
  }

  @Test("posters move with a library, and with a store")
  func moved() async throws {
    let bench = try await published()
    let elsewhere = bench.folder.appendingPathComponent("elsewhere")
    try FileManager.default.moveItem(at: bench.library, to: elsewhere)
    try FileManager.default.moveItem(at: elsewhere, to: bench.library)
    let (old, new) = (bench.folder.appendingPathComponent("old"), bench.folder.appendingPathComponent("new"))
    try bench.add("clips/silent.mp4")
    #expect(try await bench.reel("ingest", "clips", "--posters", "--to", old.path).status == 0)
    try FileManager.default.moveItem(at: old, to: new)
    let relocated = try await bench.reel("relocate", old.path, new.path)
    #expect(relocated.status == 0, "\(relocated)")
    for post in try await feed(bench) {
      let url = try #require(post.url.flatMap { URL(string: $0) })
      #expect(FileManager.default.fileExists(atPath: url.path), "\(url)")
    }
    #expect(try await feed(bench).count { $0.url?.hasPrefix(new.absoluteString) ?? false } == 4)
  }

  @Test("a rebuilt catalog has the videos, and does not take posters for damaged ones")
  func rebuilt() async throws {
    let bench = try await published()
    for name in try FileManager.default.contentsOfDirectory(atPath: bench.library.path)
    where name.hasPrefix("catalog.sqlite") {
      try FileManager.default.removeItem(at: bench.library.appendingPathComponent(name))
    }
    let rebuilt = try await bench.reel("doctor", "--rebuild")
    #expect(rebuilt.status == 0, "\(rebuilt)")
    #expect(try await feed(bench).map(\.poster) == [nil, nil, nil])
  }

  @Test("a video without a picture is published with a warning, but not if posters are required")
  func withoutPicture() async throws {
    let bench = try Workbench()
    let worker = ReelBinary.folder.appendingPathComponent("reel-sabotaged-worker").path
    let head = Data([0, 0, 0, 24]) + Data("ftypisom".utf8) + Data(count: 4) + Data("isomiso2".utf8)
    let order = Data([0, 0, 0, 8]) + Data("moovvideo without-picture ".utf8) + Data(count: 100)
    try (head + order).write(to: bench.clips.appendingPathComponent("clip.mp4"))
    let required = try await bench.reel(
      "ingest", "clips", "--posters", "required", environment: ["REEL_WORKER": worker])
    #expect(required.status == 4 && required.output.contains("[poster.noPicture]"), "\(required)")
    #expect(try bench.objects().isEmpty)
    let wanted = try await bench.reel("ingest", "clips", "--posters", environment: ["REEL_WORKER": worker])
    #expect(wanted.status == 0 && wanted.output.contains("warning: "), "\(wanted)")
    #expect(wanted.output.contains("no poster"), "\(wanted)")
    #expect(try bench.objects().count == 1 && stray(bench) == [])
  }

  // MARK: reel poster --missing

  private func unpostered() async throws -> Workbench {
    let bench = try Workbench()
    for name in ["clips/faststart.mp4", "clips/phone-portrait.mov", "clips/vp9.webm"] { try bench.add(name) }
    #expect(try await bench.reel("ingest", "clips").status == 0)
    return bench
  }

  @Test("posts without a poster get one, once")
  func missing() async throws {
    let bench = try await unpostered()
    let made = try await bench.reel("poster", "--missing", "--size", "64")
    #expect(made.status == 0 && made.output.contains("3 posters made"), "\(made)")
    #expect(try stray(bench) == [])
    let posts = try await feed(bench)
    #expect(posts.allSatisfy { $0.hasHash && $0.size.compactMap(\.self).max() == 64 })
    #expect(posts.allSatisfy { $0.url?.hasPrefix(bench.media.absoluteString) ?? false })
    #expect(try await bench.reel("verify", "--read").status == 0)
    let again = try await bench.reel("poster", "--missing")
    #expect(again.status == 0 && again.output == "nothing to do: every post has a poster\n", "\(again)")
    #expect(try bench.objects().count == 6)
    #expect(try await bench.reel("ingest", "clips", "--posters").status == 0)
    #expect(try await feed(bench) == posts)
  }

  @Test(
    "after a kill, the next run continues under the same names", .needsFailpoints,
    arguments: ["groupCommitted:2", "objectNamed:2", "folderSynced:1", "groupWritten:3"])
  func missingAndKilled(_ place: String) async throws {
    let bench = try await unpostered()
    let killed = try await bench.reel(
      "poster", "--missing", environment: ["REEL_FAILPOINT": "\(place)=crash"])
    #expect(killed.wasKilled, "\(killed)")
    expectNothing(try LibraryInspection(library: bench.library).broken())
    let names = try LibraryInspection(library: bench.library).named
    #expect(try await bench.reel("poster", "--missing").status == 0)
    let whole = try LibraryInspection(library: bench.library)
    expectNothing(try whole.brokenAfterCompletion())
    #expect(whole.posters.count == 3)
    if names.count > 3 { #expect(whole.named == names) }
  }

  @Test("interrupted, it ends soon and holds nothing", .needsFailpoints)
  func missingInterrupted() async throws {
    let bench = try await unpostered()
    let running = try ReelBinary.start(
      ["poster", "--missing", "--library", bench.library.path], in: bench.folder,
      environment: ["REEL_FAILPOINT": "uploadBegun:1=stop"])
    try await running.untilStopped()
    running.send(SIGINT)
    running.send(SIGCONT)
    let outcome = try await running.outcome()
    #expect(outcome.status == 130, "\(outcome)")
    expectNothing(try LibraryInspection(library: bench.library).broken())
    #expect(try await bench.reel("poster", "--missing").status == 0)
    expectNothing(try LibraryInspection(library: bench.library).brokenAfterCompletion())
  }

  @Test("a missing video is reported, and keeps no other post from getting a poster")
  func missingVideo() async throws {
    let bench = try await unpostered()
    let gone = try #require(try bench.objects().sorted().first)
    try FileManager.default.removeItem(at: bench.media.appendingPathComponent(gone))
    let made = try await bench.reel("poster", "--missing", "--jsonl")
    #expect(made.status == 3, "\(made)")
    let lines = try made.output.split(separator: "\n").map {
      try #require(try JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any])
    }
    #expect(lines.count == 3 && lines.count { $0["ok"] as? Bool == true } == 2)
  }

  @Test(
    "while it makes posters, no other process takes them, and their store is not moved",
    .needsFailpoints)
  func missingBesideOthers() async throws {
    let bench = try await unpostered()
    let elsewhere = bench.folder.appendingPathComponent("elsewhere")
    try FileManager.default.copyItem(at: Workbench.sample("clips/silent.mp4"), to: elsewhere)
    let store = bench.folder.appendingPathComponent("store")
    #expect(try await bench.reel("ingest", "elsewhere", "--to", store.path).status == 0)
    let running = try ReelBinary.start(
      ["poster", "--missing", "--library", bench.library.path], in: bench.folder,
      environment: ["REEL_FAILPOINT": "uploadBegun:1=stop"])
    try await running.untilStopped()
    #expect(try await bench.reel("doctor", "--fix", "--grace", "0").status == 0)
    // It holds the posters of the library's own store.
    let beside = try await bench.reel("poster", "--missing")
    #expect(beside.status == 0 && beside.output.contains("1 poster made"), "\(beside)")
    for (folder, isHeld) in [(bench.media, true), (store, false)] {
      let new = bench.folder.appendingPathComponent("new \(folder.lastPathComponent)")
      try FileManager.default.copyItem(at: folder, to: new)
      let relocated = try await bench.reel("relocate", folder.path, new.path)
      #expect(relocated.status == (isHeld ? 1 : 0), "\(relocated)")
      #expect(relocated.errors.contains("wait until it has ended") == isHeld, "\(relocated)")
    }
    running.send(SIGCONT)
    let outcome = try await running.outcome()
    #expect(outcome.status == 0 && outcome.output.contains("3 posters made"), "\(outcome)")
    #expect(try await bench.reel("verify", "--read").status == 0)
    #expect(try await feed(bench).allSatisfy { $0.poster != nil })
  }

  @Test("a poster has the address and the permissions of its video")
  func missingAddress() async throws {
    let bench = try Workbench()
    try bench.add("clips/faststart.mp4")
    #expect(
      try await bench.reel("ingest", "clips", "--mode", "644", "--public-base-url", "https://media.example/v")
        .status == 0)
    #expect(try await bench.reel("poster", "--missing").status == 0)
    let post = try #require(try await feed(bench).first)
    let poster = try #require(post.poster)
    #expect(post.url == "https://media.example/v/\(poster)")
    let facts = try FileManager.default.attributesOfItem(
      atPath: bench.media.appendingPathComponent(poster).path)
    #expect(facts[.posixPermissions] as? Int == 0o644)
  }

  @Test("a missing store is reported once, and not created")
  func missingStore() async throws {
    let bench = try Workbench()
    try bench.add("clips/faststart.mp4")
    let store = bench.folder.appendingPathComponent("disk/store")
    #expect(try await bench.reel("ingest", "clips", "--to", store.path).status == 0)
    try FileManager.default.removeItem(at: store.deletingLastPathComponent())
    let outcome = try await bench.reel("poster", "--missing")
    #expect(outcome.status == 3 && outcome.errors.contains("is not there"), "\(outcome)")
    #expect(!FileManager.default.fileExists(atPath: store.deletingLastPathComponent().path))
  }

  @Test("senseless combinations are refused")
  func missingMistakes() async throws {
    let bench = try Workbench()
    #expect(try await bench.reel("poster", "--missing").status == 1)
    #expect(try await bench.reel("poster", "--missing", "clip.mp4").status == 64)
    #expect(try await bench.reel("poster", "--missing", "-o", "x.jpg").status == 64)
    #expect(!FileManager.default.fileExists(atPath: bench.library.path))
  }
}
