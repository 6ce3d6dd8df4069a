import Foundation
import ReelCore
import ReelTestServers
import Synchronization
import Testing

@testable import ReelPostgres

@Suite(.besidePostgres, .shortTime) struct QueueTests {
  private struct Bench {
    let pool: PostgresPool
    let queue: WorkQueue

    init() async throws {
      let database = try await TestDatabase()
      pool = try database.pool()
      queue = try WorkQueue(pool)
    }

    func worker(_ change: (inout QueueWorker.Settings) -> Void = { _ in }) throws -> QueueWorker {
      var settings = QueueWorker.Settings()
      change(&settings)
      return try QueueWorker(queue, host: "host", destination: "file:///media", settings: settings)
    }

    func enqueue(_ names: [String], priority: Int = 0) throws -> WorkQueue.Enqueued {
      try queue.enqueue(names.map { item($0) }, priority: priority)
    }

    func item(_ name: String, version: String = "1") -> NewItem {
      NewItem(address: SourcePath("/uploads/\(name)"), version: version, size: 7)
    }

    /// Makes the lease of every worker count as expired, with no earlier outage, whatever the time is.
    func killAll() throws { try change("lease = 0, lease_until = \(PostgresSchema.now) - 1") }

    /// Changes the workers that match a condition, and their owners' leases with them, since a worker's row holds a
    /// copy.
    func change(_ columns: String, table: String = "worker", where condition: String = "true") throws {
      try pool.transaction { tx in
        try tx.run("UPDATE reel.\(table) SET \(columns) WHERE \(condition)")
        try tx.run(
          "UPDATE reel.owner SET lease_until = worker.lease_until FROM reel.worker WHERE worker.owner = owner.id"
        )
      }
    }

    func deaths() throws -> [Int] {
      try pool.read { db in try db.rows("SELECT deaths FROM reel.work ORDER BY item") { try $0[0] } }
    }

    /// Reads the states from the tables alone.
    func states() throws -> [String: Int64] {
      let rows = try pool.read { db in
        try db.rows("SELECT address, state FROM reel.item JOIN reel.work ON work.item = item.id") {
          (String(decoding: try $0[0] as [UInt8], as: UTF8.self), try $0[1] as Int64)
        }
      }
      return Dictionary(
        uniqueKeysWithValues: rows.map { ($0.0.split(separator: "/").last.map(String.init) ?? "", $0.1) })
    }
  }

  private func names(_ items: [TakenItem]) -> [String] {
    items.map { String($0.address.text.split(separator: "/").last ?? "") }
  }

  @Test func whatIsListedOftenIsEnqueuedOnce() async throws {
    let bench = try await Bench()
    var count = try bench.enqueue(["a", "b", "a"])
    #expect(count.new == 2 && count.known == 1)
    count = try bench.queue.enqueue([bench.item("a"), bench.item("a", version: "2"), bench.item("c")])
    #expect(count.new == 2 && count.known == 1)
    #expect(try bench.queue.enqueue([]) == WorkQueue.Enqueued())
  }

  @Test func anAddressMayBeAnyBytes() async throws {
    let bench = try await Bench()
    let address = SourcePath(bytes: [0x2F, 0xFF, 0xFE, 0x0A])
    _ = try bench.queue.enqueue([NewItem(address: address, version: "", size: nil)])
    #expect(try bench.worker().take(upTo: 1).map(\.address) == [address])
  }

  @Test func theMostUrgentAndOldestFirstAndNobodyTwice() async throws {
    let bench = try await Bench()
    _ = try bench.enqueue(["a", "b"])
    _ = try bench.enqueue(["c"], priority: 1)
    let (one, other) = (try bench.worker(), try bench.worker())
    let first = try one.take(upTo: 2)
    #expect(names(first) == ["c", "a"])
    #expect(names(try other.take(upTo: 2)) == ["b"])
    #expect(try one.take(upTo: 2).isEmpty)
    #expect(try one.isQueueEmpty() == false)
  }

