import FoundationEssentials
import ReelCore

/// The state of the queue, for `reel status`.
package struct QueueStatus: Sendable {
  /// A process that takes items.
  package struct Worker: Sendable {
    package let host: String
    package let pid: Int
    package let destination: String
    package let startedAt: Date
    /// Whether its lease is over, so that what it holds is about to be given to others.
    package let isOverdue: Bool
    /// The numbers of items that it holds, that it has finished, and, of the latter, that did not become posts.
    package let holds: Int
    package let finished: Int
    package let failed: Int

    package init(
      host: String, pid: Int, destination: String, startedAt: Date, isOverdue: Bool, holds: Int,
      finished: Int, failed: Int
    ) {
      (self.host, self.pid, self.destination, self.startedAt) = (host, pid, destination, startedAt)
      (self.isOverdue, self.holds, self.finished, self.failed) = (isOverdue, holds, finished, failed)
    }
  }

  /// A reason why items are not posts.
  package struct Reason: Sendable {
    package let state: ItemState
    package let code: String
    package let count: Int
    /// The newest of these items, and its message.
    package let address: SourcePath
    package let message: String
    /// When the first of them is to be tried again.
    package let dueAt: Date?

    package init(
      state: ItemState, code: String, count: Int, address: SourcePath, message: String, dueAt: Date? = nil
    ) {
      (self.state, self.code, self.count) = (state, code, count)
      (self.address, self.message, self.dueAt) = (address, message, dueAt)
    }
  }

  /// The items of a label; the empty label stands for items without one.
  package struct Label: Sendable {
    package let name: String
    /// Their number in each state; states without any are missing.
    package let items: [ItemState: Int]
    package let oldestWaiting: Date?

    package init(name: String, items: [ItemState: Int], oldestWaiting: Date?) {
      (self.name, self.items, self.oldestWaiting) = (name, items, oldestWaiting)
    }
  }

  /// Waiting items that ask for the same.
  package struct Unserved: Sendable {
    package let wishes: ItemWishes
    package let count: Int

    package init(wishes: ItemWishes, count: Int) { (self.wishes, self.count) = (wishes, count) }
  }

  /// The number of items in each state; states without any are missing.
  package let items: [ItemState: Int]
  package let workers: [Worker]
  /// The number of items that ended within the last minute, except for cancelled ones.
  package let endedInLastMinute: Int
  /// The number of items that ended within the last half hour, by state.
  package let endedInLastHalfHour: [ItemState: Int]
  package let oldestWaiting: Date?
  package let reasons: [Reason]
  package let labels: [Label]
  package let throttles: [WorkQueue.Throttle]
  /// The number of posts whose event is undelivered, and which no living process is about to deliver.
  package let undelivered: Int
  /// Waiting items that no living worker may take.
  package let unserved: [Unserved]

  package init(
    items: [ItemState: Int], workers: [Worker], endedInLastMinute: Int, oldestWaiting: Date?,
    reasons: [Reason], labels: [Label] = [], throttles: [WorkQueue.Throttle] = [],
    undelivered: Int = 0, unserved: [Unserved] = [], endedInLastHalfHour: [ItemState: Int] = [:]
  ) {
    (self.items, self.workers, self.endedInLastMinute) = (items, workers, endedInLastMinute)
    (self.oldestWaiting, self.reasons) = (oldestWaiting, reasons)
    (self.labels, self.throttles, self.undelivered) = (labels, throttles, undelivered)
    (self.unserved, self.endedInLastHalfHour) = (unserved, endedInLastHalfHour)
  }
}

extension WorkQueue {
  /// Reads the state of the queue. It looks at every item, which takes a second for some millions.
  /// - Returns: nil if there is no queue yet, or if this role may not read it; in the latter case `onDenial` is called.
  package static func status(
    _ pool: PostgresPool, onDenial: () -> Void = {}
  ) throws(CatalogError) -> QueueStatus? {
    guard let queue = try existing(pool) else { return nil }
    guard try queue.mayBeRead() else {
      onDenial()
      return nil
    }
    return try queue.catalogErrors {
      try pool.read { db in
        try status(db)
      }
    }
  }

