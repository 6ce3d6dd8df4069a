import Foundation
import ReelPostgres
import ReelTestServers
import Testing

/// Catalogs and stores that are moved by the program.
@Suite(.besidePostgres) struct CatalogMoveTests {
  private func reel(_ arguments: [String], in bench: Workbench) async throws -> ReelBinary.Outcome {
    try await ReelBinary.run(arguments, in: bench.folder, environment: bench.environment)
  }

  private func feed(_ place: [String], in bench: Workbench) async throws -> [[String: Any]] {
    let feed = try await reel(["feed", "--json", "--size", "100"] + place, in: bench)
    #expect(feed.status == 0, "\(feed)")
    return try #require(try feed.object()["posts"] as? [[String: Any]])
  }

  private func ids(_ posts: [[String: Any]]) -> [String] {
    posts.map {
      "\($0["pageNumber"] ?? "") \($0["id"] ?? "") \($0["createdAt"] ?? "") \($0["videoURL"] ?? "")"
    }
  }

  @Test func aLibraryGoesOnOnAServerAndComesBack() async throws {
    let (database, bench) = (try await TestDatabase(), try Workbench(reader: .fake))
    try bench.addDistinct(5)
    let old = ["--library", bench.library.path]
    #expect(try await reel(["ingest", bench.clips.path] + old, in: bench).status == 0)
    let before = try await feed(old, in: bench)
    let copied = try await reel(["catalog", "copy", bench.library.path, database.url(), "--json"], in: bench)
    #expect(copied.status == 0, "\(copied)")
    let report = try copied.object()
    #expect(report["posts"] as? Int == 5)
    #expect(
      ((report["folders"] as? [[String: Any]])?.first?["destination"] as? String)?.hasSuffix("/library/media")
        == true)
    let sections = try #require(report["sections"] as? [[String: Any]])
    #expect(sections.contains { $0["name"] as? String == "posts" && ($0["sha256"] as? String)?.count == 64 })