  @Test func whatBecameOfItemsIsWrittenDown() async throws {
    let bench = try await Bench()
    _ = try bench.enqueue(["a", "b", "c", "d", "e"])
    let worker = try bench.worker { $0.pause = .zero }
    let taken = try worker.take(upTo: 5)
    let endings: [ItemOutcome.Ending] = [
      .done, .refused(code: "policy", message: "too long"), .failed(code: "corrupt", message: "a\0b"),
      .failedForNow(code: "unavailable", message: "busy"), .givenBack,
    ]
    try worker.finish(zip(taken, endings).map { ItemOutcome($0.id, $1) })
    #expect(try bench.states() == ["a": 3, "b": 4, "c": 5, "d": 2, "e": 0])
    #expect(worker.held.isEmpty)
    let status = try #require(try WorkQueue.status(bench.pool))
    #expect(status.items == [.done: 1, .refused: 1, .failed: 1, .later: 1, .waiting: 1])
    #expect(status.reasons.map(\.code).sorted() == ["corrupt", "policy", "unavailable"])
    #expect(status.reasons.first { $0.code == "corrupt" }?.message == "a\u{FFFD}b")
    #expect(status.workers.count == 1 && status.workers[0].finished == 3 && status.workers[0].failed == 2)
    #expect(status.endedInLastMinute == 3)
    // An item to be retried waits until its time, which is now.
    #expect(try worker.freeWhatIsDue() == 1)
    #expect(names(try worker.take(upTo: 5)) == ["d", "e"])
  }

  /// A process that is killed right after its report leaves both or neither.
  @Test func whyAnItemFailedIsWrittenDownWithIt() async throws {
    let bench = try await Bench()
    _ = try bench.enqueue(["a", "b", "c", "d"])
    _ = try bench.queue.enqueue([
      NewItem(address: SourcePath("s3://uploads/e"), version: "1", size: 1),
      // Two versions of one file.
      bench.item("a", version: "2"),
    ])
    func failures() throws -> [String] {
      try bench.pool.read { db in
        try db.rows("SELECT host, path, code, message, refused FROM reel.failure ORDER BY path") {
          "\(try $0[0] as String) \(String(decoding: try $0[1] as [UInt8], as: UTF8.self)) \(try $0[2] as String) "
            + "\(try $0[3] as String) \(try $0[4] as Bool)"
        }
      }
    }
    let worker = try bench.worker { $0.pause = .zero }
    let taken = try worker.take(upTo: 6)
    let endings: [ItemOutcome.Ending] = [
      .failed(code: "corrupt", message: "cut off"), .refused(code: "policy", message: "too long"),
      .failedForNow(code: "unavailable", message: "busy"), .done,
      .putOff(code: "denied", message: "no"), .failed(code: "empty", message: "no bytes"),
    ]
    try worker.finish(zip(taken, endings).map { ItemOutcome($0.id, $1) })
    let kept = [
      "host /uploads/a empty no bytes false", "host /uploads/b policy too long true",
      "host /uploads/c unavailable busy false", " s3://uploads/e denied no false",
    ]
    #expect(try failures() == kept)
    // An item that is given back records nothing. One that succeeds deletes what was recorded.
    try worker.freeWhatIsDue()
    let again = try worker.take(upTo: 6)
    #expect(names(again) == ["c", "e"])
    try worker.finish([ItemOutcome(again[0].id, .done), ItemOutcome(again[1].id, .givenBack)])
    #expect(try failures() == [kept[0], kept[1], kept[3]])
    // The report of a worker that has lost the item does not count.
    let late = try worker.take(upTo: 1)
    try bench.killAll()
    try bench.worker().freeWhatIsDue()
    try worker.finish(late.map { ItemOutcome($0.id, .failed(code: "corrupt", message: "late")) })
    #expect(try failures() == [kept[0], kept[1], kept[3]])
  }

  @Test func whatFailsForReasonsThatMayPassFailsInTheEnd() async throws {
    let bench = try await Bench()
    _ = try bench.enqueue(["a"])
    let worker = try bench.worker { ($0.pause, $0.mostFailures) = (.zero, 3) }
    for attempt in 1...3 {
      let taken = try worker.take(upTo: 1)
      #expect(taken.map(\.failures) == [attempt - 1])
      try worker.finish(taken.map { ItemOutcome($0.id, .failedForNow(code: "unavailable", message: "busy")) })
      try worker.freeWhatIsDue()
    }
    #expect(try bench.states() == ["a": 5])
    #expect(try worker.isQueueEmpty())
    #expect(try bench.queue.putBack([.failed, .setAside]) == 1)
    #expect(try worker.take(upTo: 1).map(\.failures) == [0])
  }

