import Foundation
import ReelLibrary
import ReelTestSupport
import Testing

/// Libraries and stores that somebody moved or copied.
@Suite("moved and copied libraries", .shortTime)
struct MovedLibraryTests {
  private func reel(_ bench: Workbench, at library: URL, _ arguments: String...) async throws
    -> ReelBinary.Outcome
  {
    try await ReelBinary.run(arguments + ["--library", library.path], in: bench.folder)
  }

  private func urls(_ bench: Workbench, at library: URL) async throws -> [String] {
    let feed = try await reel(bench, at: library, "feed", "--json").object()
    return (feed["posts"] as? [[String: Any]] ?? []).compactMap { $0["videoURL"] as? String }.sorted()
  }

  private func stores(_ bench: Workbench, at library: URL) async throws -> [String] {
    let status = try await reel(bench, at: library, "status", "--json").object()
    return (status["destinations"] as? [[String: Any]] ?? []).compactMap { $0["destination"] as? String }
  }

  private func published(_ outcome: ReelBinary.Outcome) throws -> Int? {
    (try outcome.object()["summary"] as? [String: Any])?["published"] as? Int
  }

  private func url(_ folder: URL) -> String { "file://" + folder.resolvingSymlinksInPath().path }

  @Test("a library that was moved continues where it left off")
  func moved() async throws {
    let bench = try Workbench()
    try bench.addDistinct(2)
    #expect(try await bench.reel("ingest", "clips").status == 0)
    try bench.add("clips/silent.mp4", as: "more/silent.mp4")
    let base = "https://media.example.org/v"
    #expect(try await bench.reel("ingest", "clips/more", "--public-base-url", base).status == 0)
    let there = bench.folder.appendingPathComponent("elsewhere/b")
    try FileManager.default.createDirectory(
      at: there.deletingLastPathComponent(), withIntermediateDirectories: true)
    try FileManager.default.moveItem(at: bench.library, to: there)

    let media = url(there.appendingPathComponent("media"))
    #expect(try await stores(bench, at: there) == [media])
    let urls = try await urls(bench, at: there)
    #expect(urls.count == 3 && urls.count { $0.hasPrefix(media + "/") } == 2, "\(urls)")
    #expect(urls.contains { $0.hasPrefix(base + "/") }, "\(urls)")
    for command in ["verify", "doctor"] {
      let looked = try await reel(bench, at: there, command, "--read", "--json")
      #expect(looked.status == 0, "\(looked)")
      #expect(try looked.object()["objects"] as? Int == 3)
    }
    let again = try await reel(bench, at: there, "ingest", "clips", "--json")
    #expect(try published(again) == 0, "\(again)")
    #expect(try again.object()["destination"] as? String == media)
    let named = try await reel(
      bench, at: there, "ingest", "clips", "--json", "--to", there.path + "/media")
    #expect(try published(named) == 0, "the default store has no second name: \(named)")
    let inspection = try LibraryInspection(library: there)
    #expect(inspection.published.count == 3)
    expectNothing(try inspection.brokenAfterCompletion())
    #expect(!FileManager.default.fileExists(atPath: bench.library.path))
  }

  @Test("a copy of a library has its own objects, and the original keeps its own")
  func copied() async throws {
    let bench = try Workbench()
    try bench.addDistinct(2)
    #expect(try await bench.reel("ingest", "clips").status == 0)
    let copy = bench.folder.appendingPathComponent("copy")
    try FileManager.default.copyItem(at: bench.library, to: copy)
    let key = try #require(try bench.objects().sorted().first)
    try FileManager.default.removeItem(at: copy.appendingPathComponent("media/" + key))

    #expect(try await reel(bench, at: bench.library, "verify").status == 0)
    let looked = try await reel(bench, at: copy, "verify", "--json")
    let problems = try looked.object()["problems"] as? [[String: Any]] ?? []
    #expect(looked.status == 3 && problems.map { $0["key"] as? String } == [key], "\(looked)")
    #expect(problems.first?["destination"] as? String == url(copy.appendingPathComponent("media")))
    try bench.addDistinct(3)
    #expect(try await reel(bench, at: copy, "ingest", "clips").status == 0)
    #expect(try bench.objects().count == 2, "the copy stores in its own folder")
    #expect(try LibraryInspection(library: copy).objects.count == 2)
  }

