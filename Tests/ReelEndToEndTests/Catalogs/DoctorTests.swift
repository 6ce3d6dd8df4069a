import Foundation
import ReelCrypto
import ReelLibrary
import ReelTestServers
import ReelTestSupport
import Testing

/// `reel doctor` and `reel backup` against the traces of crashes, people and bugs.
@Suite("reel doctor and reel backup", .shortTime)
struct DoctorTests {
  private struct Diagnosis {
    let status: Int32
    let left: [String]
    let mended: [String]
    /// The repairs of `mended`.
    let how: [String]
    let errors: String
  }

  private func doctor(_ bench: Workbench, _ arguments: String...) async throws -> Diagnosis {
    let outcome = try await ReelBinary.run(
      ["doctor", "--json"] + arguments + ["--library", bench.library.path], in: bench.folder)
    func kinds(_ name: String) throws -> [String] {
      let found = try outcome.output.isEmpty ? [] : outcome.object()[name] as? [[String: Any]] ?? []
      return found.compactMap { $0["kind"] as? String }.sorted()
    }
    let mended = outcome.output.isEmpty ? [] : try outcome.object()["mended"] as? [[String: Any]] ?? []
    return Diagnosis(
      status: outcome.status, left: try kinds("left"), mended: try kinds("mended"),
      how: mended.compactMap { $0["mending"] as? String }, errors: outcome.errors)
  }

  private func published(_ count: Int = 2) async throws -> Workbench {
    let bench = try Workbench()
    try bench.addDistinct(count)
    #expect(try await bench.reel("ingest", "clips").status == 0)
    return bench
  }

  @Test("a library is sound after a run")
  func sound() async throws {
    let bench = try await published()
    let found = try await doctor(bench, "--read")
    #expect(found.status == 0 && found.left.isEmpty, "\(found)")
    let text = try await bench.reel("doctor")
    #expect(text.output.contains("nothing is wrong with") && text.output.contains("WAL-reset bug"))
    let (told, versions) = (
      try await bench.reel("doctor", "--json"), try await bench.reel("version", "--json")
    )
    for key in ["sqlite", "walResetBug"] {
      #expect(try told.object()[key] as? String == versions.object()[key] as? String)
    }
  }

  @Test("without a library there is nothing to examine")
  func noLibrary() async throws {
    let bench = try Workbench()
    let found = try await doctor(bench)
    #expect(found.status == 1 && found.errors.contains("there is no library"))
    #expect(!FileManager.default.fileExists(atPath: bench.library.path))
  }

  @Test(
    "the traces of a crash are found and repaired", .needsFailpoints,
    arguments: ["intended:1", "uploaded:1", "published:2"])
  func crash(step: String) async throws {
    let bench = try Workbench()
    try bench.addDistinct(3)
    // One job, so that no other file waits for the disk at the crash.
    let killed = try await bench.reel(
      "ingest", "clips", "--jobs", "1", "--on-error", "stop", environment: ["REEL_DIE_AT": step])
    #expect(killed.wasKilled)
    let found = try await doctor(bench)
    #expect(found.status == 3 && found.left.contains("owner.dead"), "\(found)")
    #expect(found.left.contains("intent.abandoned") == !step.hasPrefix("published"), "\(found)")
    let fixed = try await doctor(bench, "--fix")
    #expect(fixed.mended == found.left)
    // The intent is free again. An object without a post is reported until a run takes the intent up.
    let left = step.hasPrefix("uploaded") ? ["intent.waiting"] : []
    #expect(fixed.status == (left.isEmpty ? 0 : 3) && fixed.left == left, "\(fixed)")
    #expect(try await doctor(bench).left == left)
    #expect(try await bench.reel("ingest", "clips").status == 0)
    let inspection = try LibraryInspection(library: bench.library)
    #expect(try inspection.brokenAfterCompletion() == [])
    #expect(inspection.published.count == 3)
  }