  @Test func whatADeadWorkerHeldIsFreeAgainAndItsLateWordDoesNotCount() async throws {
    let bench = try await Bench()
    _ = try bench.enqueue(["a", "b"])
    let (late, next) = (try bench.worker(), try bench.worker())
    let taken = try late.take(upTo: 2)
    try late.begin(taken.map(\.id))
    try late.finish([ItemOutcome(taken[0].id, .done)])
    try bench.killAll()
    #expect(try next.freeWhatIsDue() == 1)
    let again = try next.take(upTo: 2)
    // Its own lease had expired, too: it takes as a new worker.
    let taking = again.isEmpty ? try next.take(upTo: 2) : again
    #expect(names(taking) == ["b"] && taking[0].isInQuestion)
    try late.finish([ItemOutcome(taken[1].id, .failed(code: "corrupt", message: "late"))])
    #expect(try bench.states() == ["a": 3, "b": 1])
    #expect(try late.renew() == false)
    #expect(late.held.isEmpty)
    try next.finish([ItemOutcome(taking[0].id, .done)])
    #expect(try bench.states() == ["a": 3, "b": 3])
  }

  @Test func whoStopsGivesBack() async throws {
    let bench = try await Bench()
    _ = try bench.enqueue(["a", "b"])
    let (one, other) = (try bench.worker(), try bench.worker())
    #expect(try one.take(upTo: 2).count == 2)
    try one.retire()
    let taken = try other.take(upTo: 2)
    #expect(names(taken) == ["a", "b"] && taken.allSatisfy { $0.deaths == 0 })
    #expect(try WorkQueue.status(bench.pool)?.workers.count == 1)
  }

  @Test func anItemThatThreeWorkersDiedOfIsSetAsideAloneAndWithWhatIsKnown() async throws {
    let bench = try await Bench()
    _ = try bench.enqueue(["deadly", "a", "b"])
    let first = try bench.worker()
    let taken = try first.take(upTo: 10)
    #expect(taken.count == 3)
    try first.begin(taken.map(\.id))
    try bench.killAll()
    try bench.worker().freeWhatIsDue()
    // Any of them may have been the cause: from now on each is taken alone, and only then its deaths count.
    #expect(try bench.deaths() == [0, 0, 0])
    for death in 1...3 {
      let victim = try bench.worker()
      let deadly = try victim.take(upTo: 10)
      #expect(names(deadly) == ["deadly"])
      #expect(try victim.take(upTo: 10).isEmpty)
      try victim.begin(deadly.map(\.id))
      try bench.killAll()
      try bench.worker().freeWhatIsDue()
      #expect(try bench.deaths() == [death, 0, 0])
    }
    let survivor = try bench.worker()
    for name in ["a", "b"] {
      let taken = try survivor.take(upTo: 10)
      #expect(names(taken) == [name])
      try survivor.finish(taken.map { ItemOutcome($0.id, .done) })
    }
    #expect(try bench.states() == ["deadly": 6, "a": 3, "b": 3])
    let reason = try #require(try WorkQueue.status(bench.pool)?.reasons.first)
    #expect(reason.state == .setAside && reason.code == "workerDied" && reason.message.contains("host"))
    // Once put back, the item has a clean record.
    #expect(try bench.queue.putBack([.setAside]) == 1)
    #expect(try survivor.take(upTo: 10).map(\.isInQuestion) == [false])
  }

  @Test func whatIsInQuestionHasItsTurnThoughMoreComesAllTheTime() async throws {
    let bench = try await Bench()
    _ = try bench.enqueue(["a", "b"])
    let victim = try bench.worker()
    try victim.begin(try victim.take(upTo: 2).map(\.id))
    try bench.killAll()
    let worker = try bench.worker()
    try worker.freeWhatIsDue()
    _ = try bench.enqueue(["c", "d"])
    let others = try worker.take(upTo: 4)
    #expect(names(others) == ["c", "d"])
    _ = try bench.enqueue(["e"])
    // It comes before the items that were enqueued since, as soon as nothing else is held.
    #expect(try worker.take(upTo: 4).isEmpty)
    try worker.finish(others.map { ItemOutcome($0.id, .done) })
    let single = try worker.take(upTo: 4)
    #expect(names(single) == ["a"])
    #expect(try worker.take(upTo: 4).isEmpty)
    try worker.finish(single.map { ItemOutcome($0.id, .failed(code: "corrupt", message: "")) })
    #expect(try names(worker.take(upTo: 4)) == ["e"])
  }

