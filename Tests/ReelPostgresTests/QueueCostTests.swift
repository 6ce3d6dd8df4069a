import Foundation
import ReelCore
import ReelPostgres
import ReelTestServers
import ReelTestSupport
import Testing

/// The cost of an item to the database with few and with many items in the queue: a million in the long form.
@Suite(.besidePostgres, .notQuick) struct QueueCostTests {
  @Test(.shortTime) func anItemCostsTheSameWhateverTheQueueHolds() async throws {
    let (few, many) = TestForm.isLong ? (20_000, 1_000_000) : (2_000, 10_000)
    let pool = try await TestDatabase().pool { $0.connections = 1 }
    let queue = try WorkQueue(pool)
    // Its clock stands still: each second of real time it would look from the beginning.
    let now = ContinuousClock.now
    let worker = try QueueWorker(queue, host: "host", destination: "file:///media", clock: { now })
    var cost = Cost(backend: try BackendCost(pool), queue: queue, worker: worker)
    let early = try cost.enqueue(few)
    let earlyWork = try cost.work(few)
    var late = early
    while cost.enqueued < many { late = try cost.enqueue(few) }
    // Autovacuum does the same within a minute.
    try pool.withConnection { try $0.execute("VACUUM ANALYZE reel.item, reel.work") }
    var lateWork = try cost.work(few)
    print("in a queue of \(many), first items:", lateWork)
    while cost.worked < many { lateWork = try cost.work(few) }
    print("enqueued: early \(early), late \(late); taken and finished: early \(earlyWork), last \(lateWork)")
    // Not 1: an index of a million entries is a level deeper than one of a thousand.
    #expect(late.pages <= early.pages * 4 / 3)
    #expect(lateWork.pages <= earlyWork.pages * 3 / 2)
    // Statements per batch of 32: three to take it, one to finish it.
    #expect(lateWork.statements * 32 <= 5)
  }

  /// With 200 labels waiting, a batch of 32 takes one item from each of 32 labels, and the others are not read.
  @Test(.shortTime, arguments: [nil, 100]) func manyLabelsCostALookEach(limit: Int?) async throws {
    let pool = try await TestDatabase().pool { $0.connections = 1 }
    let queue = try WorkQueue(pool)
    let worker = try QueueWorker(queue, host: "host", destination: "file:///media")
    var cost = Cost(backend: try BackendCost(pool), queue: queue, worker: worker)
    for label in 0..<200 { _ = try cost.enqueue(50, ItemWishes(label: "label-\(label)")) }
    if let limit { for label in [nil, "label-7"] { try queue.limit(label, to: limit) } }
    _ = try cost.work(320)
    let work = try cost.work(640)
    print("of 200 labels, with a limit of \(limit.map(String.init) ?? "none"):", work)
    #expect(work.pages <= 150)
  }

  /// The items that wait.
  struct Scene: Sendable {
    let count: Int
    var labels = 0
    var limit: Int?
  }

  /// The table of docs/queue.md ("What it costs"), in a release build. The minimum of ten looks, because the machine
  /// does other things, too.
  @Test(
    .serialized, .enabled(if: ProcessInfo.processInfo.environment["REEL_MEASURE"] != nil, "set REEL_MEASURE"),
    arguments: [
      Scene(count: 1_000_000), Scene(count: 200_000, limit: 100), Scene(count: 100_000, labels: 20),
      Scene(count: 200_000, labels: 200), Scene(count: 200_000, labels: 200, limit: 100),
    ])
  func whatItemsCost(_ scene: Scene) async throws {
    let pool = try await TestDatabase().pool { $0.connections = 1 }
    let queue = try WorkQueue(pool)
    let worker = try QueueWorker(queue, host: "host", destination: "file:///media")
    var cost = Cost(backend: try BackendCost(pool), queue: queue, worker: worker)
    for label in 0..<max(1, scene.labels) {
      let wishes = ItemWishes(label: scene.labels == 0 ? "" : "label-\(label)")
      _ = try cost.enqueue(scene.count / max(1, scene.labels), wishes)
    }
    if let limit = scene.limit { try queue.limit(nil, to: limit) }
    try pool.withConnection { try $0.execute("VACUUM ANALYZE reel.item, reel.work") }
    func look(_ name: String) throws {
      let looks = try (0..<10).map { _ in
        let before = clock()
        return (server: try cost.work(4000).server, client: Double(clock() - before) / 4_000_000)
      }
      let server = looks.map(\.server).sorted()
      print(
        "\(scene), \(name): \(server[0]) ms (median \(server[5])) of the server's processor, "
          + "\(looks.map(\.client).min() ?? 0) ms of the client's")
    }
    try look("the first")
    guard scene.labels == 0, scene.limit == nil else { return }
    while cost.worked < scene.count - 40_000 { _ = try cost.work(20_000) }
    try look("the last")
  }

  private struct Cost {
    let backend: BackendCost
    let queue: WorkQueue
    let worker: QueueWorker
    var enqueued = 0
    var worked = 0

    mutating func enqueue(_ count: Int, _ wishes: ItemWishes = ItemWishes()) throws -> BackendCost.PerItem {
      let batches = stride(from: enqueued, to: enqueued + count, by: 500).map { start in
        (start..<min(start + 500, enqueued + count)).map {
          NewItem(address: SourcePath("s3://uploads/2026/clip-\($0).mp4"), version: "etag-\($0)", size: 1)
        }
      }
      enqueued += count
      return try backend.each(of: count) {
        for batch in batches { _ = try queue.enqueue(batch, wishes: wishes) }
      }
    }

    mutating func work(_ count: Int) throws -> BackendCost.PerItem {
      worked += count
      return try backend.each(of: count) {
        var left = count
        while left > 0 {
          let taken = try worker.take(upTo: min(32, left))
          try #require(!taken.isEmpty)
          try worker.finish(taken.map { ItemOutcome($0.id, .done) })
          left -= taken.count
        }
      }
    }
  }
}