  @Test(
    "an abandoned intent and its object are removed after the grace period, and not before",
    .needsFailpoints)
  func stale() async throws {
    let bench = try Workbench()
    try bench.addDistinct(1)
    _ = try await bench.reel("ingest", "clips", environment: ["REEL_DIE_AT": "uploaded"])
    #expect(try bench.objects().count == 1)
    #expect(try await doctor(bench, "--fix").left == ["intent.waiting"])
    #expect(try bench.objects().count == 1, "within the grace period the object stays")
    let found = try await doctor(bench, "--grace", "0")
    #expect(found.left == ["intent.stale"])
    let fixed = try await doctor(bench, "--fix", "--grace", "0")
    #expect(fixed.status == 0 && fixed.mended == ["intent.stale"], "\(fixed)")
    #expect(try bench.objects().isEmpty)
    #expect(try await bench.reel("ingest", "clips").status == 0)
    let inspection = try LibraryInspection(library: bench.library)
    #expect(try inspection.brokenAfterCompletion() == [])
    #expect(inspection.published.count == 1)
  }

  @Test("an object without a row is reported but never removed; other files are not mentioned")
  func unknown() async throws {
    let bench = try await published()
    let stray = bench.media.appendingPathComponent("0123456789abcdefghijkl.mp4")
    try Data("?".utf8).write(to: stray)
    try Data("?".utf8).write(to: bench.media.appendingPathComponent("index.html"))
    for arguments in [[], ["--fix", "--grace", "0"]] {
      let outcome = try await ReelBinary.run(
        ["doctor"] + arguments + ["--library", bench.library.path], in: bench.folder)
      #expect(outcome.status == 3 && outcome.output.contains("object.unknown"), "\(outcome)")
      #expect(!outcome.output.contains("index.html"))
    }
    #expect(try Data(contentsOf: stray) == Data("?".utf8))
    // The suggested command moves the object away.
    let shown = try await bench.reel("doctor").output
    #expect(shown.contains("none of which --fix can repair"))
    let command = try #require(shown.split(separator: "\n").first { $0.contains("mkdir -p ") })
    let shell = Process()
    shell.executableURL = URL(fileURLWithPath: "/bin/sh")
    shell.arguments = ["-c", "mkdir -p " + command.components(separatedBy: "mkdir -p ")[1]]
    try Spawning.alone { try shell.run() }
    shell.waitUntilExit()
    #expect(shell.terminationStatus == 0 && !FileManager.default.fileExists(atPath: stray.path), "\(command)")
    #expect(
      FileManager.default.fileExists(atPath: bench.media.path + "-unknown/" + stray.lastPathComponent))
    #expect(try await doctor(bench).status == 0)
  }

  @Test("a missing object is restored from the original, found by its bytes, under its own name")
  func putBack() async throws {
    let bench = try await published(3)
    let posts = try LibraryInspection(library: bench.library).published
    let original = bench.clips.appendingPathComponent("clip-00000.mp4")
    let bytes = try Data(contentsOf: original)
    // Parallel jobs publish in any order, so the first clip's post is chosen as one that loses its object.
    let first = try #require(posts.first { $0.digest == Data(SHA256.hash(data: bytes)) })
    let second = try #require(posts.first { $0 != first })
    for post in [first, second] {
      try FileManager.default.removeItem(at: bench.media.appendingPathComponent(post.key))
    }
    // One of the originals is lost, too: a file of its length has other bytes.
    try Data(repeating: 0, count: bytes.count).write(to: original)
    #expect(try await bench.reel("ingest", "clips").status == 4, "zeros are not video")
    let found = try await doctor(bench)
    #expect(found.left == ["object.missing", "object.missing"])
    #expect(try await bench.reel("doctor").output.contains("2 of which --fix --from FOLDER can repair"))
    let some = try await doctor(bench, "--fix", "--from", "clips")
    #expect(some.status == 3 && some.left.count == 2 - some.mended.count, "\(some)")
    try bytes.write(to: original)
    try FileManager.default.moveItem(at: original, to: bench.folder.appendingPathComponent("renamed.mp4"))
    let rest = try await doctor(bench, "--fix", "--from", "clips", "--from", "renamed.mp4")
    #expect(rest.status == 0 && rest.left.isEmpty && some.mended.count + rest.mended.count == 2, "\(rest)")
    #expect((some.how + rest.how).allSatisfy { $0 == "byFix" }, "\(some) \(rest)")
    #expect(try await doctor(bench, "--read").status == 0)
    let after = try LibraryInspection(library: bench.library)
    #expect(after.published == posts)
    expectNothing(try after.brokenAfterCompletion())
    #expect(try await bench.reel("doctor", "--from", "clips").status == 64)
  }

  @Test("a source from which an object could not be restored is reported with the reason")
  func notPutBack() async throws {
    let bench = try await published(1)
    let key = try #require(try LibraryInspection(library: bench.library).published.first?.key)
    try FileManager.default.removeItem(at: bench.media.appendingPathComponent(key))
    try FileManager.default.createSymbolicLink(
      atPath: bench.folder.appendingPathComponent("link.mp4").path,
      withDestinationPath: "clips/clip-00000.mp4")
    let fixing = ["doctor", "--fix", "--from", "link.mp4", "--library", bench.library.path]
    let told = try await ReelBinary.run(fixing + ["--json"], in: bench.folder)
    #expect(told.status == 3)
    let failures = try told.object()["failures"] as? [[String: Any]] ?? []
    #expect(failures.map { $0["code"] as? String } == ["isLink"], "\(told.output)")
    let shown = try await ReelBinary.run(fixing, in: bench.folder)
    #expect(shown.output.contains("not repaired: link.mp4"), "\(shown.output)")
  }

  @Test("an unfinished intent is reported with its age, but not while a process works on it")
  func waiting() async throws {
    let bench = try Workbench()
    try bench.addDistinct(1)
    let running = try ReelBinary.start(
      ["ingest", "clips", "--library", bench.library.path], in: bench.folder,
      environment: ["REEL_FAILPOINT": "uploaded=stop"])
    try await running.untilStopped()
    #expect(try bench.objects().count == 1)
    #expect(try await doctor(bench).left == [])
    kill(running.process.processIdentifier, SIGKILL)
    _ = try await running.outcome()
    // No run will take the intent up, because the file has changed.
    try bench.addDistinct(1, of: "clips/silent.mp4")
    #expect(try await bench.reel("ingest", "clips").status == 0)
    #expect(try bench.objects().count == 2)
    for arguments in [[], ["--fix"]] {
      let outcome = try await ReelBinary.run(
        ["doctor", "--json"] + arguments + ["--library", bench.library.path], in: bench.folder)
      let left = try outcome.object()["left"] as? [[String: Any]] ?? []
      #expect(outcome.status == 3 && left.count == 1, "\(outcome)")
      #expect(["intent.abandoned", "intent.waiting"].contains(left.first?["kind"] as? String), "\(outcome)")
      #expect((left.first?["age"] as? Int).map { $0 >= 0 } == true, "\(outcome)")
    }
    let text = try await bench.reel("doctor")
    #expect(text.output.contains("no process has worked on it for"), "\(text)")
    #expect(try await doctor(bench, "--fix", "--grace", "0").status == 0)
    #expect(try bench.objects().count == 1)
  }

  @Test("a damaged object is replaced if its bytes are given; a sound one, or a folder, is left alone")
  func damagedIsReplaced() async throws {
    let bench = try await published(4)
    let posts = try LibraryInspection(library: bench.library).published
    let objects = posts.map { bench.media.appendingPathComponent($0.key) }
    let (short, flipped, folder, sound) = (objects[0], objects[1], objects[2], objects[3])
    try Data("mine".utf8).write(to: short)
    try flip(flipped)
    try FileManager.default.removeItem(at: folder)
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
    try Data("mine".utf8).write(to: folder.appendingPathComponent("file"))
    func inode() throws -> Int? {
      try FileManager.default.attributesOfItem(atPath: sound.path)[.systemFileNumber] as? Int
    }
    let before = try inode()

    // A file of the right length with other bytes is not a source.
    let wrong = bench.folder.appendingPathComponent("wrong.mp4")
    try Data(repeating: 0, count: Int(posts[0].size)).write(to: wrong)
    #expect(try await doctor(bench, "--fix", "--from", wrong.path).mended == [])
    #expect(try Data(contentsOf: short) == Data("mine".utf8))

    let some = try await doctor(bench, "--fix", "--from", "clips")
    #expect(some.mended == ["object.differs"] && some.left == ["object.differs"], "\(some)")
    let rest = try await doctor(bench, "--fix", "--read", "--from", "clips")
    #expect(rest.mended == ["object.differs"] && rest.left == ["object.differs"], "\(rest)")
    #expect(try Data(contentsOf: folder.appendingPathComponent("file")) == Data("mine".utf8))
    #expect(try inode() == before)
    try FileManager.default.removeItem(at: folder)
    let last = try await doctor(bench, "--fix", "--read", "--from", "clips")
    #expect(last.status == 0 && last.mended == ["object.missing"], "\(last)")
    expectNothing(try LibraryInspection(library: bench.library).brokenAfterCompletion())
  }

  @Test(
    "a kill during the replacement of a damaged object leaves either the damaged or the whole one",
    .needsFailpoints,
    arguments: ["temporaryCreated", "bytesCopied", "temporarySynced", "objectReplaced"])
  func killedWhileReplacing(_ place: String) async throws {
    let bench = try await published(1)
    let object = bench.media.appendingPathComponent(try #require(try bench.objects().first))
    let whole = try Data(contentsOf: object)
    try flip(object)
    let damaged = try Data(contentsOf: object)
    let fixing = ["doctor", "--fix", "--read", "--from", "clips", "--library", bench.library.path]
    let killed = try await ReelBinary.run(fixing, in: bench.folder, environment: ["REEL_DIE_AT": place])
    #expect(killed.wasKilled)
    #expect(try Data(contentsOf: object) == (place == "objectReplaced" ? whole : damaged))
    #expect(try await ReelBinary.run(fixing, in: bench.folder).status == 0)
    #expect(try Data(contentsOf: object) == whole)
    expectNothing(try LibraryInspection(library: bench.library).brokenAfterCompletion())
  }

  private func flip(_ object: URL) throws {
    var bytes = try Data(contentsOf: object)
    bytes[100] ^= 1
    try bytes.write(to: object)
  }

  @Test("a missing, truncated or altered object is reported; altered bytes only if they are read")
  func damagedObjects() async throws {
    let bench = try await published(3)
    let keys = try LibraryInspection(library: bench.library).published.map(\.key)
    try FileManager.default.removeItem(at: bench.media.appendingPathComponent(keys[0]))
    truncate(bench.media.appendingPathComponent(keys[1]).path, 10)
    let third = bench.media.appendingPathComponent(keys[2])
    var bytes = try Data(contentsOf: third)
    bytes[100] ^= 1
    try bytes.write(to: third)
    #expect(try await doctor(bench, "--fix").left == ["object.differs", "object.missing"])
    let read = try await doctor(bench, "--read")
    #expect(read.left == ["object.differs", "object.differs", "object.missing"] && read.status == 3)
  }

  @Test("temporary files of dead processes are removed; those of others and of live processes stay")
  func temporaries() async throws {
    let bench = try await published()
    let tmp = bench.library.appendingPathComponent("tmp")
    let dead = tmp.appendingPathComponent("upload-0123456789abcdefghijkl.1.part")
    let notOurs = tmp.appendingPathComponent("notes.part")
    for file in [dead, notOurs] { try Data("?".utf8).write(to: file) }
    #expect(try await doctor(bench).left == ["temporary.left-over"])
    #expect(try await doctor(bench, "--fix").mended == ["temporary.left-over"])
    #expect(!FileManager.default.fileExists(atPath: dead.path))
    #expect(FileManager.default.fileExists(atPath: notOurs.path))
  }

  @Test("a missing store is one finding, not one per post")
  func noStore() async throws {
    let bench = try await published()
    try FileManager.default.moveItem(
      at: bench.media, to: bench.folder.appendingPathComponent("elsewhere"))
    let found = try await doctor(bench, "--fix")
    #expect(found.status == 3 && found.left == ["store.unreachable"])
    #expect(!FileManager.default.fileExists(atPath: bench.media.path), "doctor makes no store")
  }

  @Test("a damaged catalog is reported, and nothing in it is repaired")
  func damagedCatalog() async throws {
    let bench = try await published()
    let catalog = bench.library.appendingPathComponent("catalog.sqlite")
    var bytes = try Data(contentsOf: catalog)
    for index in 5000..<(bytes.count - 1000) where index % 3 == 0 { bytes[index] = 0xA5 }
    try bytes.write(to: catalog)
    let found = try await doctor(bench, "--fix")
    #expect(found.status == 3 && found.left.allSatisfy { $0 == "catalog.damaged" }, "\(found)")
    #expect(try Data(contentsOf: catalog) == bytes)
    let backup = try await bench.reel("backup", "-o", "copy.sqlite")
    #expect(backup.status == 1 && backup.errors.contains("damaged"), "\(backup)")
    #expect(!FileManager.default.fileExists(atPath: bench.folder.appendingPathComponent("copy.sqlite").path))
  }

  @Test("contradictory rows are damage")
  func contradiction() async throws {
    let bench = try await published()
    let catalog = try Connection(bench.library.appendingPathComponent("catalog.sqlite").path)
    try catalog.execute("UPDATE intent SET state = 0 WHERE number = 1")
    try catalog.close()
    let found = try await doctor(bench)
    #expect(found.status == 3 && found.left == ["catalog.damaged"], "\(found)")
  }

  @Test("a repair that has failed is not offered again")
  func notPromisedAgain() async throws {
    let bench = try await published(1)
    let object = try #require(try LibraryInspection(library: bench.library).published.first)
    let place = bench.media.appendingPathComponent(object.key)
    try FileManager.default.removeItem(at: place)
    try FileManager.default.createDirectory(at: place, withIntermediateDirectories: false)
    #expect(try await bench.reel("doctor").output.contains("--from FOLDER can repair"))
    let fixed = try await bench.reel("doctor", "--fix", "--from", "clips")
    #expect(fixed.status == 3 && fixed.output.contains("move it away"), "\(fixed)")
    #expect(!fixed.output.contains("can repair"), "\(fixed)")
  }

  // MARK: Backup

  @Test("a backup is one private file, never overwrites another, and can be restored as documented")
  func backup() async throws {
    let bench = try await published(3)
    #expect(try await bench.reel("backup", "-o", "copy.sqlite").status == 0)
    let copy = bench.folder.appendingPathComponent("copy.sqlite")
    let mode = try FileManager.default.attributesOfItem(atPath: copy.path)[.posixPermissions] as? Int
    #expect(mode == 0o600)
    let names = try FileManager.default.contentsOfDirectory(atPath: bench.folder.path)
    #expect(names.filter { $0.hasPrefix("copy.sqlite") } == ["copy.sqlite"])
    let again = try await bench.reel("backup", "-o", "copy.sqlite")
    #expect(again.status == 1 && again.errors.contains("already"))
    // The unfinished file of a killed backup is replaced; anything else is left alone.
    let left = bench.folder.appendingPathComponent("next.sqlite.unfinished")
    try Data(contentsOf: copy).prefix(8192).write(to: left)
    try Data("x".utf8).write(to: URL(fileURLWithPath: left.path + "-journal"))
    #expect(try await bench.reel("backup", "-o", "next.sqlite").status == 0)
    #expect(
      try FileManager.default.contentsOfDirectory(atPath: bench.folder.path).filter { $0.hasPrefix("next") }
        == ["next.sqlite"])
    let other = bench.folder.appendingPathComponent("third.sqlite.unfinished")
    try Data("a letter".utf8).write(to: other)
    #expect(try await bench.reel("backup", "-o", "third.sqlite").status == 1)
    #expect(try Data(contentsOf: other) == Data("a letter".utf8))

    try bench.addDistinct(5)
    #expect(try await bench.reel("ingest", "clips").status == 0)
    let old = bench.folder.appendingPathComponent("old")
    try FileManager.default.createDirectory(at: old, withIntermediateDirectories: true)
    for name in try FileManager.default.contentsOfDirectory(atPath: bench.library.path)
    where name.hasPrefix("catalog.sqlite") {
      try FileManager.default.moveItem(
        at: bench.library.appendingPathComponent(name), to: old.appendingPathComponent(name))
    }
    try FileManager.default.copyItem(at: copy, to: bench.library.appendingPathComponent("catalog.sqlite"))
    #expect(try LibraryInspection(library: bench.library).published.count == 3)
    #expect(try await doctor(bench, "--read").left == ["object.unknown", "object.unknown"])
    #expect(try await bench.reel("ingest", "clips").status == 0)
    let restored = try LibraryInspection(library: bench.library)
    #expect(restored.published.count == 5)
    #expect(restored.objects.count == 7, "the objects of later posts stay until somebody decides")
  }

  @Test(
    "a backup and a rebuilt catalog get their names even if a file system renames only by replacing",
    .needsSystemShim, arguments: [true, false])
  func withoutRename(linking: Bool) async throws {
    let bench = try await published(3)
    var settings = ["REEL_SHIM_RENAMEAT2": "none"]
    if !linking { settings["REEL_SHIM_FAULT"] = "link:1+:\(EPERM)" }
    let shim = try await SystemShim.environment(root: bench.folder, settings)
    let backup = try await bench.reel("backup", "-o", "copy.sqlite", environment: shim)
    #expect(backup.status == 0, "\(backup)")
    let again = try await bench.reel("backup", "-o", "copy.sqlite", environment: shim)
    #expect(again.status == 1 && again.errors.contains("already"), "\(again)")
    let names = try FileManager.default.contentsOfDirectory(atPath: bench.folder.path)
    #expect(names.filter { $0.hasPrefix("copy.sqlite") } == ["copy.sqlite"])
    for name in try FileManager.default.contentsOfDirectory(atPath: bench.library.path)
    where name.hasPrefix("catalog.sqlite") {
      try FileManager.default.removeItem(at: bench.library.appendingPathComponent(name))
    }
    let rebuilt = try await bench.reel("doctor", "--rebuild", environment: shim)
    #expect(rebuilt.status == 0, "\(rebuilt)")
    #expect(try LibraryInspection(library: bench.library).published.count == 3)
    let left = try FileManager.default.contentsOfDirectory(atPath: bench.library.path).sorted()
    #expect(left == ["catalog.made", "catalog.sqlite", "media", "tmp"])
  }

  @Test(
    "a backup made during a run is complete, and none of its posts lacks its object")
  func backupInUse() async throws {
    let bench = try Workbench()
    try bench.addDistinct(60)
    try FileManager.default.createDirectory(at: bench.library, withIntermediateDirectories: true)
    chmod(bench.library.path, 0o700)
    let running = try ReelBinary.start(
      ["ingest", "clips", "--library", bench.library.path], in: bench.folder)
    while try bench.objects().isEmpty, running.process.isRunning {
      try await Task.sleep(for: .milliseconds(5))
    }
    var made = 0
    while running.process.isRunning || made == 0 {
      let name = "copy-\(made).sqlite"
      let outcome = try await bench.reel("backup", "-o", name)
      #expect(outcome.status == 0, "\(outcome.errors)")
      let backup = try Connection(bench.folder.appendingPathComponent(name).path)
      let keys: [String] = try backup.values("SELECT objectKey FROM intent WHERE state = 1")
      #expect(try bench.objects().isSuperset(of: keys))
      made += 1
    }
    #expect(try await running.outcome().status == 0)
  }
}