  /// The verdict does not depend on how many workers there are, or how many items each has in hand.
  @Test func fourThatAreKilledTogetherThreeTimesAccuseNoItem() async throws {
    for inHand in [1, 2] {
      let bench = try await Bench()
      _ = try bench.enqueue((1...8).map { "item-\($0)" })
      for _ in 1...3 {
        for _ in 1...4 {
          let worker = try bench.worker()
          try worker.begin(try worker.take(upTo: inHand).map(\.id))
        }
        try bench.killAll()
        try bench.worker().freeWhatIsDue()
        // The worker that looks is gone when the next ones are killed.
        try bench.change("lease = 0, lease_until = \(PostgresSchema.now) - 1, hands = '{}'")
        try bench.worker().freeWhatIsDue()
      }
      #expect(try Set(bench.states().values) == [0])
      #expect(try bench.deaths().allSatisfy { $0 < 3 })
    }
  }

  @Test func whatWasHeldAheadIsNoSuspect() async throws {
    let bench = try await Bench()
    _ = try bench.enqueue(["a", "b", "c"])
    let victim = try bench.worker()
    try victim.begin(Array(try victim.take(upTo: 3).map(\.id).prefix(1)))
    try bench.killAll()
    #expect(try bench.worker().freeWhatIsDue() == 3)
    #expect(try bench.deaths() == [1, 0, 0])
    // An older Reel does not report what it has in hand.
    let older = try bench.worker()
    #expect(try names(older.take(upTo: 3)) == ["b", "c"])
    try bench.change("hands = NULL")
    try bench.killAll()
    let next = try bench.worker()
    try next.freeWhatIsDue()
    #expect(try bench.deaths() == [1, 0, 0])
    #expect(try names(next.take(upTo: 3)) == ["a"])
  }

  @Test func anOlderReelHasALeaseOfItsOwn() async throws {
    let bench = try await Bench()
    _ = try bench.enqueue(["a"])
    let (older, next) = (try bench.worker(), try bench.worker())
    try older.begin(try older.take(upTo: 1).map(\.id))
    try bench.change("owner = NULL", where: "id = (SELECT min(id) FROM reel.worker)")
    #expect(try next.freeWhatIsDue() == 0)
    try bench.change(
      "lease = 0, lease_until = \(PostgresSchema.now) - 1", where: "owner IS NULL")
    #expect(try WorkQueue.status(bench.pool)?.workers.map(\.isOverdue) == [true, false])
    #expect(try next.freeWhatIsDue() == 1)
    #expect(try bench.deaths() == [1])
    #expect(try WorkQueue.status(bench.pool)?.workers.count == 1)
  }

  @Test(arguments: CuttingProxy.Fault.allCases)
  func whatIsTakenAndFinishedWithoutAnAnswerIsSoOnce(_ fault: CuttingProxy.Fault) async throws {
    let database = try await TestDatabase()
    let proxy = try CuttingProxy(to: database.server.port)
    let queue = try WorkQueue(try database.pool(port: proxy.port))
    let direct = try database.pool()
    let names = ["/a", "/b", "/c", "/d"]
    _ = try queue.enqueue(names.map { NewItem(address: SourcePath($0), version: "1", size: nil) })
    let worker = try QueueWorker(queue, host: "host", destination: "file:///media")
    func held() throws -> Int? {
      try direct.read { try $0.value("SELECT count(*) FROM reel.work WHERE state = 1", as: Int.self) }
    }
    var taken: [TakenItem] = []
    for _ in 0..<2 {
      taken += try await proxy.cutting(fault) { try worker.take(upTo: 2) }
      #expect(try held() == taken.count && worker.held == Set(taken.map(\.id)))
    }
    #expect(Set(taken.map(\.address)) == Set(names.map { SourcePath($0) }))
    let items = taken
    try await proxy.cutting(fault) { try worker.begin(items.map(\.id)) }
    let isThere = try await proxy.cutting(fault) { try worker.renew() }
    #expect(isThere)
    for item in taken { try await proxy.cutting(fault) { try worker.finish([ItemOutcome(item.id, .done)]) } }
    #expect(try held() == 0 && worker.held.isEmpty)
    let status = try WorkQueue.status(direct)
    #expect(status?.items == [.done: 4] && status?.workers.map(\.finished) == [4])
  }

