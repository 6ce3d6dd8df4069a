import Foundation
import ReelLibrary
import ReelTestSupport
import Testing

/// A catalog that is lost while its objects remain, and `reel doctor --rebuild`.
@Suite("A lost catalog", .shortTime)
struct LostCatalogTests {
  private static let commands = [
    ["ingest", "clips"], ["ingest", "clips", "--dry-run"], ["publish", "clips/clip-00000.mp4"], ["feed"],
    ["status"],
    ["verify"], ["doctor"], ["doctor", "--fix"], ["cache"], ["backup", "-o", "copy.sqlite"],
  ]

  private func published(_ count: Int = 3, to store: String? = nil) async throws -> Workbench {
    let bench = try Workbench()
    try bench.addDistinct(count)
    let outcome = try await ReelBinary.run(
      ["ingest", "clips", "--library", bench.library.path] + (store.map { ["--to", $0] } ?? []),
      in: bench.folder)
    #expect(outcome.status == 0, "\(outcome.errors)")
    return bench
  }

  private func lose(_ bench: Workbench) throws {
    for name in try FileManager.default.contentsOfDirectory(atPath: bench.library.path)
    where name.hasPrefix("catalog.sqlite") {
      try FileManager.default.removeItem(at: bench.library.appendingPathComponent(name))
    }
  }

  private func expectRefused(_ bench: Workbench) async throws {
    let before = try FileManager.default.subpathsOfDirectory(atPath: bench.library.path).sorted()
    for command in Self.commands {
      let outcome = try await ReelBinary.run(command + ["--library", bench.library.path], in: bench.folder)
      #expect(outcome.status == 1, "\(command): \(outcome.output) \(outcome.errors)")
      for word in ["is missing or empty", "backup", "reel doctor --library \(bench.library.path) --rebuild"] {
        #expect(outcome.errors.contains(word), "\(command): \(outcome.errors)")
      }
    }
    #expect(try FileManager.default.subpathsOfDirectory(atPath: bench.library.path).sorted() == before)
  }

  /// Expects the library to be sound, and the same videos to be duplicates.
  private func expectHealthy(_ bench: Workbench, _ count: Int, _ comment: Comment? = nil) async throws {
    let inspection = try LibraryInspection(library: bench.library)
    expectNothing(try inspection.brokenAfterCompletion(), comment)
    #expect(inspection.published.count == count, comment)
    let doctor = try await bench.reel("doctor", "--read")
    #expect(doctor.status == 0, "\(doctor.output) \(doctor.errors)")
    let again = try await bench.reel("ingest", "clips", "--json")
    let summary = try again.object()["summary"] as? [String: Any]
    #expect(summary?["duplicates"] as? Int == count, "\(again.output)")
    #expect(summary?["published"] as? Int == 0, "\(again.output)")
  }

  // MARK: Refusing

  @Test(
    "no command takes a library whose catalog is lost for a new one",
    arguments: ["removed", "emptied", "unmarked"])
  func refused(how: String) async throws {
    let bench = try await published()
    let catalog = bench.library.appendingPathComponent("catalog.sqlite")
    switch how {
    case "emptied": #expect(truncate(catalog.path, 0) == 0)
    case "unmarked":
      // An older Reel made no such file: the objects reveal the loss.
      try lose(bench)
      try FileManager.default.removeItem(at: bench.library.appendingPathComponent("catalog.made"))
    default: try lose(bench)
    }
    try await expectRefused(bench)
  }

  @Test("if everything is stored elsewhere, the file beside the catalog reveals the loss")
  func elsewhere() async throws {
    let bench = try await published(to: "store")
    try lose(bench)
    try await expectRefused(bench)
  }

