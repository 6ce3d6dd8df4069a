import Foundation
import Glibc
import ReelPostgres
import ReelTestServers
import ReelTestSupport
import Testing

/// The queue on the command line: `reel enqueue`, `reel work`, `reel status`.
@Suite(.besidePostgres, .shortTime) struct WorkTests {
  /// A queue, and a store that workers share.
  private struct Fleet {
    let database: TestDatabase
    let bench: Workbench
    var store: String { bench.folder.appendingPathComponent("store").path }

    init(_ count: Int, on server: PostgresServer? = nil) async throws {
      database = try await TestDatabase(on: server)
      bench = try Workbench(reader: .fake)
      try bench.addDistinct(count)
    }

    func start(_ arguments: [String], environment: [String: String] = [:]) throws -> ReelBinary.Running {
      try ReelBinary.start(
        arguments + ["--catalog", database.url()], in: bench.folder,
        environment: bench.environment.merging(environment) { $1 })
    }

    func reel(_ arguments: String...) async throws -> ReelBinary.Outcome {
      try await start(arguments).outcome()
    }

    func work(_ more: [String] = [], environment: [String: String] = [:]) throws -> ReelBinary.Running {
      try start(["work", "--to", store, "--jobs", "2"] + more, environment: environment)
    }

    /// Makes the lease of `process` count as expired, whatever the time is.
    func endLease(of process: Int32) throws {
      let db = try database.connect()
      let now = "(extract(epoch FROM clock_timestamp()) * 1000)::bigint"
      try db.run("UPDATE reel.owner SET lease_until = \(now) - 1 WHERE pid = $1", [.int(Int64(process))])
      // There was no outage before: the process died.
      try db.run("UPDATE reel.worker SET lease = 0 WHERE pid = $1", [.int(Int64(process))])
    }

