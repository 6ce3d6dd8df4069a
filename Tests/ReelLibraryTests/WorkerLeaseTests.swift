import ReelCore
import ReelTestServers
import ReelTestSupport
import Testing

@testable import ReelPostgres

/// A process of `reel work` has one lease: the queue and the catalog can't disagree about whether it lives.
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
    // It comes back, and is told that it has nothing any more: before anybody has taken what it had.
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
    // And it goes on as somebody new.
    _ = try late.workQueue().enqueue([NewItem(address: SourcePath("/b"), version: "1", size: 1)])
    #expect(try lateWorker.take(upTo: 1).count == 1)
    #expect(try await late.claim(sketch.request(sketch.publication())).intent != nil)
  }

  @Test func oneSignOfLifeIsForBoth() async throws {
    let stage = try await PostgresStage()
    let catalog = try await stage.openPostgres(heartbeat: .milliseconds(10))
    let worker = try worker(catalog)
    let db = try stage.database.connect()
    for _ in 0..<3 {
      try db.execute("UPDATE reel.owner SET lease_until = 0; UPDATE reel.worker SET lease_until = 0")
      let isRenewed = try await comesTrue {
        try db.value("SELECT bool_and(lease_until > 0) FROM reel.owner", as: Bool.self) == true
      }
      #expect(isRenewed)
      // Written by the same statement: there is no moment between the two.
      let ends = try db.row(
        "SELECT owner.lease_until, worker.lease_until FROM reel.worker JOIN reel.owner ON worker.owner = owner.id"
      ) { (owner: try $0[0] as Int, worker: try $0[1] as Int) }
      #expect(abs((ends?.owner ?? 0) - (ends?.worker ?? -9)) <= 1000)
    }
    withExtendedLifetime(worker) {}
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