  @Test("a database without tables is not a catalog, whoever made it")
  func withoutTables() async throws {
    let bench = try await published()
    try lose(bench)
    let catalog = bench.library.appendingPathComponent("catalog.sqlite")
    let empty = try Connection(catalog.path)
    try empty.execute("CREATE TABLE once (a); DROP TABLE once; VACUUM")
    try empty.close()
    chmod(catalog.path, 0o600)
    for command in Self.commands {
      let outcome = try await ReelBinary.run(command + ["--library", bench.library.path], in: bench.folder)
      #expect(
        outcome.status == 1
          && outcome.errors.contains("reel doctor --library \(bench.library.path) --rebuild"),
        "\(command): \(outcome)")
    }
    #expect(try await bench.reel("doctor", "--rebuild").status == 0)
    try await expectHealthy(bench, 3)
  }

  @Test("a library that was removed as a whole, or has stored nothing yet, starts anew")
  func anew() async throws {
    let bench = try await published()
    try FileManager.default.removeItem(at: bench.library)
    #expect(try await bench.reel("feed").status == 1)
    #expect(try await bench.reel("ingest", "clips").status == 0)
    try await expectHealthy(bench, 3)
  }

  @Test("an older Reel's library is recognized by its objects, and gets the file when it is next written")
  func older() async throws {
    let bench = try await published()
    let mark = bench.library.appendingPathComponent("catalog.made")
    try FileManager.default.removeItem(at: mark)
    #expect(try await bench.reel("feed").status == 0)
    #expect(!FileManager.default.fileExists(atPath: mark.path))
    #expect(try await bench.reel("ingest", "clips").status == 0)
    #expect(FileManager.default.fileExists(atPath: mark.path))
  }

  // MARK: Rebuilding

  @Test(
    "each object becomes one post again, in the order in which they were stored", arguments: [false, true])
  func rebuilt(emptied: Bool) async throws {
    let bench = try await published()
    let before = try LibraryInspection(library: bench.library).published
    // The times are reversed: the last post becomes the first.
    for (number, post) in before.enumerated() {
      try FileManager.default.setAttributes(
        [.modificationDate: Date(timeIntervalSince1970: 1_700_000_000 - Double(number) * 3600)],
        ofItemAtPath: bench.media.appendingPathComponent(post.key).path)
    }
    if emptied {
      #expect(truncate(bench.library.appendingPathComponent("catalog.sqlite").path, 0) == 0)
    } else {
      try lose(bench)
    }
    let outcome = try await bench.reel("doctor", "--rebuild", "--json")
    #expect(outcome.status == 0, "\(outcome.errors)")
    #expect(try outcome.object()["posts"] as? Int == 3)
    let after = try LibraryInspection(library: bench.library).published
    #expect(after.sorted { $0.page < $1.page }.map(\.key) == before.map(\.key).reversed())
    #expect(Set(after.map(\.digest)) == Set(before.map(\.digest)))
    let feed = try await bench.reel("feed", "--from", "1", "--json").object()
    let posts = try #require(feed["posts"] as? [[String: Any]])
    #expect(posts.first?["createdAt"] as? String == "2023-11-14T20:13:20Z", "\(posts)")
    #expect(posts.first?["videoWidth"] as? Int == 192)
    #expect(posts.allSatisfy { $0["caption"] is NSNull && $0["author"] is NSNull })
    try await expectHealthy(bench, 3)
  }

  @Test(
    "a rebuild that is killed anywhere leaves the catalog lost, and the next one completes it",
    .needsSystemShim, arguments: ["write", "fsync", "rename", "unlink"])
  func killed(at call: String) async throws {
    let bench = try await published(5)
    try lose(bench)
    let counts = bench.folder.appendingPathComponent("counts")
    let saved = bench.folder.appendingPathComponent("saved")
    try FileManager.default.copyItem(at: bench.library, to: saved)
    let whole = try await SystemShim.environment(root: bench.folder, ["REEL_SHIM_COUNTS": counts.path])
    #expect(try await bench.reel("doctor", "--rebuild", environment: whole).status == 0)
    let count = try #require(try SystemShim.Counts(counts).calls[call])
    let places = TestForm.isLong ? [1, 2, count / 2, count - 1, count] : [1, count / 2, count]
    for place in Set(places) where place >= 1 && place <= count {
      var nth = place
      while true {
        try FileManager.default.removeItem(at: bench.library)
        try FileManager.default.copyItem(at: saved, to: bench.library)
        let faults = ["REEL_SHIM_FAULT": "\(call):\(nth):kill", "REEL_SHIM_COUNTS": counts.path]
        let killed = try await bench.reel(
          "doctor", "--rebuild", environment: SystemShim.environment(root: bench.folder, faults))
        if killed.wasKilled { break }
        // Not every rebuild makes as many calls. This one made fewer.
        let own = try #require(try SystemShim.Counts(counts).calls[call])
        try #require(own >= 1 && own < nth, "\(call) \(nth): \(killed)")
        nth = own
      }
      let catalog = bench.library.appendingPathComponent("catalog.sqlite")
      if FileManager.default.fileExists(atPath: catalog.path) {
        // A catalog that has its name is complete.
        let again = try await bench.reel("doctor", "--rebuild")
        #expect(again.status == 1 && again.errors.contains("there is already a catalog"), "\(call) \(nth)")
      } else {
        #expect(try await bench.reel("ingest", "clips").status == 1, "\(call) \(nth)")
        #expect(try await bench.reel("doctor", "--rebuild").status == 0, "\(call) \(nth)")
      }
      try await expectHealthy(bench, 5, "\(call) \(nth)")
      let left = try FileManager.default.contentsOfDirectory(atPath: bench.library.path).sorted()
      #expect(left == ["catalog.made", "catalog.sqlite", "media", "tmp"], "\(call) \(nth)")
    }
  }

  #if DEBUG
    @Test("nothing is rebuilt while another process is using the library")
    func atWork() async throws {
      let bench = try await published()
      try bench.addDistinct(4)
      let running = try ReelBinary.start(
        ["ingest", "clips", "--library", bench.library.path], in: bench.folder,
        environment: ["REEL_FAILPOINT": "temporaryCreated=stop"])
      try await running.untilStopped()
      try lose(bench)
      let outcome = try await bench.reel("doctor", "--rebuild")
      #expect(outcome.status == 1 && outcome.errors.contains("another process is at work"), "\(outcome)")
      running.send(SIGKILL)
      #expect(try await running.outcome().wasKilled)
      #expect(try await bench.reel("doctor", "--rebuild").status == 0)
      #expect(try LibraryInspection(library: bench.library).published.count == 3)
      #expect(try await bench.reel("ingest", "clips").status == 0)
      try await expectHealthy(bench, 4)
    }
  #endif

  @Test("two rebuilds at once make one catalog")
  func together() async throws {
    let bench = try await published()
    try lose(bench)
    let runs = try (0..<2).map { _ in
      try ReelBinary.start(["doctor", "--rebuild", "--library", bench.library.path], in: bench.folder)
    }
    var ends: [Int32] = []
    for run in runs { ends.append(try await run.outcome().status) }
    #expect(ends.sorted() == [0, 1])
    try await expectHealthy(bench, 3)
  }

  @Test(
    "a library with a catalog, damaged or not, is not rebuilt; a log without its catalog is kept")
  func notOverACatalog() async throws {
    let bench = try await published()
    let catalog = bench.library.appendingPathComponent("catalog.sqlite")
    let before = try Data(contentsOf: catalog)
    let sound = try await bench.reel("doctor", "--rebuild")
    #expect(sound.status == 1 && sound.errors.contains("there is already a catalog"), "\(sound)")
    #expect(try Data(contentsOf: catalog) == before)
    var bytes = before
    for index in 0..<100 { bytes[index] = 0 }
    try bytes.write(to: catalog)
    chmod(catalog.path, 0o600)
    let damaged = try await bench.reel("doctor", "--rebuild")
    #expect(damaged.status == 1 && damaged.errors.contains("is damaged"), "\(damaged)")
    #expect(try await bench.reel("ingest", "clips").status == 1)
    try lose(bench)
    // The write-ahead log may be all that is left of the last posts.
    try Data("a log".utf8).write(to: bench.library.appendingPathComponent("catalog.sqlite-wal"))
    #expect(try await bench.reel("doctor", "--rebuild").status == 0)
    let kept = try FileManager.default.contentsOfDirectory(atPath: bench.library.path).filter {
      $0.hasPrefix("catalog.lost-")
    }
    #expect(kept.count == 1 && kept[0].hasSuffix(".sqlite-wal"), "\(kept)")
    try await expectHealthy(bench, 3)
  }

  @Test("other folders of the library are read if they are named, and files that are not videos are reported")
  func otherFolders() async throws {
    let bench = try await published(to: "store")
    try lose(bench)
    let strange = bench.folder.appendingPathComponent("store/0123456789abcdefghijkl.mp4")
    try Data("no video at all".utf8).write(to: strange)
    try Data("mine".utf8).write(to: bench.folder.appendingPathComponent("store/notes.txt"))
    let outcome = try await bench.reel("doctor", "--rebuild", "--to", "store", "--json")
    #expect(outcome.status == 3, "\(outcome)")
    #expect(try outcome.object()["posts"] as? Int == 3)
    let failures = try #require(try outcome.object()["failures"] as? [[String: Any]])
    #expect(failures.map { $0["subject"] as? String } == ["0123456789abcdefghijkl.mp4"])
    #expect(failures.map { $0["code"] as? String } == ["notMedia"])
    let again = try await bench.reel("ingest", "clips", "--to", "store", "--json")
    let summary = try again.object()["summary"] as? [String: Any]
    #expect(summary?["duplicates"] as? Int == 3, "\(again.output)")
  }

  @Test(
    "nothing is rebuilt from nothing: if objects are elsewhere, or the store is a dangling link")
  func nothingFound() async throws {
    let bench = try await published(to: "store")
    try lose(bench)
    let elsewhere = try await bench.reel("doctor", "--rebuild")
    #expect(elsewhere.status == 1 && elsewhere.errors.contains("no stored object was found"), "\(elsewhere)")
    try FileManager.default.createSymbolicLink(
      atPath: bench.media.path, withDestinationPath: bench.folder.path + "/not-mounted")
    let gone = try await bench.reel("doctor", "--rebuild", "--to", "store")
    #expect(gone.status == 1 && !gone.errors.isEmpty, "\(gone)")
    try FileManager.default.removeItem(at: bench.media)
    try await expectRefused(bench)
  }

  @Test("a store that is named twice is read once, and the configured one only if it is named")
  func namedTwice() async throws {
    let bench = try await published()
    try lose(bench)
    let outcome = try await bench.reel(
      "doctor", "--rebuild", "--to", bench.media.path, "--to", bench.media.path + "/",
      environment: ["REEL_TO": "s3://bucket"])
    #expect(outcome.status == 0, "\(outcome)")
    try await expectHealthy(bench, 3)
  }

  @Test("many objects need few descriptors")
  func manyObjects() async throws {
    let bench = try await published(90)
    try lose(bench)
    let outcome = try await ReelBinary.runProgram(
      "/bin/bash",
      [
        "-c", "ulimit -n 80; exec \"$0\" \"$@\"", ReelBinary.url.path, "doctor", "--rebuild", "--library",
        bench.library.path,
      ], in: bench.folder)
    #expect(outcome.status == 0, "\(outcome)")
    try await expectHealthy(bench, 90)
  }

  @Test("two objects with the same bytes become two posts")
  func alike() async throws {
    let bench = try await published(1)
    #expect(try await bench.reel("ingest", "clips", "--duplicates", "allow").status == 0)
    try lose(bench)
    #expect(try await bench.reel("doctor", "--rebuild").status == 0)
    let inspection = try LibraryInspection(library: bench.library)
    #expect(inspection.published.count == 2 && inspection.objects.count == 2)
    #expect(try await bench.reel("doctor", "--read").status == 0)
    let again = try await bench.reel("ingest", "clips", "--json")
    #expect((try again.object()["summary"] as? [String: Any])?["duplicates"] as? Int == 1)
  }

  @Test("without the reader nothing is rebuilt, and nothing is changed")
  func noReader() async throws {
    let bench = try await published()
    try lose(bench)
    let outcome = try await bench.reel(
      "doctor", "--rebuild", environment: ["REEL_WORKER": bench.folder.appendingPathComponent("none").path])
    #expect(outcome.status == 1 && !outcome.errors.isEmpty, "\(outcome)")
    try await expectRefused(bench)
    #expect(try await bench.reel("doctor", "--rebuild").status == 0)
    try await expectHealthy(bench, 3)
  }
}
