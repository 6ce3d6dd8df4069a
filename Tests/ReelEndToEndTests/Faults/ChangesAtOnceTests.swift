import Foundation
import ReelTestSupport
import Testing

/// Removals, restorations and moves of posts while another process uses them, or while their store is missing.
@Suite("Changes of posts, and what interferes with them", .shortTime)
struct ChangesAtOnceTests {
  private let bench: Workbench
  private var other: URL { bench.folder.appendingPathComponent("other") }

  init() throws { bench = try Workbench(reader: .fake) }

  private func published(_ count: Int, _ more: String..., posters: String? = nil) async throws -> [String] {
    try bench.addDistinct(count)
    let arguments = ["ingest", "clips", "--library", bench.library.path] + more
    let environment = bench.environment.merging(posters.map { ["REEL_POSTERS": $0] } ?? [:]) { $1 }
    let outcome = try await ReelBinary.run(arguments, in: bench.folder, environment: environment)
    #expect(outcome.status == 0, "\(outcome.errors)")
    return try inspection().posts.values.sorted { $0.page < $1.page }.map(\.id)
  }

  private func inspection() throws -> ChangeInspection {
    try ChangeInspection(library: bench.library, others: [other])
  }

  private func start(
    _ arguments: String..., environment: [String: String] = [:]
  ) throws -> ReelBinary.Running {
    try ReelBinary.start(
      arguments + ["--library", bench.library.path], in: bench.folder,
      environment: bench.environment.merging(environment) { $1 })
  }

  // MARK: A missing store

  @Test("objects in a folder that is missing, or not mounted, do not count as lost")
  func unmounted() async throws {
    let ids = try await published(3, "--to", "other")
    let away = bench.folder.appendingPathComponent("away")
    for isEmpty in [false, true] {
      let id = ids[isEmpty ? 1 : 0]
      try FileManager.default.moveItem(at: other, to: away)
      if isEmpty { try FileManager.default.createDirectory(at: other, withIntermediateDirectories: true) }
      let removal = try await bench.reel("remove", id)
      #expect(removal.status == 3, "\(removal.output) \(removal.errors)")
      #expect(FileManager.default.fileExists(atPath: other.path) == isEmpty, "made anew")
      #expect(try inspection().posts[id] == nil)
      // An edit concerns only the catalog.
      let edit = try await bench.reel("edit", ids[2], "--caption", "words \(isEmpty)")
      #expect(edit.status == 0, "\(edit.output) \(edit.errors)")
      try? FileManager.default.removeItem(at: other)
      try FileManager.default.moveItem(at: away, to: other)
      let prune = try await bench.reel("prune")
      #expect(prune.status == 0, "\(prune.output) \(prune.errors)")
      expectNothing(try inspection().brokenAtRest())
    }
    // The last removal leaves the folder empty.
    let last = try await bench.reel("remove", ids[2])
    #expect(last.status == 0, "\(last.output) \(last.errors)")
    expectNothing(try inspection().brokenAtRest())
  }

  @Test("two names of one folder are detected", .needsMounting)
  func oneFolder() async throws {
    let ids = try await published(2)
    let files = FileManager.default
    try files.createDirectory(at: other, withIntermediateDirectories: true)
    let mount = try await ReelBinary.runProgram(
      "/bin/mount", ["--bind", bench.media.path, other.path], in: bench.folder)
    #expect(mount.status == 0, "\(mount.errors)")
    let move = try await bench.reel("move", ids[0], "--to", "other")
    let prune = try await bench.reel("prune")
    _ = try await ReelBinary.runProgram("/bin/umount", [other.path], in: bench.folder)
    #expect(move.status == 3, "\(move.output) \(move.errors)")
    #expect(prune.status == 0, "\(prune.output) \(prune.errors)")
    expectNothing(try inspection().brokenAtRest())
  }

  // MARK: Two posts of one video

  @Test("a removed post is not restored beside the new post of its video")
  func beside() async throws {
    let ids = try await published(1)
    #expect(try await bench.reel("remove", ids[0]).status == 0)
    #expect(try await bench.reel("ingest", "clips", "--again").status == 0)
    let restore = try await bench.reel("restore", ids[0], "--from", "clips")
    #expect(restore.status == 3, "\(restore.output)")
    expectNothing(try inspection().brokenAtRest())
    #expect(try inspection().posts[ids[0]] == nil)
  }