  private static func status(_ db: PostgresConnection) throws -> QueueStatus {
    let counts = try db.rows(
      """
      SELECT label, state, sum(count)::bigint AS count, min(oldest) AS oldest FROM (
        SELECT lane, state, count(*), min(changed_at) AS oldest FROM reel.work GROUP BY lane, state
      ) AS counted JOIN reel.lane ON lane.id = counted.lane GROUP BY label, state ORDER BY label, state
      """
    ) { row in
      LabelCount(
        label: try row["label"], state: ItemState(rawValue: try row["state"]), count: try row["count"],
        oldest: Date(milliseconds: try row["oldest"]))
    }
    let throttles = try throttles(db)
    let workers = try db.rows(
      """
      SELECT host, pid, destination, started_at, \(PostgresSchema.endOfWorkersLease) <= \(PostgresSchema.now) AS overdue, finished, failed,
        (SELECT count(*) FROM reel.work WHERE work.worker = worker.id AND state = 1) AS holds
      FROM reel.worker ORDER BY host, pid, id
      """
    ) { row in
      QueueStatus.Worker(
        host: try row["host"], pid: try row["pid"], destination: try row["destination"],
        startedAt: Date(milliseconds: try row["started_at"]), isOverdue: try row["overdue"],
        holds: try row["holds"], finished: try row["finished"], failed: try row["failed"])
    }
    let unserved = try db.rows(
      """
      SELECT label, destination, policy, count FROM (
        SELECT lane, count(*) AS count FROM reel.work WHERE state = 0 GROUP BY lane
      ) AS waiting JOIN reel.lane ON lane.id = waiting.lane
      WHERE EXISTS (SELECT FROM reel.worker) AND NOT EXISTS (
        SELECT FROM (SELECT * FROM reel.worker WHERE \(PostgresSchema.endOfWorkersLease) > \(PostgresSchema.now)) AS me
        WHERE \(QueueWorker.serves))
      ORDER BY count DESC, lane LIMIT 100
      """
    ) { row in
      QueueStatus.Unserved(
        wishes: ItemWishes(
          label: try row["label"], destination: try row["destination"], policy: try row["policy"]),
        count: try row["count"])
    }
    let reasons = try db.rows(
      """
      SELECT state, code, count, address, message, due FROM (
        SELECT state, code, count(*) AS count, max(item) AS item, min(due_at) AS due
        FROM reel.work WHERE state IN (0, 2, 4, 5, 6) AND code IS NOT NULL GROUP BY state, code
      ) AS alike CROSS JOIN LATERAL (
        SELECT address, coalesce(message, '') AS message FROM reel.item JOIN reel.work ON work.item = item.id
        WHERE item.id = alike.item
      ) AS one ORDER BY count DESC, state, code LIMIT 100
      """
    ) { row in
      QueueStatus.Reason(
        state: ItemState(rawValue: try row["state"]) ?? .failed, code: try row["code"],
        count: try row["count"], address: SourcePath(bytes: try row["address"] as [UInt8]),
        message: try row["message"], dueAt: (try row["due"] as Int64?).map { Date(milliseconds: $0) })
    }
    let undelivered: Int? = try db.value(
      """
      SELECT count(*) FROM reel.outbox WHERE NOT EXISTS (
        SELECT FROM reel.owner WHERE owner.id = outbox.owner AND lease_until > \(PostgresSchema.now))
      """)
    let ended: Int? = try db.value(
      "SELECT count(*) FROM reel.work WHERE state BETWEEN 3 AND 6 AND changed_at > \(PostgresSchema.now) - 60000"
    )
    let lately = try db.rows(
      "SELECT state, count(*) FROM reel.work WHERE state > 2 AND changed_at > \(PostgresSchema.now) - 1800000 GROUP BY state"
    ) { (ItemState(rawValue: try $0[0]), try $0[1] as Int) }
    return QueueStatus(
      items: LabelCount.items(counts), workers: workers, endedInLastMinute: ended ?? 0,
      oldestWaiting: LabelCount.oldest(counts), reasons: reasons,
      labels: Dictionary(grouping: counts, by: \.label).sorted { $0.key < $1.key }.map { label, counts in
        QueueStatus.Label(
          name: label, items: LabelCount.items(counts), oldestWaiting: LabelCount.oldest(counts))
      },
      throttles: throttles, undelivered: undelivered ?? 0, unserved: unserved,
      endedInLastHalfHour: Dictionary(
        lately.compactMap { state, count in state.map { ($0, count) } }, uniquingKeysWith: +))
  }

  /// The number of items of a label in one state.
  private struct LabelCount {
    let label: String
    /// Nil for a state that a newer Reel has added.
    let state: ItemState?
    let count: Int
    let oldest: Date

    static func items(_ counts: [LabelCount]) -> [ItemState: Int] {
      Dictionary(counts.compactMap { one in one.state.map { ($0, one.count) } }, uniquingKeysWith: +)
    }

    static func oldest(_ counts: [LabelCount]) -> Date? {
      counts.filter { $0.state == .waiting }.map(\.oldest).min()
    }
  }
}
