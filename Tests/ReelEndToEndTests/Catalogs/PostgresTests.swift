import Foundation
import ReelPostgres
import ReelTestServers
import Testing
import ReelTestSupport

/// Commands with a catalog on a server.
@Suite(.besidePostgres) struct PostgresTests {
  private func reel(_ arguments: [String], in bench: Workbench) async throws -> ReelBinary.Outcome {
    try await ReelBinary.run(arguments, in: bench.folder, environment: bench.environment)
  }

  @Test func aCatalogOnAServerServesEveryCommandThatNeedsNoFolder() async throws {
    let (database, bench) = (try await TestDatabase(), try Workbench())
    try bench.addDistinct(5)
    try bench.add("clips/phone-portrait.mov")
    let catalog = ["--catalog", database.url()]
    let store = bench.folder.appendingPathComponent("store").path
    for command in ["status", "doctor", "verify"] {
      let nothing = try await reel([command] + catalog, in: bench)
      #expect(nothing.status == 1 && nothing.errors.contains("there is no catalog in"), "\(nothing)")
    }

    let homeless = try await reel(["ingest", bench.clips.path] + catalog, in: bench)
    #expect(homeless.status == 64 && homeless.errors.contains("--to"))

    let dry = try await reel(["ingest", bench.clips.path, "--dry-run", "--to", store] + catalog, in: bench)
    #expect(dry.status == 0)
    #expect(try database.connect().value("SELECT to_regclass('reel.post') IS NULL", as: Bool.self) == true)

    // A library given as a flag takes precedence over the environment's catalog.
    let other = try await bench.reel("status", environment: ["REEL_CATALOG": database.url()])
    #expect(other.errors.contains(bench.library.path) && !other.errors.contains("postgres"), "\(other)")
    let first = try await reel(["ingest", bench.clips.path, "--to", store, "--posters"] + catalog, in: bench)
    #expect(first.status == 0 && first.output.contains("published 6 videos"))
    let again = try await reel(["ingest", bench.clips.path, "--to", store] + catalog, in: bench)
    #expect(again.status == 0 && again.output.contains("nothing new"))

    let feed = try await reel(["feed", "--json", "--size", "100"] + catalog, in: bench)
    let posts = try #require(try feed.object()["posts"] as? [[String: Any]])
    #expect(posts.compactMap { $0["pageNumber"] as? Int } == [6, 5, 4, 3, 2, 1])
    let search = try await reel(["feed", "--json", "--search", "phone"] + catalog, in: bench)
    #expect((try search.object()["posts"] as? [Any])?.count == 1)
    let shown = try await reel(["show", bench.clips.path + "/phone-portrait.mov"] + catalog, in: bench)
    #expect(shown.status == 0)
    let export = try await reel(["export", "-o", "-"] + catalog, in: bench)
    #expect(export.output.split(separator: "\n").count == 6)
    let page = try await reel(
      ["page", "-o", bench.folder.appendingPathComponent("site").path] + catalog, in: bench)
    #expect(page.status == 0 && page.output.contains("6 posts"))
    #expect(try await reel(["verify", "--read"] + catalog, in: bench).status == 0)
    #expect(try await reel(["doctor"] + catalog, in: bench).status == 0)

    let video = try #require(posts[0]["video"] as? String)
    try FileManager.default.removeItem(atPath: store + "/" + video)
    #expect(try await reel(["verify"] + catalog, in: bench).status == 3)
    let mended = try await reel(["doctor", "--fix", "--from", bench.clips.path] + catalog, in: bench)
    #expect(mended.status == 0)
    #expect(try await reel(["verify", "--read"] + catalog, in: bench).status == 0)
    // No library was created.
    let names = try FileManager.default.contentsOfDirectory(atPath: bench.folder.path)
    #expect(Set(names) == ["clips", "store", "site"])
  }