    let new = ["--catalog", database.url()]
    #expect(ids(try await feed(new, in: bench)) == ids(before) && before.count == 5)
    #expect(try await reel(["verify", "--read"] + new, in: bench).status == 0)
    #expect(try await reel(["doctor"] + new, in: bench).status == 0)
    let again = try await reel(["ingest", bench.clips.path, "--to", bench.media.path] + new, in: bench)
    #expect(again.status == 0 && again.output.contains("nothing new"), "\(again)")
    try bench.write("no video", to: "broken.mp4")
    try bench.addDistinct(6)
    #expect(
      try await reel(["ingest", bench.clips.path, "--to", bench.media.path] + new, in: bench).status == 4)
    let after = try await feed(new, in: bench)
    #expect(after.count == 6)

    let back = bench.folder.appendingPathComponent("back").path
    let told = try await reel(["catalog", "copy", database.url(), back], in: bench)
    #expect(
      told.status == 0 && told.output.contains("posts") && told.output.contains("publish with the copy"),
      "\(told)")
    #expect(ids(try await feed(["--library", back], in: bench)) == ids(after))
    #expect(try await reel(["verify", "--read", "--library", back], in: bench).status == 0)
    let failures = try await reel(["status", "--json", "--library", back], in: bench).object()
    #expect(failures["failureCount"] as? Int == 1)
  }

  @Test func whatCannotBeCopiedIsSaid() async throws {
    let (database, bench) = (try await TestDatabase(), try Workbench(reader: .fake))
    try bench.addDistinct(1)
    let none = try await reel(["catalog", "copy", bench.library.path, database.url()], in: bench)
    #expect(none.status == 1 && none.errors.contains("there is no library"), "\(none)")
    #expect(
      try await reel(["ingest", bench.clips.path, "--library", bench.library.path], in: bench).status == 0)
    for same in [bench.library.path, "./library/", "library"] {
      let run = try await reel(["catalog", "copy", bench.library.path, same], in: bench)
      #expect(run.status == 64, "\(run)")
    }
    let other = try await reel(["catalog", "copy", "library", "mysql://host/reel"], in: bench)
    #expect(other.status == 64 && other.errors.contains("postgres://"), "\(other)")
    let password = try await reel(
      ["catalog", "copy", "library", "postgres://u:hunter2@127.0.0.1:1/x"], in: bench)
    #expect(password.status == 64 && !password.errors.contains("hunter2"), "\(password)")
    #expect(try await reel(["catalog", "copy", "library", database.url()], in: bench).status == 0)
    let twice = try await reel(["catalog", "copy", "library", database.url()], in: bench)
    #expect(twice.status == 1 && twice.errors.contains("is not empty"), "\(twice)")
    let gone = try await reel(["catalog", "copy", "library", "postgres://reel@127.0.0.1:1/reel"], in: bench)
    #expect(gone.status == 1 && gone.errors.contains("can't be reached"), "\(gone)")
  }

  @Test func aRunThatIsOnIsNotCopied() async throws {
    let (database, bench) = (try await TestDatabase(), try Workbench(reader: .fake))
    try bench.addDistinct(3)
    let run = try ReelBinary.start(
      ["ingest", bench.clips.path, "--library", bench.library.path], in: bench.folder,
      environment: bench.environment.merging(["REEL_FAILPOINT": "uploadBegun=stop"]) { $1 })
    try await run.untilStopped()
    let busy = try await reel(["catalog", "copy", bench.library.path, database.url()], in: bench)
    #expect(busy.status == 1 && busy.errors.contains("at work"), "\(busy)")
    // The run is killed. What it held is copied, and resumed from the copy.
    run.send(SIGKILL)
    _ = try await run.outcome()
    #expect(try await reel(["catalog", "copy", bench.library.path, database.url()], in: bench).status == 0)
    let goesOn = try await reel(
      ["ingest", bench.clips.path, "--to", bench.media.path, "--catalog", database.url()], in: bench)
    #expect(goesOn.status == 0 && goesOn.output.contains("published 3 videos"), "\(goesOn)")
    let doctor = try await reel(["doctor", "--catalog", database.url(), "--json"], in: bench)
    #expect(!doctor.output.contains("object.unknown"), "\(doctor)")
  }

  @Test func aStoreThatWasMovedIsToldToTheServer() async throws {
    let (database, bench) = (try await TestDatabase(), try Workbench())
    try bench.addDistinct(3)
    let catalog = ["--catalog", database.url()]
    let (old, new) = (
      bench.folder.appendingPathComponent("old store").path, bench.folder.appendingPathComponent("new").path
    )
    #expect(
      try await reel(["ingest", bench.clips.path, "--to", old, "--posters"] + catalog, in: bench).status == 0)
    let missing = try await reel(["relocate", old, new] + catalog, in: bench)
    #expect(missing.status != 0)
    try FileManager.default.moveItem(atPath: old, toPath: new)
    let held = try ReelBinary.start(
      ["ingest", bench.clips.path, "--to", new, "--duplicates", "allow"] + catalog, in: bench.folder,
      environment: bench.environment.merging(["REEL_FAILPOINT": "uploadBegun=stop"]) { $1 })
    try await held.untilStopped()
    let busy = try await reel(["relocate", old, new] + catalog, in: bench)
    #expect(busy.status == 1 && busy.errors.contains("a run is storing"), "\(busy)")
    held.send(SIGCONT)
    #expect(try await held.outcome().status == 0)
    let both = try await reel(["relocate", old, new] + catalog, in: bench)
    #expect(both.status == 1 && both.errors.contains("--duplicates allow"), "\(both)")
    let done = try await reel(["relocate", old, new, "--read", "--duplicates", "allow"] + catalog, in: bench)
    #expect(done.status == 0 && done.output.contains("6 objects"), "\(done)")
    let posts = try await feed(catalog, in: bench)
    #expect(posts.count == 6)
    for post in posts {
      #expect((post["videoURL"] as? String)?.contains("/new/") == true, "\(post)")
      if let poster = post["posterURL"] as? String { #expect(poster.contains("/new/")) }
    }
    #expect(posts.filter { $0["posterURL"] is String }.count == 3)
    #expect(try await reel(["verify", "--read"] + catalog, in: bench).status == 0)
    #expect(try await reel(["doctor"] + catalog, in: bench).status == 0)
    let known = try await reel(["ingest", bench.clips.path, "--to", new] + catalog, in: bench)
    #expect(known.status == 0 && known.output.contains("nothing new"), "\(known)")
    let never = try await reel(["relocate", old, new] + catalog, in: bench)
    #expect(never.status == 1 && never.errors.contains("no post was ever stored"), "\(never)")
  }

  @Test func aPosterThatWasMadeLaterMovesWithItsStore() async throws {
    let (database, bench) = (try await TestDatabase(), try Workbench())
    try bench.addDistinct(2)
    let catalog = ["--catalog", database.url()]
    let (old, new) = (
      bench.folder.appendingPathComponent("old").path, bench.folder.appendingPathComponent("new").path
    )
    _ = try await reel(["ingest", bench.clips.path, "--to", old] + catalog, in: bench)
    #expect(try await reel(["poster", "--missing"] + catalog, in: bench).status == 0)
    try FileManager.default.moveItem(atPath: old, toPath: new)
    #expect(try await reel(["relocate", old, new] + catalog, in: bench).status == 0)
    let posts = try await feed(catalog, in: bench)
    #expect(
      posts.count == 2
        && posts.allSatisfy {
          ($0["videoURL"] as? String)?.contains("/new/") == true
            && ($0["posterURL"] as? String)?.contains("/new/") == true
        })
  }
}
