import Foundation
import ReelCore
import ReelTestServers
import ReelTestSupport
import Testing

@testable import ReelPostgres

/// An operator's commands on the queue, and the wishes of items.
@Suite(.besidePostgres, .shortTime) struct SteeringTests {
  private struct Bench {
    let database: TestDatabase
    let pool: PostgresPool
    let queue: WorkQueue

    init() async throws {
      database = try await TestDatabase()
      pool = try database.pool()
      queue = try WorkQueue(pool)
    }

    func worker(
      _ serving: QueueWorker.Serving = QueueWorker.Serving(), to destination: String = "file:///media"
    ) throws -> QueueWorker {
      var settings = QueueWorker.Settings()
      settings.pause = .zero
      return try QueueWorker(
        queue, host: "host", destination: destination, serving: serving, settings: settings)
    }

    @discardableResult
    func enqueue(
      _ names: [String], priority: Int = 0, _ wishes: ItemWishes = ItemWishes(), at time: Date? = nil
    ) throws -> WorkQueue.Enqueued {
      try queue.enqueue(
        names.map { NewItem(address: SourcePath("/uploads/\($0)"), version: "1", size: 7) },
        priority: priority, wishes: wishes, at: time)
    }

    func items(_ filter: ItemFilter = ItemFilter()) throws -> [QueuedItem] {
      try queue.items(filter, upTo: 1000)
    }

    func states() throws -> [String: ItemState] {
      Dictionary(
        try items().map { ($0.address.lastComponent.text, $0.state) }, uniquingKeysWith: { $1 })
    }
  }

  private func names(_ items: [TakenItem]) -> [String] {
    items.map { $0.address.lastComponent.text }
  }

  private func filter(_ change: (inout ItemFilter) -> Void) -> ItemFilter {
    var filter = ItemFilter()
    change(&filter)
    return filter
  }

  // MARK: Wishes of items

  @Test func whoHasSomethingElseOfItsOwnTakesNothing() async throws {
    let bench = try await Bench()
    try bench.enqueue(["any"])
    try bench.enqueue(["store"], ItemWishes(destination: "s3://a"))
    try bench.enqueue(["policy"], ItemWishes(policy: "web"))
    try bench.enqueue(["author"], ItemWishes(author: "ada"))
    try bench.enqueue(["label"], ItemWishes(label: "acme"))
    func takes(_ serving: QueueWorker.Serving, to destination: String = "s3://b") throws -> Set<String> {
      let worker = try bench.worker(serving, to: destination)
      let taken = try worker.take(upTo: 10)
      #expect(try worker.isQueueEmpty() == taken.isEmpty)
      try worker.finish(taken.map { ItemOutcome($0.id, .givenBack) })
      try worker.retire()
      return Set(names(taken))
    }
    #expect(try takes(.init()) == ["any", "policy", "author", "label"])
    #expect(try takes(.init(), to: "s3://a") == ["any", "store", "policy", "author", "label"])
    #expect(try takes(.init(policy: "vertical")) == ["any", "author", "label"])
    #expect(try takes(.init(policy: "web")) == ["any", "policy", "author", "label"])
    #expect(try takes(.init(labels: ["acme", "other"])) == ["label"])
    #expect(try takes(.init(labels: ["other"])) == [])
  }

  @Test func forAnotherStoreOrAuthorItIsAnotherItem() async throws {
    let bench = try await Bench()
    #expect(try bench.enqueue(["a"]).new == 1)
    #expect(try bench.enqueue(["a"], ItemWishes(destination: "s3://a")).new == 1)
    #expect(try bench.enqueue(["a"], ItemWishes(destination: "s3://a", author: "ada")).new == 1)
    #expect(try bench.enqueue(["a"], ItemWishes(label: "acme")).known == 1)
    #expect(try bench.enqueue(["a"], ItemWishes(destination: "s3://a")).known == 1)
  }

  @Test func aRefusalIsThatOfThePolicyThatDecided() async throws {
    let bench = try await Bench()
    try bench.enqueue(["a", "b"])
    let wrong = try bench.worker(.init(policy: "vertical"))
    try wrong.finish(
      try wrong.take(upTo: 1).map { ItemOutcome($0.id, .refused(code: "policy", message: "too wide")) })
    #expect(try bench.items().map(\.decidedBy) == ["vertical", nil])
    // Neither enqueuing the same again nor a dry run changes anything.
    #expect(try bench.enqueue(["a", "b"]).known == 2)
    #expect(try bench.enqueue(["a", "b"], ItemWishes(policy: "vertical")).known == 2)
    let asked = ItemWishes(policy: "web")
    let items = ["a", "b"].map { NewItem(address: SourcePath("/uploads/\($0)"), version: "1", size: 7) }
    #expect(try bench.queue.wouldEnqueue(items, wishes: asked).new == 1)
    #expect(try bench.states() == ["a": .refused, "b": .waiting])
    #expect(try bench.enqueue(["a", "b"], asked).new == 1)
    #expect(try bench.items().map(\.wishes.policy) == ["web", "web"])
    #expect(try wrong.take(upTo: 2).isEmpty)
    #expect(names(try bench.worker().take(upTo: 2)) == ["a", "b"])
  }

