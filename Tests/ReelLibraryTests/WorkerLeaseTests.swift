import ReelCore
import ReelTestServers
import ReelTestSupport
import Testing

@testable import ReelPostgres

/// A process of `reel work` has a single lease, so the queue and the catalog can't disagree about whether it is alive.
@Suite(.besidePostgres) struct WorkerLeaseTests {
  private let sketch = Sketch()

  private func worker(_ catalog: PostgresCatalog) throws -> QueueWorker {
    try QueueWorker(catalog, host: "host", destination: "file:///media")
  }

  @Test func aWorkerThatIsDeadInTheQueueIsDeadInTheCatalogWheneverItComesBack() async throws {
    let stage = try await PostgresStage()
    let (late, other) = (try await stage.openPostgres(), try await stage.openPostgres())
    _ = try late.workQueue().enqueue([NewItem(address: SourcePath("/a"), version: "1", size: 1)])
    let (lateWorker, otherWorker) = (try worker(late), try worker(other))
    let publication = sketch.publication()
    let item = try #require(try lateWorker.take(upTo: 1).first)
    let intent = try #require(try await late.claim(sketch.request(publication)).intent)
    #expect(try otherWorker.take(upTo: 1).isEmpty)
    #expect(try await other.claim(sketch.request(publication)).isHeld)

    try await late.die()
    #expect(try otherWorker.freeWhatIsDue() == 1)
    // It resumes, and learns that it holds nothing anymore, even before another worker has taken its items.
    #expect(try lateWorker.renew() == false)
    #expect(lateWorker.held.isEmpty)
    #expect(try otherWorker.take(upTo: 1).map(\.id) == [item.id])
    let again = try #require(try await other.claim(sketch.request(publication)).intent)
    #expect(again.id == intent.id && again.attempt == intent.attempt + 1)
    await expect(.leaseLost) {
      _ = try await late.complete(intent, draft: sketch.draft(), stored: sketch.stored(intent))
    }
    _ = try await other.complete(again, draft: sketch.draft(), stored: sketch.stored(again))
    try lateWorker.finish([ItemOutcome(item.id, .failed(code: "corrupt", message: "late"))])
    try otherWorker.finish([ItemOutcome(item.id, .done)])
    #expect(try WorkQueue.status(try stage.database.pool())?.items == [.done: 1])
    // It continues as a new worker.
    _ = try late.workQueue().enqueue([NewItem(address: SourcePath("/b"), version: "1", size: 1)])
    #expect(try lateWorker.take(upTo: 1).count == 1)
    #expect(try await late.claim(sketch.request(sketch.publication())).intent != nil)
  }

  /// The server receives the first attempt to register the worker only after the second has succeeded and items are
  /// taken.
  @Test func aWorkerThatIsWrittenDownLateStrikesOutNoOther() async throws {
    let database = try await TestDatabase()
    let (proxy, direct) = (try CuttingProxy(to: database.server.port), try database.pool())
    let catalog = try await PostgresCatalog.open(
      try database.pool(port: proxy.port), lease: .seconds(3600), heartbeat: .seconds(86_400), host: nil)
    _ = try catalog.workQueue().enqueue([NewItem(address: SourcePath("/a"), version: "1", size: 1)])
    proxy.arm(.late)
    let worker = try worker(catalog)
    #expect(proxy.cuts == 1)
    let item = try #require(try worker.take(upTo: 1).first)
    #expect(proxy.release())
    let isHeard = try await eventually {
      try direct.read {
        try $0.value(
          "SELECT (SELECT count(*) FROM reel.worker) = 2 OR EXISTS (SELECT FROM reel.work WHERE NOT worker IN (SELECT id FROM reel.worker))",
          as: Bool.self) == true
      }
    }
    #expect(isHeard)
    #expect(try worker.renew() && worker.held == [item.id])
    try worker.finish([ItemOutcome(item.id, .done)])
    #expect(try WorkQueue.status(direct)?.items == [.done: 1])
    try await catalog.close()
  }

  @Test func oneSignOfLifeIsForBoth() async throws {
    let stage = try await PostgresStage()
    let catalog = try await stage.openPostgres(heartbeat: .milliseconds(10))
    let worker = try worker(catalog)
    let db = try stage.database.connect()
    for _ in 0..<3 {
      try db.execute("UPDATE reel.owner SET lease_until = 0; UPDATE reel.worker SET lease_until = 0")
      // One statement writes both, so there is no moment between them.
      let isRenewed = try await eventually {
        try db.value(
          """
          SELECT bool_and(owner.lease_until > 0 AND abs(owner.lease_until - worker.lease_until) <= 1000)
          FROM reel.worker JOIN reel.owner ON worker.owner = owner.id
          """, as: Bool.self) == true
      }
      #expect(isRenewed)
    }
    withExtendedLifetime(worker) {}
    try await catalog.close()
  }

  @Test func nobodyGivesUpWhatHeHasHimselfBeHisLeaseOverOrNot() async throws {
    let stage = try await PostgresStage()
    let catalog = try await stage.openPostgres()
    let begun = try #require(try await catalog.claim(sketch.request(sketch.publication())).intent)
    try stage.database.connect().execute("UPDATE reel.owner SET lease_until = 0")
    #expect(try await !catalog.giveUp(begun.id))
    try await catalog.close()
  }

  @Test func whoClosesTheCatalogGivesBackItsItems() async throws {
    let stage = try await PostgresStage()
    let (first, second) = (try await stage.openPostgres(), try await stage.openPostgres())
    let items = ["/a", "/b"].map { NewItem(address: SourcePath($0), version: "1", size: 1) }
    _ = try first.workQueue().enqueue(items)
    let (one, other) = (try worker(first), try worker(second))
    #expect(try one.take(upTo: 2).count == 2)
    try await first.close()
    let taken = try other.take(upTo: 2)
    #expect(taken.count == 2 && taken.allSatisfy { $0.deaths == 0 })
    #expect(try WorkQueue.status(try stage.database.pool())?.workers.count == 1)
  }
}