  @Test("a file of events starts anew with each command")
  func eventsBeginAnew() async throws {
    let ids = try await published(2)
    #expect(try await bench.reel("remove", ids[0], ids[1], "--events", "events.jsonl").status == 0)
    #expect(
      try await bench.reel("restore", ids[0], "--from", "clips", "--events", "events.jsonl").status == 0)
    let text = try String(contentsOf: bench.folder.appendingPathComponent("events.jsonl"), encoding: .utf8)
    #expect(ToldChanges(text).ids == ["post.restored": [ids[0]]], "\(text)")
    #expect(text.split(separator: "\n").count == 1)
    // The same holds if there is nothing to report.
    #expect(try await bench.reel("restore", ids[0], "--events", "events.jsonl").status == 0)
    let events = bench.folder.appendingPathComponent("events.jsonl")
    #expect(try Data(contentsOf: events).isEmpty)
    // A command that changes nothing leaves the earlier events.
    try Data("told\n".utf8).write(to: events)
    for arguments in [["remove", ids[0], "--dry-run"], ["prune", "--dry-run"], ["remove", "nothing.mp4"]] {
      _ = try await ReelBinary.run(
        arguments + ["--events", "events.jsonl", "--library", bench.library.path], in: bench.folder)
      #expect(try Data(contentsOf: events) == Data("told\n".utf8), "\(arguments)")
    }
  }

  #if DEBUG
    @Test("kept objects are removed if the next removal does not keep them")
    func notKept() async throws {
      let ids = try await published(1)
      let killed = try await bench.reel(
        "remove", ids[0], "--keep", "1h", environment: ["REEL_FAILPOINT": "changeCommitted=crash"])
      #expect(killed.wasKilled)
      #expect(try await bench.reel("remove", ids[0]).status == 0)
      #expect(try inspection().removed[ids[0]]?.isStored == false)
      expectNothing(try inspection().brokenAtRest())
    }

    @Test("the same command finishes what it had begun, even if its filter no longer matches")
    func filtered() async throws {
      let ids = try await published(2)
      let killed = try await bench.reel(
        "remove", "--since", "1h", environment: ["REEL_FAILPOINT": "changeCommitted=crash"])
      #expect(killed.wasKilled)
      let plan = try await bench.reel("prune", "--dry-run")
      #expect(plan.output.hasSuffix("2 would be removed or finished\n"), "\(plan.output)")
      let same = try await bench.reel("remove", "--since", "1h")
      #expect(same.status == 0 && same.output.contains("finished what an earlier command"), "\(same.output)")
      #expect(same.output.hasSuffix("\n0 removed, 2 from earlier commands finished\n"), "\(same.output)")
      for id in ids { #expect(try inspection().removed[id]?.isStored == false) }
      expectNothing(try inspection().brokenAtRest())
    }

    @Test("a removal that could not begin does not say that its post has left the feed")
    func notBegun() async throws {
      let ids = try await published(1)
      let killed = try await bench.reel(
        "move", ids[0], "--to", "other", environment: ["REEL_FAILPOINT": "changeCommitted=crash"])
      #expect(killed.wasKilled)
      let other = bench.folder.appendingPathComponent("other")
      try FileManager.default.removeItem(at: other)
      try Data().write(to: other)
      for arguments in [[ids[0]], ["--author", "nobody"]] {
        let remove = try await ReelBinary.run(
          ["remove", "--library", bench.library.path] + arguments, in: bench.folder)
        #expect(remove.status == 3 && remove.output.contains("failed: \(ids[0])"), "\(remove)")
        #expect(!remove.output.contains("left the feed"), "\(remove)")
      }
      #expect(try inspection().posts[ids[0]] != nil)
    }

    // MARK: Processes that resume late

    @Test("the doctor reports the changes that it completes")
    func doctorTells() async throws {
      let ids = try await published(1)
      let killed = try await bench.reel(
        "remove", ids[0], environment: ["REEL_FAILPOINT": "changeFinishedCommitted=crash"])
      #expect(killed.wasKilled)
      #expect(try await bench.reel("doctor", "--fix", "--events", "events.jsonl").status == 0)
      #expect(try ToldChanges(in: bench.folder).tells("post.removed", ids[0]))
    }

    @Test(
      "a process stopped past its lease removes nothing that others have restored",
      arguments: ["changeCommitted", "changeFinishedCommitted"])
    func lateRemoval(place: String) async throws {
      let ids = try await published(1)
      let late = try start(
        "remove", ids[0], "--events", "late.jsonl",
        environment: ["REEL_FAILPOINT": "\(place)=stop"])
      try await late.untilStopped()
      try late.endLease(in: bench.library)
      let restore = try await bench.reel("restore", ids[0], "--from", "clips", "--events", "restore.jsonl")
      #expect(restore.status == 0, "\(restore.output) \(restore.errors)")
      late.send(SIGCONT)
      #expect(try await late.outcome().status == 3)
      expectNothing(try inspection().brokenAtRest())
      #expect(try inspection().posts[ids[0]] != nil)
      #expect(try ToldChanges(in: bench.folder).ids["post.removed"]?.count == 1)
      let text = try? String(contentsOf: bench.folder.appendingPathComponent("late.jsonl"), encoding: .utf8)
      #expect(ToldChanges(text ?? "").ids.isEmpty, "told what is not so any more")
    }

    @Test(
      "a move that resumes late moves nothing", arguments: ["changeCommitted", "changeFinishedCommitted"])
    func lateMove(place: String) async throws {
      let ids = try await published(1)
      let late = try start(
        "move", ids[0], "--to", "other",
        environment: ["REEL_FAILPOINT": "\(place)=stop"])
      try await late.untilStopped()
      try late.endLease(in: bench.library)
      let back = try await bench.reel("move", ids[0], "--to", "library/media")
      #expect(back.status == 0, "\(back.output) \(back.errors)")
      late.send(SIGCONT)
      #expect(try await late.outcome().status == 3)
      expectNothing(try inspection().brokenAtRest())
      #expect(try inspection().posts[ids[0]]?.store == "library:media")
    }

    @Test(
      "the doctor does not remove objects that are being restored, or were while it was stopped",
      arguments: ["changeRemovedFound", "changeCommitted"])
    func doctorAndRestoration(place: String) async throws {
      let ids = try await published(1)
      let object = try #require(try inspection().posts[ids[0]]?.key)
      #expect(try await bench.reel("remove", ids[0]).status == 0)
      let clip = bench.clips.appendingPathComponent("clip-00000.mp4")
      try FileManager.default.copyItem(at: clip, to: bench.media.appendingPathComponent(object))
      let doctor = try start(
        "doctor", "--fix",
        environment: ["REEL_FAILPOINT": "\(place)=stop"])
      try await doctor.untilStopped()
      try doctor.endLease(in: bench.library)
      let restore = try await bench.reel("restore", ids[0], "--from", "clips")
      #expect(restore.status == 0, "\(restore.output) \(restore.errors)")
      doctor.send(SIGCONT)
      _ = try await doctor.outcome()
      expectNothing(try inspection().brokenAtRest())
      #expect(try inspection().posts[ids[0]] != nil)
    }

    @Test("a video that is published again while its post is restored becomes one post")
    func restoredWhilePublished() async throws {
      let ids = try await published(1)
      #expect(try await bench.reel("remove", ids[0]).status == 0)
      let ingest = try start("ingest", "clips", "--again", environment: ["REEL_FAILPOINT": "uploaded=stop"])
      try await ingest.untilStopped()
      let seen = bench.folder.appendingPathComponent("seen")
      try Data().write(to: seen)
      let restore = try start(
        "restore", ids[0], "--from", "clips", environment: ["REEL_FAILPOINTS_SEEN": seen.path])
      // The restoration has asked for the change, and waits.
      while try !String(decoding: Data(contentsOf: seen), as: UTF8.self).contains("changeCommitted") {
        try await Task.sleep(for: .milliseconds(20))
      }
      ingest.send(SIGCONT)
      #expect(try await ingest.outcome().status == 0)
      #expect(try await restore.outcome().status == 3)
      expectNothing(try inspection().brokenAtRest())
    }

    @Test("a removal does not wait for a run that publishes its video, which does not bring it back")
    func removedWhilePublished() async throws {
      let ids = try await published(1)
      // Another file with the same bytes, which is not known yet.
      let clip = bench.clips.appendingPathComponent("clip-00000.mp4")
      try FileManager.default.copyItem(at: clip, to: bench.folder.appendingPathComponent("same.mp4"))
      let ingest = try start("ingest", "same.mp4", environment: ["REEL_FAILPOINT": "hashed=stop"])
      try await ingest.untilStopped()
      #expect(try await bench.reel("remove", ids[0]).status == 0)
      ingest.send(SIGCONT)
      let outcome = try await ingest.outcome()
      #expect(outcome.status == 0, "\(outcome.errors)")
      #expect(try inspection().posts.isEmpty)
      expectNothing(try inspection().brokenAtRest())
    }

    @Test(
      "a poster that is being made while its post is changed does not become a stray",
      arguments: [["remove"], ["remove", "--keep", "1h"], ["move", "--to", "other"]])
    func poster(command: [String]) async throws {
      let ids = try await published(1, posters: "none")
      let poster = try start(
        "poster", "--missing", environment: ["REEL_FAILPOINT": "temporarySynced=stop"])
      try await poster.untilStopped()
      let change = try await ReelBinary.run(
        command + [ids[0], "--library", bench.library.path], in: bench.folder, environment: bench.environment)
      #expect(change.status == 0, "\(change.output) \(change.errors)")
      poster.send(SIGCONT)
      _ = try await poster.outcome()
      expectNothing(try inspection().broken())
      let fix = try await bench.reel("doctor", "--fix", "--grace", "0")
      #expect(fix.status == 0, "\(fix.output)")
      let found = try inspection()
      expectNothing(found.broken())
      #expect(found.posts.values.allSatisfy { $0.poster == nil })
    }

    // MARK: Interrupted changes

    @Test("a restoration interrupted after its upload is completed without the file")
    func restorationBehindUpload() async throws {
      let ids = try await published(1)
      #expect(try await bench.reel("remove", ids[0]).status == 0)
      let killed = try await bench.reel(
        "restore", ids[0], "--from", "clips", environment: ["REEL_FAILPOINT": "changeCarriedOut=crash"])
      #expect(killed.wasKilled)
      let prune = try await bench.reel("prune", "--events", "prune.jsonl")
      #expect(prune.status == 0, "\(prune.output) \(prune.errors)")
      #expect(try inspection().posts[ids[0]] != nil)
      #expect(try ToldChanges(in: bench.folder).tells("post.restored", ids[0]))
      expectNothing(try inspection().brokenAtRest())
    }

    @Test("one interrupted before its upload is given up, and what it may have left is removed")
    func restorationBeforeUpload() async throws {
      let ids = try await published(1)
      #expect(try await bench.reel("remove", ids[0]).status == 0)
      let killed = try await bench.reel(
        "restore", ids[0], "--from", "clips", environment: ["REEL_FAILPOINT": "changeCommitted=crash"])
      #expect(killed.wasKilled)
      _ = try await bench.reel("prune")
      #expect(try await bench.reel("prune").status == 0)
      expectNothing(try inspection().brokenAtRest())
      #expect(try inspection().removed[ids[0]]?.isStored == false)
      #expect(try await bench.reel("doctor").status == 0)
    }

    @Test("Ctrl-C between two batches leaves no post half changed")
    func interrupted() async throws {
      let ids = try await published(260)
      let outcome = try await bench.reel(
        "remove", "--since", "1d", environment: ["REEL_FAILPOINT": "changeTold=interrupt"])
      #expect(outcome.status == 130, "\(outcome.errors)")
      let found = try inspection()
      #expect(found.removed.count == 256 && found.posts.count == ids.count - 256)
      expectNothing(found.brokenAtRest())
    }
  #endif
}