  @Test func anotherPolicyChangesNothingElseThatIsAsked() async throws {
    let bench = try await Bench()
    try bench.enqueue(["a", "b"], ItemWishes(label: "acme", destination: "s3://a"))
    let worker = try bench.worker(.init(policy: "vertical"), to: "s3://a")
    try worker.finish(
      try worker.take(upTo: 1).map { ItemOutcome($0.id, .refused(code: "policy", message: "too wide")) })
    // An older Reel refused it without recording a policy.
    try bench.pool.transaction { try $0.run("UPDATE reel.work SET policy = NULL WHERE state = 4") }
    #expect(try bench.enqueue(["a", "b"], ItemWishes(destination: "s3://a", policy: "web")).new == 1)
    #expect(
      try bench.items().map(\.wishes)
        == Array(repeating: ItemWishes(label: "acme", destination: "s3://a", policy: "web"), count: 2))
  }

  @Test func whatNoWorkerMayTakeIsTold() async throws {
    let bench = try await Bench()
    try bench.enqueue(["a"], ItemWishes(destination: "s3://a"))
    try bench.enqueue(["b", "c"], ItemWishes(label: "acme"))
    try bench.enqueue(["d"])
    let worker = try bench.worker(.init(labels: ["acme"]))
    func unserved() throws -> [Int] { try WorkQueue.status(bench.pool)?.unserved.map(\.count) ?? [] }
    #expect(try unserved() == [1, 1])
    let other = try bench.worker(to: "s3://a")
    #expect(try unserved() == [])
    try worker.retire()
    try other.retire()
    // Without any worker, nothing is reported as unserved.
    #expect(try unserved() == [])
  }

  @Test func manyAreSteeredAFewThousandAtATime() async throws {
    let bench = try await Bench()
    try bench.enqueue((0..<12_001).map(String.init), ItemWishes(label: "flood"))
    #expect(try bench.queue.steer(.priority(-1), filter { $0.labels = ["flood"] }) == 12_001)
    #expect(try bench.queue.steer(.cancel, filter { $0.states = [.waiting] }) == 12_001)
    #expect(try bench.queue.steer(.retry, filter { $0.labels = ["flood"] }) == 12_001)
    #expect(try WorkQueue.status(bench.pool)?.items == [.waiting: 12_001])
    #expect(
      try bench.pool.read { try $0.value("SELECT count(*) FROM reel.item_history", as: Int.self) } == 36_003)
  }

  @Test func whoGivesACancelledItemBackEndsIt() async throws {
    let bench = try await Bench()
    try bench.enqueue(["a"])
    let taken = try bench.worker().take(upTo: 1)
    #expect(try bench.queue.steer(.cancel, filter { $0.items = taken.map(\.id) }) == 1)
    // An older Reel puts items back in this way.
    try bench.pool.transaction { try $0.run("UPDATE reel.work SET state = 0, worker = NULL") }
    #expect(try bench.states() == ["a": .cancelled])
    #expect(try bench.queue.steer(.retry, filter { $0.states = [.cancelled] }) == 1)
    #expect(try bench.states() == ["a": .waiting])
  }

  @Test func aLaneThatNobodyUsesIsForgotten() async throws {
    let bench = try await Bench()
    try bench.enqueue(["a"], ItemWishes(label: "old"))
    try bench.enqueue(["b"], ItemWishes(label: "new"))
    let worker = try bench.worker()
    try worker.finish(
      try worker.take(upTo: 9).filter { $0.label == "old" }.map { ItemOutcome($0.id, .done) })
    #expect(try bench.queue.prune(states: [.done], endedBefore: .seconds(-1)) == 1)
    func labels() throws -> [String] {
      try bench.pool.read { try $0.rows("SELECT label FROM reel.lane ORDER BY label") { try $0[0] } }
    }
    #expect(try labels() == ["", "new"])
    try bench.enqueue(["c"], ItemWishes(label: "old"))
    #expect(try labels() == ["", "new", "old"])
  }

  @Test func anOlderWorkerAndALabelSeeEachOther() async throws {
    let bench = try await Bench()
    let old = try bench.database.connect()
    // A transaction that has begun but is not visible yet.
    try old.execute(
      "BEGIN; INSERT INTO reel.worker (host, pid, destination, started_at, lease_until) VALUES ('old', 1, 'file:///x', 0, 9e14)"
    )
    let labelled = Aside { try bench.enqueue(["a"], ItemWishes(label: "acme")).new }
    let db = try bench.database.connect()
    try db.wait(
      until: """
        EXISTS (SELECT FROM pg_locks WHERE locktype = 'advisory' AND NOT granted
          AND database = (SELECT oid FROM pg_database WHERE datname = current_database()))
        """)
    try old.execute("COMMIT")
    #expect(try labelled.value() == 1)
    #expect(try db.value("SELECT count(*) FROM reel.worker WHERE knows IS NULL", as: Int.self) == 0)
  }

  /// A worker that dies right after it has finished an item has recorded nothing else.
  @Test func anItemThatIsDoneHasItsEventDelivered() async throws {
    let bench = try await Bench()
    let db = try bench.database.connect()
    try db.execute("INSERT INTO reel.outbox (page_number, owner) VALUES (7, 99), (8, 99)")
    try bench.enqueue(["a"])
    let worker = try bench.worker()
    try worker.finish(try worker.take(upTo: 1).map { ItemOutcome($0.id, .done) }, delivered: [7])
    #expect(try db.rows("SELECT page_number FROM reel.outbox") { try $0[0] as Int64 } == [8])
    #expect(try WorkQueue.status(bench.pool)?.undelivered == 1)
  }

  @Test func whoFindsTheMostUrgentTakenTakesWhatElseWaits() async throws {
    let bench = try await Bench()
    try bench.enqueue(["urgent-0", "urgent-1"], priority: 5, ItemWishes(label: "urgent"))
    try bench.enqueue((0..<20).map { "bulk-\($0)" }, ItemWishes(label: "bulk"))
    // Another worker's take that is not committed yet.
    let other = try bench.database.connect()
    try other.execute("BEGIN; SELECT FROM reel.work WHERE priority = 5 FOR UPDATE")
    #expect(names(try bench.worker().take(upTo: 2)) == ["bulk-0", "bulk-1"])
    try other.execute("ROLLBACK")
    #expect(Set(names(try bench.worker().take(upTo: 2))) == ["urgent-0", "urgent-1"])
  }

  /// Each worker takes as many as it has room for, and locks no more.
  @Test func whoTakesOfManyLabelsLeavesTheRestToOthers() async throws {
    let bench = try await Bench()
    try bench.enqueue(["urgent-0", "urgent-1"], priority: 5, ItemWishes(label: "urgent"))
    for label in 0..<40 { try bench.enqueue(["one-of-\(label)"], ItemWishes(label: "label-\(label)")) }
    let other = try bench.database.connect()
    try other.execute("BEGIN; SELECT FROM reel.work WHERE priority = 5 FOR UPDATE")
    // The first worker to take blocks in the middle of it.
    let third = try bench.database.connect()
    try third.execute(
      """
      CREATE FUNCTION reel.wait_for_test() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        IF pg_try_advisory_xact_lock(4712) THEN PERFORM pg_advisory_xact_lock(4711); END IF;
        RETURN NEW;
      END $$;
      CREATE TRIGGER wait_for_test BEFORE UPDATE ON reel.work
        FOR EACH ROW WHEN (NEW.state = 1) EXECUTE FUNCTION reel.wait_for_test()
      """)
    try third.execute("BEGIN; SELECT pg_advisory_xact_lock(4711)")
    let (first, second) = (try bench.worker(), try bench.worker())
    let taking = Aside { try first.take(upTo: 2) }
    try bench.database.connect().wait(
      until: """
        EXISTS (SELECT FROM pg_locks WHERE locktype = 'advisory' AND NOT granted
          AND database = (SELECT oid FROM pg_database WHERE datname = current_database()))
        """)
    let taken = try second.take(upTo: 2)
    #expect(taken.count == 2)
    try third.execute("COMMIT")
    #expect(try taking.value().count == 2)
    try other.execute("ROLLBACK")
  }

  /// While a command waits, another operator's transaction deletes the row that the command has read.
  @Test func aCommandBesideAnotherOperatorsIsNotLost() async throws {
    let bench = try await Bench()
    let queue = bench.queue
    let cases: [(before: () throws -> Void, command: @Sendable () throws -> Void, after: (Bool, Int64?))] = [
      ({ try queue.pause("acme") }, { try queue.limit("acme", to: 8) }, (false, 8)),
      ({ try queue.limit("acme", to: 3) }, { try queue.pause("acme") }, (true, nil)),
    ]
    for (before, command, after) in cases {
      try before()
      let other = try bench.database.connect()
      try other.execute("BEGIN; SELECT FROM reel.throttle WHERE label = 'acme' FOR UPDATE")
      let commanding = Aside { try command() }
      try bench.database.connect().wait(
        until: """
          EXISTS (SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock')
          """)
      try other.execute("DELETE FROM reel.throttle WHERE label = 'acme'; COMMIT")
      try commanding.value()
      let held = try queue.throttles()
      #expect(held.map(\.label) == ["acme"] && held.map(\.most) == [after.1])
      #expect(held.map { $0.pausedSince != nil } == [after.0])
      try queue.limit("acme", to: nil)
      try queue.resume("acme")
      #expect(try queue.throttles().isEmpty)
    }
  }

  @Test func whatIsInQuestionIsNextHoweverManyLabelsWait() async throws {
    let bench = try await Bench()
    for label in 0..<40 {
      try bench.enqueue((0..<20).map { "\(label)-\($0)" }, ItemWishes(label: "label-\(label)"))
    }
    // A worker has died with this item alone in hand.
    try bench.pool.transaction {
      try $0.run(
        "UPDATE reel.work SET deaths = 1 FROM reel.item WHERE item.id = work.item AND address = '/uploads/17-0'::bytea"
      )
    }
    let worker = try bench.worker()
    while true {
      let items = try worker.take(upTo: 16)
      if items.contains(where: { $0.deaths > 0 }) {
        #expect(names(items) == ["17-0"])
        break
      }
      // Once a worker has come across it, it is next: no other item is taken alone instead.
      try #require(items.count >= 15)
      try worker.finish(items.map { ItemOutcome($0.id, .done) })
    }
  }

  @Test func aLaneIsNotRemovedUnderWhoUsesIt() async throws {
    let bench = try await Bench()
    try bench.enqueue(["a"], ItemWishes(label: "acme"))
    let worker = try bench.worker()
    try worker.finish(try worker.take(upTo: 1).map { ItemOutcome($0.id, .done) })
    let (old, now) = (try bench.database.connect(), try bench.database.connect())
    try old.execute("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1")
    // As long as a transaction that enqueues is open, no lane is removed.
    try now.execute("BEGIN; SELECT reel.enqueue('/uploads/b', label => 'other')")
    #expect(try bench.queue.prune(states: [.done], endedBefore: .seconds(-1)) == 1)
    try now.execute("COMMIT")
    #expect(try now.value("SELECT count(*) FROM reel.lane WHERE label = 'acme'", as: Int.self) == 1)
    #expect(try bench.queue.prune(states: [.done], endedBefore: .seconds(-1)) == 0)
    #expect(try now.value("SELECT count(*) FROM reel.lane WHERE label = 'acme'", as: Int.self) == 0)
    // In a snapshot that still has the lane, it would be used, and the item never taken.
    let refusal = #expect(throws: PostgresError.self) {
      try old.execute("SELECT reel.enqueue('/uploads/c', label => 'acme')")
    }
    #expect(refusal?.state == "40001")
    try old.execute("ROLLBACK")
    #expect(
      try now.value(
        "SELECT count(*) FROM reel.work WHERE NOT EXISTS (SELECT FROM reel.lane WHERE lane.id = work.lane)",
        as: Int.self) == 0)
  }

  @Test func whatIsAPostAfterARetryIsNoFailureAnyMore() async throws {
    let bench = try await Bench()
    try bench.enqueue(["a"])
    let worker = try bench.worker()
    func failures() throws -> Int? {
      try bench.pool.read { try $0.value("SELECT count(*) FROM reel.failure", as: Int.self) }
    }
    try worker.finish(try worker.take(upTo: 1).map { ItemOutcome($0.id, .failed(code: "x", message: "y")) })
    #expect(try failures() == 1)
    #expect(try bench.queue.steer(.retry, filter { $0.states = [.failed] }) == 1)
    try worker.finish(try worker.take(upTo: 1).map { ItemOutcome($0.id, .done) })
    #expect(try failures() == 0)
  }

  @Test func whatWasCancelledComesBackOnlyWhereItIsMeant() async throws {
    let bench = try await Bench()
    try bench.enqueue(["refused", "overwritten"])
    let worker = try bench.worker()
    let taken = try worker.take(upTo: 2)
    #expect(try bench.queue.steer(.cancel, filter { $0.items = taken.map(\.id) }) == 2)
    try worker.finish([
      ItemOutcome(taken[0].id, .refused(code: "policy", message: "")),
      ItemOutcome(taken[1].id, .failed(code: "sourceChanged", message: "")),
    ])
    #expect(try bench.enqueue(["refused", "overwritten"], ItemWishes(policy: "web")).known == 2)
    #expect(try bench.queue.steer(.retry, filter { $0.areCancelled = false }) == 0)
    #expect(try bench.states() == ["refused": .refused, "overwritten": .failed])
    #expect(try bench.queue.steer(.retry, filter { $0.items = [taken[0].id] }) == 1)
    #expect(try bench.states()["refused"] == .waiting)
  }

  @Test func whatEndsUnderALimitWakesTheOthers() async throws {
    let bench = try await Bench()
    try bench.enqueue(["a", "b"])
    try bench.queue.limit(nil, to: 1)
    let worker = try bench.worker()
    let taken = try worker.take(upTo: 2)
    #expect(taken.count == 1)
    let hearing = try bench.database.connect()
    try hearing.execute("LISTEN \(WorkQueue.channel)")
    try worker.finish(taken.map { ItemOutcome($0.id, .done) })
    #expect(try hearing.notifications(waiting: .seconds(60)).count == 1)
  }

  @Test func whatIsForLaterIsTakenLater() async throws {
    let bench = try await Bench()
    try bench.enqueue(["later"], at: Date(timeIntervalSinceNow: 3600))
    try bench.enqueue(["now"], at: Date(timeIntervalSinceNow: -3600))
    let worker = try bench.worker()
    try worker.freeWhatIsDue()
    let taken = try worker.take(upTo: 2)
    #expect(names(taken) == ["now"])
    try worker.finish(taken.map { ItemOutcome($0.id, .done) })
    // A worker does not wait an hour for it.
    #expect(try worker.isQueueEmpty())
    try bench.pool.transaction { try $0.run("UPDATE reel.work SET due_at = 1 WHERE state = 2") }
    #expect(try !worker.isQueueEmpty())
    try worker.freeWhatIsDue()
    #expect(names(try worker.take(upTo: 2)) == ["later"])
  }

  // MARK: Turns, pauses and limits

  @Test func labelsTakeTurnsAtEqualPriority() async throws {
    let bench = try await Bench()
    try bench.enqueue((0..<100).map { "flood-\($0)" }, ItemWishes(label: "flood"))
    try bench.enqueue(["a-0", "a-1"], ItemWishes(label: "a"))
    try bench.enqueue(["b-0", "b-1"], ItemWishes(label: "b", author: "ada"))
    try bench.enqueue(["b-2"], ItemWishes(label: "b", author: "bob"))
    try bench.enqueue(["urgent"], priority: 1, ItemWishes(label: "flood"))
    let worker = try bench.worker()
    let first = Set(names(try worker.take(upTo: 7)))
    #expect(first == ["urgent", "flood-0", "a-0", "b-0", "flood-1", "a-1", "b-1"])
    #expect(Set(names(try bench.worker().take(upTo: 4))) == ["b-2", "flood-2", "flood-3", "flood-4"])
    // Items taken one at a time are shared out, too, on average.
    try bench.enqueue((0..<20).map { "late-\($0)" }, ItemWishes(label: "late"))
    let other = try bench.worker()
    let taken = try (0..<40).flatMap { _ in
      let taken = try other.take(upTo: 1)
      try other.finish(taken.map { ItemOutcome($0.id, .done) })
      return names(taken)
    }
    #expect(taken.count { $0.hasPrefix("late") } > 5 && taken.count { $0.hasPrefix("flood") } > 5)
  }

  /// Priorities come first, then turns. Among items with the same turn, the choice is random.
  @Test func turnsAreTheSameHoweverManyLabelsWait() async throws {
    let bench = try await Bench()
    var random = SplitMix64(seed: 41)
    for round in 0..<30 {
      let labels = Int.random(in: 1...9, using: &random)
      var left: [(name: String, label: Int, priority: Int)] = []
      for number in 0..<24 {
        left.append(
          (
            "\(round)-\(number)", Int.random(in: 0..<labels, using: &random),
            Int.random(in: 0...2, using: &random)
          ))
        let one = left[number]
        try bench.enqueue([one.name], priority: one.priority, ItemWishes(label: "label-\(one.label)"))
      }
      try bench.queue.limit(nil, to: round % 2 == 0 ? nil : 100)
      let worker = try bench.worker()
      while !left.isEmpty {
        var turns: [[Int]: Int] = [:]
        let places = left.map { one in
          turns[[one.label, one.priority], default: 0] += 1
          return (name: one.name, place: [-one.priority, turns[[one.label, one.priority], default: 0]])
        }
        let count = Int.random(in: 1...12, using: &random)
        let taken = Set(names(try worker.take(upTo: count)))
        // A take may return fewer only where it resumes behind the last item at its priority, that is, if there is only
        // one label.
        let isOneLabel = Set(left.map(\.label)).count == 1
        #expect(taken.count == min(count, left.count) || isOneLabel && !taken.isEmpty)
        let last = places.filter { taken.contains($0.name) }.map(\.place).max {
          $0.lexicographicallyPrecedes($1)
        }
        let next = places.filter { !taken.contains($0.name) }.map(\.place).min {
          $0.lexicographicallyPrecedes($1)
        }
        if let next { #expect(try !next.lexicographicallyPrecedes(#require(last))) }
        left.removeAll { taken.contains($0.name) }
      }
      try worker.finish(worker.held.map { ItemOutcome($0, .done) })
    }
  }

  @Test func whatIsPausedIsTakenWhenItGoesOn() async throws {
    let bench = try await Bench()
    try bench.enqueue(["a"], ItemWishes(label: "acme"))
    try bench.enqueue(["b"])
    let worker = try bench.worker()
    let listener = QueueListener(bench.queue)
    try bench.queue.pause("acme")
    #expect(names(try worker.take(upTo: 2)) == ["b"])
    try bench.queue.pause(nil)
    try bench.queue.resume("acme")
    #expect(try worker.take(upTo: 2).isEmpty)
    #expect(try !listener.isAnythingWaiting(for: worker))
    #expect(try !worker.isQueueEmpty())
    #expect(try WorkQueue.status(bench.pool)?.throttles.map(\.label) == [nil])
    try bench.queue.resume(nil)
    #expect(try listener.isAnythingWaiting(for: worker))
    #expect(names(try worker.take(upTo: 2)) == ["a"])
    #expect(try WorkQueue.status(bench.pool)?.throttles.isEmpty == true)
  }

  @Test func noMoreThanTheLimitAreTakenHoweverManyTake() async throws {
    let bench = try await Bench()
    try bench.enqueue((0..<40).map { "a-\($0)" }, ItemWishes(label: "a"))
    try bench.enqueue((0..<40).map { "b-\($0)" }, ItemWishes(label: "b"))
    try bench.queue.limit("a", to: 3)
    try bench.queue.limit(nil, to: 10)
    let workers = try (0..<8).map { _ in try bench.worker() }
    let taken = try await withThrowingTaskGroup { group in
      for worker in workers { group.addTask { try worker.take(upTo: 5) } }
      var all: [TakenItem] = []
      for try await some in group { all += some }
      return all
    }
    #expect(taken.count == 10 && taken.count { $0.label == "a" } <= 3)
    for worker in workers {
      try worker.finish(taken.map { ItemOutcome($0.id, .done) })
    }
    try bench.queue.limit(nil, to: nil)
    let more = try workers[0].take(upTo: 40)
    #expect(more.count { $0.label == "a" } == 3 && more.count > 30)
    try bench.queue.limit("a", to: nil)
    #expect(try workers[1].take(upTo: 80).count == 70 - more.count)
  }

  // MARK: Retrying and cancelling

  @Test func aRetryIsOfWhatIsMeant() async throws {
    let bench = try await Bench()
    try bench.enqueue(["x/a", "x/b", "xy/c"])
    try bench.enqueue(["d"], ItemWishes(label: "acme"))
    let worker = try bench.worker()
    let taken = try worker.take(upTo: 4)
    try worker.finish(
      zip(taken, ["denied", "corrupt", "denied", "denied"]).map {
        ItemOutcome($0.id, .failed(code: $1, message: "no"))
      })
    func count(_ change: (inout ItemFilter) -> Void) throws -> Int { try bench.queue.count(filter(change)) }
    #expect(try count { $0.places = [SourcePath("/uploads/x")] } == 2)
    #expect(try count { $0.places = [SourcePath("/uploads/x/")] } == 2)
    #expect(try count { $0.places = [SourcePath("/uploads/x/b"), SourcePath("/uploads/d")] } == 2)
    #expect(try count { $0.places = [SourcePath("")] } == 0)
    #expect(try count { $0.codes = ["denied"] } == 3)
    #expect(try count { ($0.codes, $0.labels) = (["denied"], [""]) } == 2)
    #expect(try count { $0.since = Date(timeIntervalSinceNow: 60) } == 0)
    #expect(try count { $0.since = Date(timeIntervalSinceNow: -60) } == 4)
    #expect(
      try bench.queue.steer(
        .retry,
        filter {
          $0.codes = ["denied"]; $0.labels = ["acme"]
        }) == 1)
    #expect(
      try bench.queue.steer(
        .retry,
        filter {
          $0.codes = ["denied"]; $0.labels = ["acme"]
        }) == 0)
    #expect(try bench.states() == ["a": .failed, "b": .failed, "c": .failed, "d": .waiting])
    #expect(try bench.items().last?.failures == 0)
    // A finished item can't be retried.
    try worker.finish(try worker.take(upTo: 1).map { ItemOutcome($0.id, .done) })
    #expect(try bench.queue.steer(.retry, filter { $0.states = [.done] }) == 0)
    #expect(try bench.queue.steer(.retry, ItemFilter()) == 3)
  }

  @Test func whatIsCancelledIsNotTakenAgain() async throws {
    let bench = try await Bench()
    try bench.enqueue(["waits", "fails", "ends", "back", "dies"])
    try bench.enqueue(["later"], at: Date(timeIntervalSinceNow: 3600))
    let (worker, dead) = (try bench.worker(), try bench.worker())
    let first = try worker.take(upTo: 4)
    #expect(names(try dead.take(upTo: 1)) == ["dies"])
    try worker.finish([ItemOutcome(first[0].id, .givenBack)])
    #expect(try bench.queue.steer(.cancel, ItemFilter()) == 6)
    #expect(try worker.take(upTo: 10).isEmpty)
    try worker.finish([
      ItemOutcome(first[1].id, .failedForNow(code: "unavailable", message: "busy")),
      ItemOutcome(first[2].id, .done), ItemOutcome(first[3].id, .givenBack),
    ])
    try bench.pool.transaction {
      try $0.run("UPDATE reel.owner SET lease_until = 0 WHERE id = (SELECT max(id) FROM reel.owner)")
    }
    try worker.freeWhatIsDue()
    #expect(
      try bench.states() == [
        "waits": .cancelled, "fails": .cancelled, "ends": .done, "back": .cancelled, "dies": .cancelled,
        "later": .cancelled,
      ])
    #expect(try worker.isQueueEmpty())
    #expect(try bench.enqueue(["waits"]).known == 1)
    #expect(try bench.queue.steer(.retry, filter { $0.states = [.cancelled] }) == 5)
    #expect(try worker.take(upTo: 10).count == 5)
  }

  @Test func priorityCountsFromThenOn() async throws {
    let bench = try await Bench()
    try bench.enqueue(["a", "b", "c"])
    #expect(try bench.queue.steer(.priority(5), filter { $0.places = [SourcePath("/uploads/c")] }) == 1)
    #expect(names(try bench.worker().take(upTo: 1)) == ["c"])
  }

  @Test func theHistoryTellsWhatBecameOfAnItemAndGoesWithIt() async throws {
    let bench = try await Bench()
    try bench.enqueue(["a", "fine"])
    let worker = try bench.worker(.init(policy: "web"))
    let taken = try worker.take(upTo: 2)
    try worker.finish([
      ItemOutcome(taken[0].id, .failedForNow(code: "unavailable", message: "busy")),
      ItemOutcome(taken[1].id, .done),
    ])
    func reasons() throws -> [QueueStatus.Reason] { try WorkQueue.status(bench.pool)?.reasons ?? [] }
    #expect(try reasons().map(\.state) == [.later] && reasons()[0].dueAt == bench.items()[0].dueAt)
    try worker.freeWhatIsDue()
    // The reason stays until the item is taken again.
    #expect(try reasons().map(\.state) == [.waiting] && reasons().map(\.code) == ["unavailable"])
    try worker.finish(
      try worker.take(upTo: 1).map { ItemOutcome($0.id, .refused(code: "policy", message: "too wide")) })
    _ = try bench.queue.steer(.retry, filter { $0.states = [.refused] })
    let history = try bench.queue.history(of: taken[0].id)
    #expect(history.map(\.state) == [.later, .refused, .waiting])
    #expect(history.map(\.code) == ["unavailable", "policy", nil])
    #expect(history.map(\.attempt) == [1, 2, 2])
    #expect(history[0].dueAt != nil && history[1].policy == "web" && history[2].takenBy == nil)
    #expect(history[0].takenBy?.hasPrefix("host, process ") == true && history[0].takenAt != nil)
    // An item that became a post at once has no history.
    #expect(try bench.queue.history(of: taken[1].id).isEmpty)
    try worker.finish(try worker.take(upTo: 1).map { ItemOutcome($0.id, .failed(code: "x", message: "y")) })
    #expect(try bench.queue.prune(states: [.done, .failed], endedBefore: .seconds(60)) == 0)
    #expect(try bench.queue.prune(states: [.failed], endedBefore: .zero, dryRun: true) == 1)
    #expect(try bench.queue.prune(states: [.failed, .waiting], endedBefore: .zero) == 1)
    #expect(try bench.states() == ["fine": .done])
    #expect(try bench.pool.read { try $0.value("SELECT count(*) FROM reel.item_history", as: Int.self) } == 0)
  }

  @Test(arguments: CuttingProxy.Fault.allCases)
  func whatIsForgottenWithoutAnAnswerIsCounted(_ fault: CuttingProxy.Fault) async throws {
    let bench = try await Bench()
    try bench.enqueue(["a", "b", "c"])
    let worker = try bench.worker()
    try worker.finish(try worker.take(upTo: 2).map { ItemOutcome($0.id, .done) })
    let proxy = try CuttingProxy(to: bench.database.server.port)
    let queue = try WorkQueue(try bench.database.pool(port: proxy.port))
    let count = try await proxy.cutting(fault) { try queue.prune(states: [.done], endedBefore: .seconds(-1)) }
    #expect(count == 2)
    #expect(try bench.states() == ["c": .waiting])
  }

  @Test func whatIsPutOffWithoutEndIsRememberedForAWhile() async throws {
    let bench = try await Bench()
    try bench.enqueue(["a"])
    let worker = try bench.worker()
    for _ in 0..<130 {
      try worker.finish(
        try worker.take(upTo: 1).map { ItemOutcome($0.id, .putOff(code: "denied", message: "")) })
      try worker.freeWhatIsDue()
    }
    let history = try bench.queue.history(of: try #require(try bench.items().first).id)
    #expect(history.count == 100 && history.last?.attempt == 130)
  }

  // MARK: Older versions

  @Test func aFilledQueueOfVersion8GoesOn() async throws {
    let database = try await TestDatabase()
    let db = try database.connect()
    try db.execute("CREATE SCHEMA reel; CREATE TABLE reel.schema_version (version bigint NOT NULL)")
    for statements in PostgresSchema.migrations.prefix(8) { try db.execute(statements) }
    try db.execute(
      """
      INSERT INTO reel.schema_version VALUES (8);
      INSERT INTO reel.item (identity, address, version, enqueued_at)
        SELECT sha256(address || '\\x00'::bytea || '1'::bytea), address, '1', 0
        FROM (SELECT ('/uploads/' || n)::bytea AS address FROM generate_series(1, 8) AS n) AS named;
      INSERT INTO reel.worker (host, pid, destination, started_at, lease_until) VALUES ('old', 1, 'file:///media', 0, 9e14);
      INSERT INTO reel.work (item, priority, changed_at, state, worker, due_at, code)
        SELECT id, CASE id WHEN 8 THEN 9 ELSE 0 END, 0, CASE WHEN id > 6 THEN 0 ELSE id END, CASE id WHEN 1 THEN 1 END, CASE id WHEN 2 THEN 1 END,
          CASE WHEN id BETWEEN 4 AND 6 THEN 'x' END FROM reel.item;
      """)
    let pool = try database.pool()
    let queue = try WorkQueue(pool)
    #expect(
      try WorkQueue.status(pool)?.items == [
        .waiting: 2, .taken: 1, .later: 1, .done: 1, .refused: 1, .failed: 1, .setAside: 1,
      ])
    // The older worker continues until an item has a wish that it does not know.
    try db.execute("UPDATE reel.worker SET finished = 1")
    #expect(try queue.enqueue([NewItem(address: SourcePath("/uploads/7"), version: "1", size: 1)]).known == 1)
    let worker = try QueueWorker(queue, host: "host", destination: "file:///media")
    try worker.freeWhatIsDue()
    #expect(names(try worker.take(upTo: 1)) == ["8"])
    #expect(names(try worker.take(upTo: 5)) == ["2", "7"])
    #expect(try db.value("SELECT count(*) FROM reel.worker WHERE knows IS NULL", as: Int.self) == 1)
    // Then other workers get its items, and it learns why it can't continue.
    _ = try queue.enqueue(
      [NewItem(address: SourcePath("/uploads/9"), version: "1", size: 1)],
      wishes: ItemWishes(destination: "s3://a"))
    #expect(names(try worker.take(upTo: 5)) == ["1"])
    let refusal = #expect(throws: PostgresError.self) {
      try db.execute(
        "INSERT INTO reel.worker (host, pid, destination, started_at, lease_until) VALUES ('old', 1, 'file:///media', 0, 9e14)"
      )
    }
    #expect(refusal?.message.contains("does not know: update it") == true)
  }

  // MARK: Apps

  @Test func anAppMayEnqueueAndNothingElse() async throws {
    let bench = try await Bench()
    let role = "app_\(UInt32.random(in: 0 ... .max))"
    let db = try bench.database.connect()
    try db.execute(
      """
      CREATE ROLE \(role) LOGIN; GRANT USAGE ON SCHEMA reel TO \(role);
      GRANT EXECUTE ON FUNCTION reel.enqueue TO \(role); CREATE TABLE public.\(role) (video text);
      GRANT INSERT ON public.\(role) TO \(role); SET ROLE \(role)
      """)
    defer { try? db.execute("RESET ROLE; DROP OWNED BY \(role); DROP ROLE \(role)") }
    func enqueue(_ arguments: String) throws -> Int64? {
      try db.value("SELECT reel.enqueue(\(arguments))", as: Int64.self)
    }
    let first = try #require(try enqueue("'/uploads/a', '1'"))
    #expect(try enqueue("'/uploads/a', version => '1'") == first)
    #expect(try enqueue("'/uploads/a', '1', destination => '', author => ''") == first)
    // The command enqueues the same item.
    #expect(try bench.enqueue(["a"]).known == 1)
    _ = try enqueue(
      "'s3://uploads/b.mp4', 'tag \"x\"', 7, label => 'acme', priority => 3, destination => 's3://a', policy => 'web', author => 'ada'"
    )
    _ = try enqueue("'https://files.example/c.mp4', at => now() + interval '1 hour'")
    #expect(
      try bench.queue.enqueue(
        [NewItem(address: SourcePath("s3://uploads/b.mp4"), version: "tag \"x\"", size: 7)],
        wishes: ItemWishes(destination: "s3://a", author: "ada")
      ).known == 1)
    // In the app's own transaction.
    try db.execute(
      "BEGIN; INSERT INTO public.\(role) VALUES ('d'); SELECT reel.enqueue('/uploads/d'); ROLLBACK")
    let items = try bench.items()
    #expect(items.map(\.state) == [.waiting, .waiting, .later] && items[1].priority == 3)
    #expect(items[1].wishes == ItemWishes(label: "acme", destination: "s3://a", policy: "web", author: "ada"))

    for wrong in [
      "'uploads/a'", "''", "NULL", "'/uploads//a'", "'/uploads/../a'", "'/uploads/./a'", "'/uploads/'", "'/'",
      "'/uploads/..'",
      "'ftp://host/a'", "'https://host/a?signature=1'", "'/a', label => '*'", "'/a', label => NULL",
      "'/a', size => -1",
      "'/a', policy => 'none@0000'", "'https://ada:secret@host/a'", "'s3://key@bucket/a'",
      "'s3://bucket/a?X=1'",
      "'/a', repeat('x', 1001)", "'/a', destination => '/srv/out'", "'/a', destination => 'file:///srv/out/'",
      "'/a', destination => 's3://media/'", "'/a', destination => 's3://' || repeat('x', 1000)",
      "'/a', author => repeat('x', 1001)", "'/a', policy => repeat('x', 201)", "'/a', at => 'infinity'",
    ] {
      let error = #expect(throws: PostgresError.self, "\(wrong)") { _ = try enqueue(wrong) }
      #expect(error?.state == "22023", "\(wrong): \(String(describing: error))")
    }
    let tables = try bench.pool.read { db in
      try db.rows(
        "SELECT relname::text FROM pg_class WHERE relnamespace = 'reel'::regnamespace AND relkind IN ('r', 'S')"
      ) {
        try $0[0] as String
      }
    }
    #expect(tables.count > 25)
    let rights = ["SELECT", "INSERT", "UPDATE", "DELETE", "TRUNCATE", "REFERENCES", "TRIGGER"]
    for table in tables {
      for right in table.hasSuffix("_seq") ? ["SELECT", "UPDATE", "USAGE"] : rights {
        let kind = table.hasSuffix("_seq") ? "sequence" : "table"
        #expect(
          try db.value("SELECT has_\(kind)_privilege('reel.\(table)', '\(right)')", as: Bool.self) == false,
          "\(right) on \(table)")
      }
    }
    for statement in [
      "SELECT reel.lane_of('x', NULL, NULL)", "INSERT INTO reel.item (address) VALUES ('x')",
      "SELECT * FROM reel.work", "CREATE TABLE reel.mine ()", "DELETE FROM reel.worker",
    ] {
      #expect(throws: PostgresError.self, "\(statement)") { try db.execute(statement) }
    }
    // Whatever the caller's search path is, the function uses its own tables.
    try db.execute("CREATE TEMP TABLE item (id bigint); SET search_path = pg_temp, public")
    _ = try enqueue("'/uploads/e'")
    #expect(try bench.items().count == 4)
    #expect(try bench.worker(to: "s3://a").take(upTo: 9).count == 3)
  }
}