  @Test func aSignOfLifeThatIsLateTakesNothingFromWhoIsWrittenDownAnew() async throws {
    let bench = try await Bench()
    _ = try bench.enqueue(["a", "b"])
    let (late, next) = (try bench.worker(), try bench.worker())
    #expect(try late.take(upTo: 1).count == 1)
    try bench.change(
      "lease_until = \(PostgresSchema.now) - 1", where: "id = (SELECT min(id) FROM reel.worker)")
    #expect(try next.freeWhatIsDue() == 1)
    // Its heartbeat for the deleted row ends only after it has registered again.
    let (blocker, watch) = (try bench.pool.connect(), try bench.pool.connect())
    try blocker.execute(
      "SET idle_in_transaction_session_timeout = 0; BEGIN; LOCK TABLE reel.owner IN SHARE MODE")
    let sign = Aside { try late.renew() }
    try watch.wait(
      until:
        "EXISTS (SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock')"
    )
    let taking = Aside { try late.take(upTo: 1) }
    try watch.wait(until: "count(*) = 2 FROM reel.worker")
    try blocker.execute("COMMIT")
    #expect(try sign.value() == false)
    #expect(try taking.value().isEmpty)
    let taken = try late.take(upTo: 2)
    #expect(names(taken) == ["a", "b"])
    #expect(try late.renew() && late.held == Set(taken.map(\.id)))
    try late.finish(taken.map { ItemOutcome($0.id, .done) })
    #expect(try bench.states() == ["a": 3, "b": 3])
    #expect(try WorkQueue.status(bench.pool)?.workers.count == 2)
  }

  @Test func anOutageIsNoDeath() async throws {
    let bench = try await Bench()
    _ = try bench.enqueue(["a"])
    let victim = try bench.worker()
    try victim.begin(try victim.take(upTo: 1).map(\.id))
    // It was last heard of before this server was started.
    try bench.change("lease = 1000 * 86400 * 365::bigint, lease_until = \(PostgresSchema.now) - 1")
    #expect(try bench.worker().freeWhatIsDue() == 1)
    #expect(try bench.deaths() == [0])
  }

  @Test func whatEndsMostWorkersTogetherIsNoItem() async throws {
    let bench = try await Bench()
    let names = (0..<6).map { "item-\($0)" }
    _ = try bench.enqueue(names)
    for _ in names {
      let victim = try bench.worker()
      try victim.begin(try victim.take(upTo: 1).map(\.id))
    }
    // The lease of one has expired; the others have not been heard of since, either.
    try bench.change("lease = 3600000, lease_until = \(PostgresSchema.now) + 600000")
    try bench.change(
      "lease_until = \(PostgresSchema.now) - 1", where: "id = (SELECT min(id) FROM reel.worker)")
    let survivor = try bench.worker()
    #expect(try survivor.freeWhatIsDue() == 1)
    try bench.change("lease_until = \(PostgresSchema.now) - 1", where: "lease = 3600000")
    #expect(try survivor.freeWhatIsDue() == 5)
    #expect(try bench.deaths() == [0, 0, 0, 0, 0, 0])
  }

  @Test func whatIsSaidOfAnEarlierTakingDoesNotCount() async throws {
    let bench = try await Bench()
    _ = try bench.enqueue(["a"])
    let worker = try bench.worker()
    let taken = try worker.take(upTo: 1)
    // The item was given back without an answer, and taken again before that was repeated.
    try bench.pool.transaction { tx in try tx.run("UPDATE reel.work SET attempts = attempts + 1") }
    try worker.finish(taken.map { ItemOutcome($0.id, .givenBack) })
    #expect(try bench.states() == ["a": 1])
  }