  // MARK: Libraries of older versions

  /// A library from before the default store had a name without a path: `Tests/Libraries/version-2.sql`.
  private struct OldLibrary {
    let bench: Workbench
    let elsewhere: URL
    let unfinished = "DLwg3nHVbILpfPoa1Q1HAV.mov"

    /// - Parameter former: Where the library was when it was last used; nil for its present place.
    init(former: URL? = nil) throws {
      bench = try Workbench()
      elsewhere = bench.folder.appendingPathComponent("store")
      let former = former ?? bench.library
      let files = FileManager.default
      for (folder, mode) in [(bench.library, 0o700), (bench.media, 0o700), (elsewhere, 0o700)] {
        try files.createDirectory(
          at: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: mode])
      }
      let script = try String(
        contentsOf: ReelBinary.project.appendingPathComponent("Tests/Libraries/version-2.sql"),
        encoding: .utf8)
      let catalog = bench.library.appendingPathComponent("catalog.sqlite").path
      let database = try Connection(catalog)
      try database.execute(
        script.replacing("@OWN@", with: "file://\(former.resolvingSymlinksInPath().path)/media")
          .replacing("@ELSEWHERE@", with: "file://\(elsewhere.resolvingSymlinksInPath().path)"))
      try database.close()
      chmod(catalog, 0o600)
      for (sample, object) in [
        ("silent.mp4", bench.media.appendingPathComponent("vajDwzc9YmCaLPsmfdJLPZ.mp4")),
        ("full-colour.mp4", bench.media.appendingPathComponent("COV1nDyOEryBGYRW0bMj9A.mp4")),
        ("hdr10.mov", bench.media.appendingPathComponent(unfinished)),
        ("silent.mp4", elsewhere.appendingPathComponent("7x9Ji1WbJ66sJuWJsfHuaq.mp4")),
      ] {
        try bench.add("clips/" + sample, as: "taken-in/" + sample)
        try files.copyItem(at: Workbench.sample("clips/" + sample), to: object)
        if sample == "silent.mp4" { try files.removeItem(at: bench.clips.appendingPathComponent("taken-in")) }
      }
      for sample in ["silent.mp4", "full-colour.mp4", "hdr10.mov"] {
        try? bench.add("clips/" + sample, as: "taken-in/" + sample)
      }
    }
  }

  @Test(
    "if an older library can't be migrated because it is read-only, the message says what to do",
    .needsMounting)
  func readOnly() async throws {
    let old = try OldLibrary()
    let disk = try #require(TinyDisk(kilobytes: 4000))
    let library = disk.path + "/l"
    try FileManager.default.copyItem(atPath: old.bench.library.path, toPath: library)
    #expect(disk.makeReadOnly())
    for command in ["status", "feed"] {
      let outcome = try await ReelBinary.run([command, "--library", library], in: old.bench.folder)
      #expect(outcome.status == 1, "\(outcome)")
      #expect(
        outcome.errors.contains("made by an older Reel")
          && outcome.errors.contains("reel status --library ")
          && !outcome.errors.contains("its disk"), "\(outcome.errors)")
    }
  }

  /// Expects every post to be where it was, in the library at its present place.
  private func expectCarriedOver(_ old: OldLibrary, at library: URL) async throws {
    let (bench, media) = (old.bench, url(library.appendingPathComponent("media")))
    #expect(try await stores(bench, at: library) == [media, url(old.elsewhere)].sorted())
    #expect(
      try await urls(bench, at: library)
        == [
          "https://media.example.org/v/COV1nDyOEryBGYRW0bMj9A.mp4", media + "/vajDwzc9YmCaLPsmfdJLPZ.mp4",
          url(old.elsewhere) + "/7x9Ji1WbJ66sJuWJsfHuaq.mp4",
        ].sorted())
    let looked = try await reel(bench, at: library, "verify", "--read", "--json")
    #expect(try looked.status == 0 && looked.object()["objects"] as? Int == 3, "\(looked)")
    // The unfinished intent is resumed under its name.
    let again = try await reel(bench, at: library, "ingest", "clips/taken-in", "--json")
    #expect(try published(again) == 1, "\(again)")
    let posts = try LibraryInspection(library: library).published
    #expect(posts.count == 4 && posts.contains { $0.key == old.unfinished })
    #expect(try await reel(bench, at: library, "doctor", "--read").status == 0)
  }

  @Test("an older library is migrated in place")
  func olderVersion() async throws {
    let old = try OldLibrary()
    try await expectCarriedOver(old, at: old.bench.library)
  }

  @Test("an older library that was moved is migrated")
  func olderVersionMoved() async throws {
    let old = try OldLibrary(former: URL(fileURLWithPath: "/nowhere/library"))
    try await expectCarriedOver(old, at: old.bench.library)
  }

  @Test("a copy of an older library is migrated beside its original")
  func olderVersionCopied() async throws {
    let old = try OldLibrary()
    let copy = old.bench.folder.appendingPathComponent("copy")
    try FileManager.default.copyItem(at: old.bench.library, to: copy)
    try FileManager.default.removeItem(at: old.bench.media.appendingPathComponent(old.unfinished))
    try await expectCarriedOver(old, at: copy)
    #expect(try old.bench.objects().count == 2, "the original is as it was")
  }

  @Test(
    "a kill during the migration of an older library loses nothing", .needsFailpoints,
    arguments: ["catalogOpened", "catalogSchemaWritten", "catalogMigrated"])
  func killed(_ place: String) async throws {
    let old = try OldLibrary(former: URL(fileURLWithPath: "/nowhere/library"))
    let killed = try await old.bench.reel("status", environment: ["REEL_DIE_AT": place])
    #expect(killed.wasKilled)
    try await expectCarriedOver(old, at: old.bench.library)
  }

  // MARK: Stores that were moved

  @Test("a moved store is reported, and the catalog changes only once every object is there")
  func relocated() async throws {
    let bench = try Workbench()
    try bench.addDistinct(3)
    let (old, new) = (
      bench.folder.appendingPathComponent("old store"), bench.folder.appendingPathComponent("new")
    )
    #expect(try await bench.reel("ingest", "clips", "--to", old.path).status == 0)
    let name = url(old).replacing(" ", with: "%20")
    try FileManager.default.moveItem(at: old, to: new)
    for command in ["verify", "doctor"] {
      let gone = try await bench.reel(command, "--json")
      #expect(
        gone.output.replacing("\\/", with: "/").contains(
          "reel relocate --library \(bench.library.path) \(name) NEW"), "\(gone)")
    }
    let key = try #require(try FileManager.default.contentsOfDirectory(atPath: new.path).sorted().last)
    let (object, aside) = (new.appendingPathComponent(key), bench.folder.appendingPathComponent(key))
    try FileManager.default.moveItem(at: object, to: aside)
    let refused = try await bench.reel("relocate", name, new.path)
    #expect(refused.status == 3 && refused.output.contains(key), "\(refused)")
    #expect(try await stores(bench, at: bench.library) == [name])
    try FileManager.default.moveItem(at: aside, to: object)

    let done = try await bench.reel("relocate", old.path, new.path, "--read")
    #expect(done.status == 0 && done.output.contains("3 objects"), "\(done)")
    #expect(try await stores(bench, at: bench.library) == [url(new)])
    #expect(try await urls(bench, at: bench.library).allSatisfy { $0.hasPrefix(url(new) + "/") })
    #expect(try await bench.reel("verify", "--read").status == 0)
    let again = try await bench.reel("ingest", "clips", "--to", new.path, "--json")
    #expect(try published(again) == 0, "\(again)")
  }

  @Test("a store within the library's own is relocated with its addresses, even if a link was left behind")
  func withinTheOwnStore() async throws {
    let bench = try Workbench()
    try bench.addDistinct(1)
    let old = bench.media.appendingPathComponent("sub")
    let new = bench.folder.appendingPathComponent("new")
    #expect(try await bench.reel("ingest", "clips", "--to", old.path).status == 0)
    try FileManager.default.moveItem(at: old, to: new)
    try FileManager.default.createSymbolicLink(at: old, withDestinationURL: new)
    let done = try await bench.reel("relocate", old.path, new.path)
    #expect(done.status == 0, "\(done)")
    let feed = try await bench.reel("feed", "--json")
    #expect(feed.output.contains("/new/") && !feed.output.contains("/media/sub/"), "\(feed)")
  }

  @Test("two stores are not merged by mistake")
  func notRelocated() async throws {
    let bench = try Workbench()
    try bench.addDistinct(2)
    #expect(try await bench.reel("relocate", "old", "new").status == 1)
    #expect(try await bench.reel("ingest", "clips", "--to", "old").status == 0)
    #expect(try await bench.reel("relocate", "never", "old").status == 1)
    #expect(try await bench.reel("relocate", "old", "./old").status == 1)
    #expect(try await bench.reel("relocate", "old", "new").status == 1, "there is nothing")
    let other = try await bench.reel("relocate", "old", "s3://bucket/prefix")
    #expect(other.status == 1 && other.errors.contains("different kinds"), "\(other)")
    #expect(!FileManager.default.fileExists(atPath: bench.folder.appendingPathComponent("new").path))

    // The store was moved, and the same videos were ingested again before it was relocated.
    let (old, new) = (bench.folder.appendingPathComponent("old"), bench.folder.appendingPathComponent("new"))
    try FileManager.default.moveItem(at: old, to: new)
    #expect(try await bench.reel("ingest", "clips", "--to", "new").status == 0)
    let both = try await bench.reel("relocate", "old", "new")
    #expect(both.status == 1 && both.errors.contains("--duplicates allow"), "\(both)")
    #expect(try await stores(bench, at: bench.library) == [url(new), url(old)])
    let allowed = try await bench.reel("relocate", "old", "new", "--duplicates", "allow")
    #expect(allowed.status == 0, "\(allowed)")
    let looked = try await bench.reel("verify", "--read", "--json")
    #expect(try looked.status == 0 && looked.object()["objects"] as? Int == 4, "\(looked)")
    let again = try await bench.reel("ingest", "clips", "--to", "new", "--json")
    #expect(try published(again) == 0, "\(again)")
    #expect(try await bench.reel("doctor", "--read").status == 0)
  }

  @Test("the library's own store can be moved out of it, and back")
  func ownStore() async throws {
    let bench = try Workbench()
    try bench.addDistinct(1)
    #expect(try await bench.reel("ingest", "clips").status == 0)
    let out = bench.folder.appendingPathComponent("out")
    try FileManager.default.moveItem(at: bench.media, to: out)
    #expect(try await bench.reel("relocate", bench.media.path, "out").status == 0)
    #expect(try await stores(bench, at: bench.library) == [url(out)])
    #expect(try await urls(bench, at: bench.library).allSatisfy { $0.hasPrefix(url(out) + "/") })
    try FileManager.default.moveItem(at: out, to: bench.media)
    #expect(try await bench.reel("relocate", "out", bench.media.path).status == 0)
    let there = bench.folder.appendingPathComponent("b")
    try FileManager.default.moveItem(at: bench.library, to: there)
    #expect(try await urls(bench, at: there).allSatisfy { $0.hasPrefix(url(there) + "/media/") })
    #expect(try await reel(bench, at: there, "verify").status == 0)
  }
}