    /// Checks the tables and the folder without any code of Reel.
    func checkEachIsOnePost(_ count: Int) throws {
      let db = try database.connect()
      func number(_ query: String) throws -> Int? { try db.value(query, as: Int.self) }
      #expect(try number("SELECT count(*) FROM reel.post") == count)
      #expect(
        try number("SELECT count(DISTINCT digest) FROM reel.intent JOIN reel.post ON intent = number")
          == count)
      #expect(try number("SELECT max(page_number) FROM reel.post") == count)
      #expect(try number("SELECT count(*) FROM reel.work WHERE state <> 3") == 0)
      #expect(try number("SELECT count(*) FROM reel.item") == count)
      let keys = try db.rows("SELECT object_key FROM reel.intent JOIN reel.post ON intent = number") {
        try $0[0] as String
      }
      let names = try FileManager.default.contentsOfDirectory(atPath: store).filter { !$0.hasPrefix(".") }
      #expect(Set(names) == Set(keys))
    }
  }

  @Test func whatIsEnqueuedIsPublishedOnce() async throws {
    let fleet = try await Fleet(40)
    try Data("not a video".utf8).write(to: fleet.bench.clips.appendingPathComponent("bad.mp4"))
    let first = try await fleet.reel("enqueue", "clips", "--json")
    #expect(try first.status == 0 && first.object()["new"] as? Int == 41, "\(first.errors)")
    let again = try await fleet.reel("enqueue", "clips", "--json")
    #expect(try again.object()["new"] as? Int == 0 && again.object()["known"] as? Int == 41)
    let work = try await fleet.work().outcome()
    #expect(work.status == 4 && work.output.contains("published 40 videos"), "\(work.errors)")

    let status = try await fleet.reel("status", "--json")
    let queue = try #require(try status.object()["queue"] as? [String: Any])
    let items = try #require(queue["items"] as? [String: Int])
    #expect(items["done"] == 40 && items["failed"] == 1 && items["waiting"] == 0)
    let reasons = try #require(queue["reasons"] as? [[String: Any]])
    #expect(reasons.count == 1 && reasons[0]["code"] as? String == "notMedia")
    #expect((reasons[0]["path"] as? String)?.hasSuffix("/clips/bad.mp4") == true)
    let told = try await fleet.reel("status")
    #expect(told.output.contains("40 done, 1 failed") && told.output.contains("[notMedia]"))

    // The file is replaced by a good one, and retried.
    try FileManager.default.removeItem(at: fleet.bench.clips.appendingPathComponent("bad.mp4"))
    try fleet.bench.addDistinct(41)
    try FileManager.default.moveItem(
      at: fleet.bench.clips.appendingPathComponent("clip-00040.mp4"),
      to: fleet.bench.clips.appendingPathComponent("bad.mp4"))
    let retried = try await fleet.reel("enqueue", "--retry")
    #expect(retried.status == 0 && retried.output.contains("1 to be retried"))
    #expect(try await fleet.work().outcome().status == 0)
    try fleet.checkEachIsOnePost(41)
  }

  @Test func whatWasRemovedIsDoneAndCountedSo() async throws {
    let fleet = try await Fleet(3)
    #expect(try await fleet.reel("enqueue", "clips").status == 0)
    #expect(try await fleet.work().outcome().status == 0)
    let removed = try await fleet.reel("remove", "clips/clip-00001.mp4", "--reason", "a claim")
    #expect(removed.status == 0, "\(removed.errors)")
    // The same bytes under another name, and another version of the file itself.
    let clips = fleet.bench.clips
    try FileManager.default.copyItem(
      at: clips.appendingPathComponent("clip-00001.mp4"), to: clips.appendingPathComponent("copy.mp4"))
    try fleet.bench.addDistinct(1, from: 3)
    #expect(try await fleet.reel("enqueue", "clips").status == 0)
    let work = try await fleet.work().outcome()
    #expect(work.status == 0 && work.output.contains("  removed    1, "), "\(work)")
    let status = try await fleet.reel("status", "--json")
    let queue = try #require(try status.object()["queue"] as? [String: Any])
    #expect((queue["items"] as? [String: Int])?["done"] == 5)
    #expect(try status.object()["posts"] as? Int == 3)
  }

  @Test func withoutASharedCatalogThereIsNoQueue() async throws {
    let bench = try Workbench()
    for command in [["enqueue", "clips"], ["work"]] {
      let run = try await ReelBinary.run(command, in: bench.folder)
      #expect(run.status == 64 && run.errors.contains("--catalog postgres://"))
    }
  }

  @Test func aMachineWithoutTheFolderGivesBackAndSaysSo() async throws {
    let fleet = try await Fleet(30)
    #expect(try await fleet.reel("enqueue", "clips").status == 0)
    let (clips, away) = (fleet.bench.clips, fleet.bench.folder.appendingPathComponent("away"))
    try FileManager.default.moveItem(at: clips, to: away)
    let db = try fleet.database.connect()
    // An item that was given back often says nothing about this machine.
    try db.run("UPDATE reel.work SET attempts = 20 WHERE item % 10 = 0")
    let work = try await fleet.work().outcome()
    #expect(work.status == 1 && work.errors.contains("are not on this machine"), "\(work)")
    func count(_ condition: String) throws -> Int? {
      try db.value("SELECT count(*) FROM reel.work WHERE \(condition)", as: Int.self)
    }
    #expect(try count("state IN (0, 2) AND failures = 0 AND attempts < 20") == 27)
    #expect(try count("state = 2") ?? 0 >= 10)
    try db.run("UPDATE reel.work SET attempts = 0, failures = 0")
    // An empty folder is no better, since it may be a mount point.
    try FileManager.default.createDirectory(at: clips, withIntermediateDirectories: false)
    try db.run("UPDATE reel.work SET due_at = 0 WHERE state = 2")
    #expect(try await fleet.work().outcome().status == 1)
    #expect(try count("state IN (0, 2) AND failures = 0") == 30)
    let later = try await fleet.reel("status")
    #expect(
      try /[1-3][0-9] for later, the first from 20[0-9T:-]{17}Z: .+ \[notFound\]\n/.firstMatch(
        in: later.output) != nil, "\(later)")
    // The items are due and no worker runs. The status still gives the reason why they are not posts.
    try db.run("UPDATE reel.work SET state = 0, due_at = NULL WHERE state = 2")
    let path = clips.appendingPathComponent("clip-00001.mp4").path
    let waiting = try await fleet.reel("status").output
    #expect(waiting.contains("workers  none: waiting items are taken once `reel work` runs"), "\(waiting)")
    #expect(try /[1-3][0-9] waiting: .+ \[notFound\]\n/.firstMatch(in: waiting) != nil, "\(waiting)")
    #expect(try await fleet.reel("queue", "list", "--state", "waiting").output.contains("[notFound]"))
    let shown = try await fleet.reel("queue", "show", path).output
    #expect(
      try /state +waiting, since .+\nbecause +.+ \[notFound\]\n/.firstMatch(in: shown) != nil, "\(shown)")
    #expect(try await fleet.reel("show", path).errors.contains("of the queue is waiting because "))
    try FileManager.default.removeItem(at: clips)
    try FileManager.default.moveItem(at: away, to: clips)
    try db.run("UPDATE reel.work SET due_at = 0 WHERE state = 2")
    #expect(try await fleet.work().outcome().status == 0)
    try fleet.checkEachIsOnePost(30)
  }

  /// The missing folder says nothing against the machine, as the uploader may have removed it. Each item has its four
  /// tries.
  @Test func aFolderThatOthersMayHaveRemovedEndsNoWorker() async throws {
    let fleet = try await Fleet(12)
    #expect(try await fleet.reel("enqueue", "clips").status == 0)
    try FileManager.default.removeItem(at: fleet.bench.clips)
    try #require(chmod(fleet.bench.folder.path, 0o777) == 0)
    let db = try fleet.database.connect()
    let work = try await fleet.work().outcome(whileAllIsDueIn: db)
    #expect(work.status == 3, "\(work)")
    #expect(try db.value("SELECT count(*) FROM reel.work WHERE state = 5", as: Int.self) == 12)
  }

  @Test(.needsOtherUser)
  func filesThatTheirOwnerLetsNobodyReadEndNoWorker() async throws {
    let fleet = try await Fleet(13)
    #expect(try await fleet.reel("enqueue", "clips").status == 0)
    try #require(chmod(fleet.bench.folder.path, 0o777) == 0)
    for number in 0..<12 {
      let clip = fleet.bench.clips.appendingPathComponent(String(format: "clip-%05d.mp4", number))
      try #require(chmod(clip.path, 0) == 0)
    }
    let db = try fleet.database.connect()
    let work = try await ReelBinary.start(
      ["work", "--to", fleet.store, "--jobs", "2", "--catalog", fleet.database.url()],
      in: fleet.bench.folder, environment: fleet.bench.environment,
      launcher: OtherUser.launcher
    ).outcome(whileAllIsDueIn: db)
    #expect(work.status == 3, "\(work)")
    #expect(try db.value("SELECT count(*) FROM reel.work WHERE state = 5", as: Int.self) == 12)
    #expect(
      try db.rows("SELECT DISTINCT code FROM reel.work WHERE state = 5") { try $0[0] as String } == ["denied"]
    )
    #expect(try db.value("SELECT count(*) FROM reel.post", as: Int.self) == 1)
  }

  @Test func aMachineWithoutTheStoreMakesNoneOfItsOwn() async throws {
    let fleet = try await Fleet(3)
    #expect(try await fleet.reel("enqueue", "clips/clip-00000.mp4").status == 0)
    #expect(try await fleet.work().outcome().status == 0)
    #expect(try await fleet.reel("enqueue", "clips").status == 0)
    try FileManager.default.moveItem(atPath: fleet.store, toPath: fleet.store + "-away")
    for isEmpty in [false, true] {
      if isEmpty {
        try FileManager.default.createDirectory(atPath: fleet.store, withIntermediateDirectories: false)
      }
      let work = try await fleet.work().outcome()
      #expect(work.status == 1 && work.errors.contains("its folder is missing or empty"), "\(work)")
    }
    #expect(try FileManager.default.contentsOfDirectory(atPath: fleet.store).isEmpty)
    try FileManager.default.removeItem(atPath: fleet.store)
    try FileManager.default.moveItem(atPath: fleet.store + "-away", toPath: fleet.store)
    #expect(try await fleet.work().outcome().status == 0)
    try fleet.checkEachIsOnePost(3)
  }

  @Test func aFileThatIsGoneFromItsFolderFails() async throws {
    let fleet = try await Fleet(3)
    #expect(try await fleet.reel("enqueue", "clips").status == 0)
    try FileManager.default.removeItem(at: fleet.bench.clips.appendingPathComponent("clip-00001.mp4"))
    #expect(try await fleet.work().outcome().status == 3)
    let db = try fleet.database.connect()
    #expect(try db.rows("SELECT state FROM reel.work ORDER BY state") { try $0[0] as Int } == [3, 3, 5])
  }

  @Test(.notQuick) func theGraceEndsAWorkerWhoseDatabaseIsAway() async throws {
    let server = try await PostgresServer.start()
    let fleet = try await Fleet(8, on: server)
    #expect(try await fleet.reel("enqueue", "clips").status == 0)
    let worker = try fleet.work(
      ["--grace", "1"], environment: ["REEL_FAILPOINT": "uploadBegun=stop", "REEL_PATIENCE_SECONDS": "3600"])
    try await worker.untilStopped()
    try await server.stall()
    worker.send(SIGTERM)
    worker.send(SIGCONT)
    // It ends within the test's time limit: the worker does not wait for the server's answer.
    let end = try await worker.outcome()
    #expect(end.status == 130, "\(end)")
    try await server.wake()
    await server.stop()
  }

  /// No worker takes an item again that is done, so its event would be lost.
  @Test func anItemIsDoneOnceItsEventIsWritten() async throws {
    let fleet = try await Fleet(120)
    #expect(try await fleet.reel("enqueue", "clips").status == 0)
    let pipe = fleet.bench.folder.appendingPathComponent("pipe").path
    try #require(mkfifo(pipe, 0o600) == 0)
    let reader = open(pipe, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
    defer { close(reader) }
    // The pipe has room for a few events, and nobody reads them.
    try #require(fcntl(reader, 1031 /* F_SETPIPE_SZ */, 4096) == 4096)
    let worker = try fleet.work(["--events", pipe])
    let db = try fleet.database.connect()
    func posts() throws -> Int { try db.value("SELECT count(*) FROM reel.post", as: Int.self) ?? 0 }
    // The worker publishes as many as it takes at once, and no more.
    while try posts() < 4, worker.process.isRunning { try await Task.sleep(for: .milliseconds(20)) }
    worker.send(SIGKILL)
    _ = try await worker.outcome()
    var told = [UInt8](repeating: 0, count: 1 << 16)
    told.removeLast(told.count - max(0, read(reader, &told, told.count)))
    let lines = String(decoding: told, as: UTF8.self).split(separator: "\n")
    let done = try db.value("SELECT count(*) FROM reel.work WHERE state = 3", as: Int.self) ?? 0
    #expect(done <= lines.count { $0.contains(#""type":"post.published""#) })
    #expect(try posts() > done)
  }

  @Test func whoStaysIsWokenAndGivesUpItsPlaceWhenToldTo() async throws {
    let fleet = try await Fleet(3)
    let worker = try fleet.work(["--forever", "--quiet"])
    #expect(try await fleet.reel("enqueue", "clips").status == 0)
    let db = try fleet.database.connect()
    while try db.value("SELECT count(*) FROM reel.work WHERE state = 3", as: Int.self) != 3,
      worker.process.isRunning
    {
      try await Task.sleep(for: .milliseconds(20))
    }
    worker.send(SIGTERM)
    let end = try await worker.outcome()
    #expect(end.status == 130, "\(end.errors)")
    #expect(try db.value("SELECT count(*) FROM reel.worker", as: Int.self) == 0)
    try fleet.checkEachIsOnePost(3)
    // No upload was interrupted, so no temporary file is left for the doctor to report.
    let left = try FileManager.default.contentsOfDirectory(atPath: fleet.store + "/.reel-tmp")
    #expect(left == [], "\(left)")
  }

  @Test(arguments: ["intended", "uploaded", "published"])
  func oneThatWasStoppedAndWokenUpTooLateIsFencedOff(step: String) async throws {
    let fleet = try await Fleet(12)
    #expect(try await fleet.reel("enqueue", "clips").status == 0)
    let late = try fleet.work(environment: ["REEL_FAILPOINT": "\(step)=stop"])
    try await late.untilStopped()
    try fleet.endLease(of: late.process.processIdentifier)
    let other = try await fleet.work().outcome()
    #expect(other.status == 0, "\(other.errors)")
    try fleet.checkEachIsOnePost(12)
    late.send(SIGCONT)
    _ = try await late.outcome()
    try fleet.checkEachIsOnePost(12)
  }

  @Test(.notQuick, .shortTime) func killedAtRandomEachVideoIsOnePost() async throws {
    let count = TestForm.isLong ? 10_000 : 60
    let kills = TestForm.isLong ? 100 : 6
    var random = SplitMix64(seed: TestSeed.drawn())
    let fleet = try await Fleet(count)
    #expect(try await fleet.reel("enqueue", "clips").status == 0)
    var workers: [ReelBinary.Running] = []
    for round in 0..<kills {
      while workers.count < 3 { workers.append(try fleet.work(["--quiet"])) }
      try await Task.sleep(for: .milliseconds(Int(random.next() % 400)))
      // Usually one worker is killed, and sometimes all at once.
      let victims = round % 3 == 2 ? workers : [workers[Int(random.next() % 3)]]
      for victim in victims { victim.send(SIGKILL) }
      for victim in victims {
        _ = try await victim.outcome()
        try fleet.endLease(of: victim.process.processIdentifier)
      }
      workers.removeAll { worker in victims.contains { $0 === worker } }
    }
    for worker in workers { _ = try await worker.outcome() }
    #expect(try await fleet.work(["--quiet"]).outcome().status == 0)
    // An item that three workers died of is set aside, whatever the cause.
    #expect(try await fleet.reel("enqueue", "--retry").status == 0)
    #expect(try await fleet.work(["--quiet"]).outcome().status == 0)
    try fleet.checkEachIsOnePost(count)
  }
}

extension ReelBinary.Running {
  /// Returns the outcome. Until the end, every item to be retried is made due at once.
  func outcome(whileAllIsDueIn db: PostgresConnection) async throws -> ReelBinary.Outcome {
    while process.isRunning {
      try db.run("UPDATE reel.work SET due_at = 0 WHERE state = 2")
      try await Task.sleep(for: .milliseconds(50))
    }
    return try await outcome()
  }
}
