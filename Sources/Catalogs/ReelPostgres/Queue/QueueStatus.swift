import FoundationEssentials
import ReelCore

/// How the queue stands: for `reel status`.
package struct QueueStatus: Sendable {
  /// Somebody who takes items.
  package struct Worker: Sendable {
    package let host: String
    package let pid: Int
    package let destination: String
    package let startedAt: Date
    /// Whether its lease is over: what it holds is about to be given to others.
    package let isOverdue: Bool
    /// Items that it holds, that it has finished, and of these those that did not become posts.
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

  /// Why items ended as they did.
  package struct Reason: Sendable {
    package let state: ItemState
    package let code: String
    package let count: Int
    /// The newest of them, and what was said of it.
    package let address: SourcePath
    package let message: String

    package init(state: ItemState, code: String, count: Int, address: SourcePath, message: String) {
      (self.state, self.code, self.count) = (state, code, count)
      (self.address, self.message) = (address, message)
    }
  }

  /// Items in each state; a state without any is not in it.
  package let items: [ItemState: Int]
  package let workers: [Worker]
  /// Items that ended within the last minute.
  package let endedInLastMinute: Int
  package let oldestWaiting: Date?
  package let reasons: [Reason]

  package init(
    items: [ItemState: Int], workers: [Worker], endedInLastMinute: Int, oldestWaiting: Date?,
    reasons: [Reason]
  ) {
    (self.items, self.workers, self.endedInLastMinute) = (items, workers, endedInLastMinute)
    (self.oldestWaiting, self.reasons) = (oldestWaiting, reasons)
  }
}

extension WorkQueue {
  /// How the queue stands. Looks at every item, which takes a second for some millions.
  /// - Returns: nil where there is no queue yet, or this role may not read it, which is told by a call of `onDenial`.
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
    let items = try db.rows("SELECT state, count(*) FROM reel.work GROUP BY state") { row in
      (ItemState(rawValue: try row[0]), try row[1] as Int)
    }
    let workers = try db.rows(
      """
      SELECT host, pid, destination, started_at, \(PostgresSchema.endOfWorkersLease) < \(PostgresSchema.now) AS overdue, finished, failed,
        (SELECT count(*) FROM reel.work WHERE work.worker = worker.id AND state = 1) AS holds
      FROM reel.worker ORDER BY host, pid, id
      """
    ) { row in
      QueueStatus.Worker(
        host: try row["host"], pid: try row["pid"], destination: try row["destination"],
        startedAt: Date(milliseconds: try row["started_at"]), isOverdue: try row["overdue"],
        holds: try row["holds"], finished: try row["finished"], failed: try row["failed"])
    }
    let reasons = try db.rows(
      """
      SELECT state, code, count, address, message FROM (
        SELECT state, coalesce(code, '') AS code, count(*) AS count, max(changed_at) AS newest, max(item) AS item
        FROM reel.work WHERE state IN (2, 4, 5, 6) GROUP BY state, coalesce(code, '')
      ) AS alike CROSS JOIN LATERAL (
        SELECT address, coalesce(message, '') AS message FROM reel.item JOIN reel.work ON work.item = item.id
        WHERE item.id = alike.item
      ) AS one ORDER BY count DESC, state, code LIMIT 100
      """
    ) { row in
      QueueStatus.Reason(
        state: ItemState(rawValue: try row["state"]) ?? .failed, code: try row["code"],
        count: try row["count"], address: SourcePath(bytes: try row["address"] as [UInt8]),
        message: try row["message"])
    }
    let ended: Int? = try db.value(
      "SELECT count(*) FROM reel.work WHERE state > 2 AND changed_at > \(PostgresSchema.now) - 60000")
    let oldest: Int64? = try db.value(
      "SELECT changed_at FROM reel.work WHERE state = 0 ORDER BY priority DESC, item LIMIT 1")
    return QueueStatus(
      items: Dictionary(
        items.compactMap { item in item.0.map { ($0, item.1) } }, uniquingKeysWith: { first, _ in first }),
      workers: workers, endedInLastMinute: ended ?? 0, oldestWaiting: oldest.map { Date(milliseconds: $0) },
      reasons: reasons)
  }
}