  @Test func whatIsPutOffDoesNotCountAsAFailure() async throws {
    let bench = try await Bench()
    _ = try bench.enqueue(["a"])
    let worker = try bench.worker { ($0.pause, $0.mostFailures) = (.zero, 1) }
    for _ in 0..<3 {
      let taken = try worker.take(upTo: 1)
      #expect(taken.map(\.failures) == [0])
      try worker.finish(taken.map { ItemOutcome($0.id, .putOff(code: "notFound", message: "not here")) })
      #expect(try bench.states() == ["a": 2])
      #expect(try worker.freeWhatIsDue() == 1)
    }
  }

  @Test(arguments: [CuttingProxy.Fault.before, .after])
  func whatWasEnqueuedWithoutAnAnswerIsCountedOnce(_ fault: CuttingProxy.Fault) async throws {
    let database = try await TestDatabase()
    let proxy = try CuttingProxy(to: database.server.port)
    let queue = try WorkQueue(try database.pool(port: proxy.port))
    func item(_ name: String) -> NewItem { NewItem(address: SourcePath("/\(name)"), version: "1", size: nil) }
    _ = try queue.enqueue([item("old")])
    proxy.arm(fault)
    let count = try queue.enqueue([item("a"), item("old"), item("b")])
    #expect(proxy.cuts == 1)
    #expect(count.new == 2 && count.known == 1)
    let worker = try QueueWorker(queue, host: "host", destination: "file:///media")
    try worker.finish(
      try worker.take(upTo: 2).map { ItemOutcome($0.id, .failed(code: "corrupt", message: "")) })
    proxy.arm(fault)
    #expect(try queue.putBack([.failed]) == 2)
    #expect(proxy.cuts == 2)
  }

  @Test func ofManyWhoWaitFewAreWoken() async throws {
    #expect(QueueWord([]) == nil)
    #expect(QueueWord([""])?.share == 1 && QueueWord([""])?.spread == .zero)
    #expect(QueueWord(["1 3"])?.share == 1)
    #expect(QueueWord(["1 400"])?.share == 0.01 && QueueWord(["1 400"])?.spread == .milliseconds(800))
    #expect(QueueWord(["1 400", "99 400"])?.share == 1)

    // Anybody who may log in may send any notification. At most it causes an extra look, and it hides no other
    // notification.
    let last = "9223372036854775807"
    for nonsense in [
      "a", " ", "1", "-1 5", "1 -5", "0 1", "1 2 3", "1  2", "+1 2", "１ ２", "\u{1F}", "1 1 ",
      "18446744073709551616 a",
      "-\(last) 1", String(repeating: "9", count: 8000) + " 1",
    ] {
      #expect(QueueWord([nonsense]) == nil, "\(nonsense)")
      #expect(QueueWord([nonsense, "1 400"]) == QueueWord(["1 400"]), "\(nonsense)")
    }
    #expect(QueueWord(["\(last) 1", "\(last) 1"])?.share == 1)
    #expect(QueueWord(["1 \(last)"])?.spread == .seconds(2))
    #expect(QueueWord(["1 3", "1 \(last)"]) == QueueWord(["1 3"]))

    let bench = try await Bench()
    for _ in 0..<20 { _ = try bench.worker() }
    let (called, spared) = (
      QueueListener(bench.queue, chance: { 0 }), QueueListener(bench.queue, chance: { 0.9 })
    )
    for listener in [called, spared] {
      while !listener.isListening { listener.wait(atMost: .milliseconds(10), until: { false }) }
    }
    _ = try bench.enqueue(["a"])
    #expect(called.wait(atMost: .seconds(600), until: { false }))
    #expect(!spared.wait(atMost: .milliseconds(50), until: { false }))
    _ = try bench.enqueue((0..<20).map { "b\($0)" })
    #expect(spared.wait(atMost: .seconds(600), until: { false }))
  }

