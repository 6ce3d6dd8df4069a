import Foundation
import ReelCore
import ReelPostgres
import ReelTestServers
import ReelTestSupport
import Testing

/// What an item costs the database, with few and with many in the queue: a million in the long form.
@Suite(.besidePostgres, .notQuick) struct QueueCostTests {
  @Test(.shortTime) func anItemCostsTheSameWhateverTheQueueHolds() async throws {
    let few = 2_000
    let many = TestForm.isLong ? 1_000_000 : 10_000
    let pool = try await TestDatabase().pool()
    let queue = try WorkQueue(pool)
    let worker = try QueueWorker(queue, host: "host", destination: "file:///media")
    var cost = Cost(queue: queue, worker: worker)
    let early = try cost.enqueue(few)
    let earlyWork = try cost.work(few)
    var late = early
    while cost.enqueued < many { late = try cost.enqueue(few) }
    // As autovacuum does within a minute.
    try pool.withConnection { try $0.execute("VACUUM ANALYZE reel.item, reel.work") }
    var lateWork = try cost.work(few)
    if TestForm.isLong {
      while cost.worked < many - few { lateWork = try cost.work(few) }
    }
    print(
      "ms an item: enqueued \(early) early, \(late) late; taken and finished \(earlyWork) early, \(lateWork) late"
    )
    #expect(earlyWork <= 1 && lateWork <= 1)
    if TestForm.isLong { #expect(lateWork <= earlyWork * 4 / 3) }
  }

  /// Milliseconds of the client's clock for each item, which is more than the database's own.
  private struct Cost {
    let queue: WorkQueue
    let worker: QueueWorker
    var enqueued = 0
    var worked = 0

    mutating func enqueue(_ count: Int) throws -> Double {
      let batches = stride(from: enqueued, to: enqueued + count, by: 500).map { start in
        (start..<start + 500).map {
          NewItem(address: SourcePath("s3://uploads/2026/clip-\($0).mp4"), version: "etag-\($0)", size: 1)
        }
      }
      enqueued += count
      return try Self.milliseconds(count) { for batch in batches { _ = try queue.enqueue(batch) } }
    }

    mutating func work(_ count: Int) throws -> Double {
      worked += count
      return try Self.milliseconds(count) {
        var left = count
        while left > 0 {
          let taken = try worker.take(upTo: min(32, left))
          try #require(!taken.isEmpty)
          try worker.finish(taken.map { ItemOutcome($0.id, .done) })
          left -= taken.count
        }
      }
    }

    private static func milliseconds(_ count: Int, _ body: () throws -> Void) throws -> Double {
      let time = try ContinuousClock().measure(body)
      return (time / .milliseconds(1) / Double(count) * 1000).rounded() / 1000
    }
  }
}