  /// The grants are those of docs/fleet.md.
  @Test(.notQuick) func whoMayOnlyReadGetsTheFeedAndTheStatus() async throws {
    let root = Checkout.root
    let page = try String(contentsOf: root.appending(path: "docs/fleet.md"), encoding: .utf8)
    let grants = try #require(
      page.split(separator: "-- a site that shows the feed:").last?.split(separator: "```").first)
    let server = try await PostgresServer.start()
    let (database, bench) = (try await TestDatabase(on: server), try Workbench(reader: .fake))
    try bench.addDistinct(2)
    let store = bench.folder.appendingPathComponent("store").path
    let owner = ["--catalog", database.url()]
    #expect(try await reel(["enqueue", bench.clips.path] + owner, in: bench).status == 0)
    #expect(try await reel(["work", "--to", store] + owner, in: bench).status == 0)
    let db = try database.connect()
    let role = try #require(page.split(separator: "\n").first { $0.hasPrefix("CREATE ROLE reel_reader") })
    try db.execute(
      String(role + "\n" + grants).replacing("'…'", with: "'x'").replacing(
        "DATABASE reel ", with: "DATABASE \(database.name) "))
    let reader = ["--catalog", database.url().replacing("postgres@", with: "reel_reader@")]
    let empty = try await TestDatabase(on: server).url().replacing("postgres@", with: "reel_reader@")
    let none = try await reel(["enqueue", bench.clips.path, "--catalog", empty], in: bench)
    #expect(none.status == 1 && none.errors.contains("there is no catalog in"), "\(none)")
    let nothing = try await reel(["feed", "--catalog", empty], in: bench)
    #expect(nothing.status == 1 && nothing.errors.contains("there is no catalog in"), "\(nothing)")
    for command in [
      ["status"], ["feed", "--json"], ["feed", "--search", "clip"], ["export", "-o", "-"],
      ["status", "--json"],
      ["show", bench.clips.appendingPathComponent("clip-00000.mp4").path],
    ] {
      let run = try await reel(command + reader, in: bench)
      #expect(run.status == 0 && run.errors.isEmpty, "\(command): \(run)")
      if command == ["status"] { #expect(run.output.contains("2 done"), "\(run)") }
    }
    let refused = try await reel(["enqueue", bench.clips.path] + reader, in: bench)
    #expect(refused.status == 1 && refused.errors.contains("does not allow that"), "\(refused)")
    // The grants of an earlier version of that page.
    try db.execute("REVOKE SELECT ON reel.work FROM reel_reader")
    let less = try await reel(["status"] + reader, in: bench)
    #expect(less.status == 0 && less.errors.contains("the queue is left out"), "\(less)")
    await server.stop()
  }

  @Test func postersAreMadeForPostsThatHaveNone() async throws {
    let (database, bench) = (try await TestDatabase(), try Workbench())
    try bench.addDistinct(2)
    let catalog = ["--catalog", database.url()]
    let store = bench.folder.appendingPathComponent("store").path
    _ = try await reel(["ingest", bench.clips.path, "--to", store] + catalog, in: bench)
    let made = try await reel(["poster", "--missing"] + catalog, in: bench)
    #expect(made.status == 0)
    let feed = try await reel(["feed", "--json"] + catalog, in: bench)
    let posts = try #require(try feed.object()["posts"] as? [[String: Any]])
    #expect(posts.count == 2 && posts.allSatisfy { $0["posterURL"] is String && $0["blurHash"] is String })
    #expect(try await reel(["verify", "--read"] + catalog, in: bench).status == 0)
  }

  @Test func severalProcessesPublishEachVideoOnce() async throws {
    let (database, bench) = (try await TestDatabase(), try Workbench(reader: .fake))
    try bench.addDistinct(30)
    let store = bench.folder.appendingPathComponent("store").path
    let arguments = ["ingest", bench.clips.path, "--to", store, "--json", "--catalog", database.url()]
    let published = try await withThrowingTaskGroup(of: Int.self) { group in
      for _ in 0..<3 {
        group.addTask {
          let run = try await reel(arguments, in: bench)
          #expect(run.status == 0)
          let summary = try run.object()["summary"] as? [String: Any]
          return summary?["published"] as? Int ?? -1
        }
      }
      return try await group.reduce(0, +)
    }
    #expect(published == 30)
    #expect(
      try FileManager.default.contentsOfDirectory(atPath: store).filter { !$0.hasPrefix(".") }.count == 30)
  }

  @Test func aPasswordIsTakenFromWhereItIsNotSeen() async throws {
    let bench = try Workbench()
    let address = "postgres://reel:hunter2@127.0.0.1:1/reel"
    let shown = try await reel(["status", "--catalog", address], in: bench)
    #expect(shown.status == 64 && shown.errors.contains("PGPASSWORD"))
    let hidden = try await ReelBinary.run(
      ["status"], in: bench.folder, environment: ["REEL_CATALOG": address])
    #expect(hidden.status == 1 && hidden.errors.contains("postgres://reel@127.0.0.1:1/reel"))
    for run in [shown, hidden] { #expect(!(run.output + run.errors).contains("hunter2")) }
  }

  @Test(arguments: [["backup", "-o", "copy"], ["doctor", "--rebuild"]])
  func aCommandThatIsAboutAFolderSaysSo(_ arguments: [String]) async throws {
    let bench = try Workbench()
    let run = try await reel(arguments + ["--catalog", "postgres://reel@127.0.0.1:1/reel"], in: bench)
    #expect(run.status == 64 && run.errors.contains("on a server"))
  }
}