  @Test func aServerWithoutConnectionsIsNotAskedAllTheTime() async throws {
    let bench = try await Bench()
    let tries = Mutex(0)
    let listener = QueueListener(
      bench.queue, chance: { 0 },
      connect: { pool in
        let number = tries.withLock { tries in
          tries += 1
          return tries
        }
        if number < 3 { throw PostgresError(.unexpected, "too many connections") }
        return try pool.connect(for: .steps)
      })
    let start = ContinuousClock.now
    listener.wait(atMost: .milliseconds(100), slice: .milliseconds(1), until: { false })
    #expect(tries.withLock { $0 } == 1 || .now - start > .seconds(1))
    #expect(!listener.isListening)
    // The notifications that came meanwhile were lost.
    #expect(listener.wait(atMost: .seconds(600), slice: .milliseconds(1), until: { false }))
    #expect(tries.withLock { $0 } == 3 && listener.isListening && .now - start >= .seconds(3))
  }

  @Test func anybodysNotificationCausesALookAtMost() async throws {
    let bench = try await Bench()
    let listener = QueueListener(bench.queue, chance: { 0 })
    listener.wait(atMost: .milliseconds(1), until: { false })
    let stranger = try bench.pool.connect()
    try stranger.execute(
      """
      BEGIN; SELECT pg_notify('reel_queue', '9223372036854775807 1'), pg_notify('reel_queue', '9223372036854775806 1'),
        pg_notify('reel_queue', repeat('x', 7999)), pg_notify('reel_queue', '-9223372036854775808 9223372036854775807'); COMMIT
      """)
    #expect(listener.wait(atMost: .seconds(600), until: { false }))
    try stranger.execute("NOTIFY reel_queue, 'nonsense'")
    #expect(!listener.wait(atMost: .milliseconds(50), until: { false }))
  }

  @Test func numbersInRowsEndNoWorker() async throws {
    let bench = try await Bench()
    _ = try bench.enqueue(["a", "b"])
    for extreme in [Int64.max, .min, Int64(Int32.max) + 1] {
      try bench.pool.transaction { tx in
        try tx.run(
          """
          UPDATE reel.work SET state = 0, worker = NULL, due_at = NULL, deaths = $1, failures = $1, priority = $1,
            changed_at = $1, attempts = $1
          """, [.int(extreme)])
        try tx.run("UPDATE reel.item SET size = $1, enqueued_at = $1", [.int(max(0, extreme))])
        try tx.run("UPDATE reel.worker SET started_at = $1, finished = $1, failed = $1", [.int(extreme)])
      }
      let worker = try bench.worker()
      try bench.pool.transaction { tx in
        try tx.run("UPDATE reel.worker SET finished = $1, failed = $1", [.int(extreme)])
      }
      // Suspects are taken one at a time.
      for ending in [ItemOutcome.Ending.givenBack, .failedForNow(code: "denied", message: "no")] {
        for item in try worker.take(upTo: 1) { try worker.finish([ItemOutcome(item.id, ending)]) }
      }
      _ = try WorkQueue.status(bench.pool)
      // Another worker dies with an item in hand.
      let victim = try bench.worker()
      try victim.begin(try victim.take(upTo: 1).map(\.id))
      for lease in [Int64.max, .min, 0] {
        try bench.change("deaths = \(extreme)", table: "work")
        try bench.change("lease = \(lease), lease_until = \(min(extreme, -2))")
        try worker.renew()
        _ = try worker.freeWhatIsDue()
      }
      try worker.retire()
    }
  }

  @Test func aStateThatIsThereAgainIsNew() async throws {
    let bench = try await Bench()
    let (first, second) = (bench.item("a", version: "A"), bench.item("a", version: "B"))
    #expect(try bench.queue.enqueue([first]).new == 1)
    let worker = try bench.worker()
    let taken = try worker.take(upTo: 1)
    // Version B had replaced the file.
    try worker.finish(
      taken.map { ItemOutcome($0.id, .failed(code: "sourceChanged", message: "it has changed")) })
    #expect(try bench.queue.enqueue([second]).new == 1)
    try worker.finish(try worker.take(upTo: 1).map { ItemOutcome($0.id, .done) })
    // The file is version A again.
    let foreseen = try bench.queue.wouldEnqueue([first, second])
    #expect(try bench.queue.enqueue([first, second]) == foreseen && foreseen.new == 1)
    #expect(try names(worker.take(upTo: 2)) == ["a"])
    #expect(try bench.queue.enqueue([first, second]).known == 2)
  }

  @Test func whoWasCutOffHimselfAccusesNobody() async throws {
    let bench = try await Bench()
    _ = try bench.enqueue(["a", "b"])
    let passed = Mutex(Duration.zero)
    let judge = try QueueWorker(
      bench.queue, host: "host", destination: "file:///media",
      clock: { .now + passed.withLock { $0 } })
    let other = try bench.worker()
    try other.begin(try other.take(upTo: 1).map(\.id))
    // The database stood still for longer than a lease, and both workers were silent.
    try bench.killAll()
    passed.withLock { $0 = .seconds(300) }
    try judge.renew()
    #expect(try judge.freeWhatIsDue() == 1)
    #expect(try bench.deaths() == [0, 0])
    // Long after that, a death counts like any other.
    let victim = try bench.worker()
    let taken = try victim.take(upTo: 2)
    try victim.begin([taken[0].id])
    for _ in 0..<4 {
      passed.withLock { $0 += .seconds(40) }
      try judge.renew()
    }
    try bench.change("lease = 0, lease_until = \(PostgresSchema.now) - 1")
    try judge.renew()
    #expect(try judge.freeWhatIsDue() == 2)
    #expect(try bench.deaths() == [1, 0])
  }

  @Test(.enabled(if: PostgresServer.hasBouncer, PostgresServer.bouncerAbsence))
  func aPoolerThatPassesNothingOnIsNoticed() async throws {
    let database = try await TestDatabase()
    let bouncer = try await database.server.startBouncer()
    let told = Mutex(0)
    let direct = QueueListener(try WorkQueue(try database.pool()), onPooler: { told.withLock { $0 += 1 } })
    // Once is enough, however slow the machine is.
    var looks = 0
    direct.wait(atMost: .seconds(600)) {
      looks += 1
      return looks > 1
    }
    #expect(told.withLock { $0 } == 0)
    let pooled = QueueListener(
      try WorkQueue(try database.pool(port: bouncer.port)), onPooler: { told.withLock { $0 += 1 } })
    #expect(!pooled.wait(atMost: .seconds(600)) { told.withLock { $0 } > 0 })
    for _ in 0..<3 { #expect(!pooled.wait(atMost: .milliseconds(5), until: { false })) }
    #expect(told.withLock { $0 } == 1)
    // The bouncer ends with the process.
    withExtendedLifetime(bouncer) {}
  }

  @Test func whoWaitsIsWokenByWhatIsEnqueued() async throws {
    let bench = try await Bench()
    let listener = QueueListener(bench.queue)
    // The first wait only starts listening.
    listener.wait(atMost: .milliseconds(1), until: { false })
    _ = try bench.enqueue(["a"])
    #expect(listener.wait(atMost: .seconds(600), until: { false }))
    // It can also be stopped.
    listener.wait(atMost: .seconds(600), until: { true })
  }

  @Test func whatIsDoneIsForgottenByAge() async throws {
    let bench = try await Bench()
    _ = try bench.enqueue(["a", "b"])
    let worker = try bench.worker()
    try worker.finish(try worker.take(upTo: 1).map { ItemOutcome($0.id, .done) })
    #expect(try bench.queue.prune(states: [.done], endedBefore: .seconds(3600)) == 0)
    #expect(try bench.queue.prune(states: [.done], endedBefore: .seconds(-1)) == 1)
    #expect(try bench.states() == ["b": 0])
    #expect(try bench.enqueue(["a", "b"]).new == 1)
  }

  @Test func manyAtOnceTakeEachItemOnce() async throws {
    let bench = try await Bench()
    let most = 400
    _ = try bench.enqueue((0..<most).map { "item-\($0)" })
    let taken = try await withThrowingTaskGroup(of: [Int64].self) { group in
      for _ in 0..<4 {
        let worker = try bench.worker()
        group.addTask {
          try await Task.detached {
            var mine: [Int64] = []
            while true {
              let items = try worker.take(upTo: 7)
              if items.isEmpty { return mine }
              mine += items.map(\.id)
              try worker.finish(items.map { ItemOutcome($0.id, .done) })
            }
          }.value
        }
      }
      return try await group.reduce(into: []) { $0 += $1 }
    }
    #expect(taken.count == most && Set(taken).count == most)
    #expect(try bench.states().values.allSatisfy { $0 == 3 })
  }
}
