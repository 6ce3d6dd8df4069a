import Glibc
import ReelCore
import Synchronization

/// This process as others see it: a row whose lease is renewed, by the server's clock, as long as the
/// process lives. All that it holds refers to that row: its intents, posters and changes, and the
/// items of the queue. Every call blocks.
final class PostgresOwner: Sendable {
  let id: Int64
  let lease: Duration
  /// A pool beside those that publish, so that a heartbeat does not wait for their connections.
  let heart: PostgresPool
  /// The machine to which the paths of its files belong.
  let host: String
  private let name: String
  private let state = Mutex(State())

  private struct State {
    /// What a heartbeat does, if that is more than ``renew(_:)``; returns false when that is no longer so.
    var beat: (@Sendable () throws -> Bool)?
    var isRetired = false
    /// Whether it has released what it held.
    var isOver = false
  }

  /// Adds the owner's row.
  /// - Parameter lease: how long others leave alone what it holds, after its last heartbeat.
  init(_ pool: PostgresPool, name: String, host: String, lease: Duration) throws {
    (self.name, self.host, self.lease) = (name, host, lease)
    heart = pool.beside(connections: 1)
    let id: Int64? = try pool.transaction(ofOneStatement: true) { tx in
      // A day after a lease has ended, its row is no longer needed.
      try tx.value(
        """
        WITH gone AS (DELETE FROM reel.owner WHERE lease_until < \(PostgresSchema.now) - \(LeaseTerms.untilRowGoes))
        INSERT INTO reel.owner (name, host, pid, started_at, lease_until)
        VALUES ($1, $2, $3, \(PostgresSchema.now), \(PostgresSchema.now) + $4) RETURNING id
        """, [.text(name), .text(host), .int(Int64(getpid())), .int(Int64(lease / .milliseconds(1)))])
    }
    guard let id else { throw PostgresError(.unexpected, "no id for the new owner") }
    self.id = id
  }

  // MARK: Heartbeat

  /// Makes this process one that takes items, too.
  /// - Parameter beat: what each heartbeat does: it calls ``renew(_:)``, or returns false.
  func takesItems(beat: @escaping @Sendable () throws -> Bool) { state.withLock { $0.beat = beat } }

  /// Renews the lease at this interval, and calls `more` each time.
  func heartbeat(every interval: Duration, and more: @escaping @Sendable () -> Void) -> Heartbeat {
    let queue = BlockingQueue(label: "reel.postgres.heartbeat", width: 1)
    return Heartbeat(every: interval) { [weak self] in
      guard let self else { return true }
      return await queue.run {
        more()
        do {
          if try self.state.withLock({ $0.beat })?() != true { try self.renew() }
          return true
        } catch {
          return false
        }
      }
    }
  }

  /// What a heartbeat finds out for the queue.
  struct Life {
    /// False if others have found the lease over, and taken what the worker held.
    var isWorkerThere = true
    /// Whether anything waits to be freed.
    var isAnythingDue = false
  }

  /// Extends the lease. If another process has deleted the row, it is inserted again, and holds nothing.
  /// - Parameter worker: the number of its row among the workers, if it takes items.
  @discardableResult
  func renew(_ worker: Int64? = nil) throws -> Life {
    // A heartbeat after the row is deleted would insert it again.
    if state.withLock({ $0.isRetired }) { return Life() }
    let until = "\(PostgresSchema.now) + $5"
    let renewal = """
      INSERT INTO reel.owner (id, name, host, pid, started_at, lease_until)
      VALUES ($1, $2, $3, $4, \(PostgresSchema.now), \(until))
      ON CONFLICT (id) DO UPDATE SET lease_until = excluded.lease_until
      """
    let values: [PostgresValue] = [
      .int(id), .text(name), .text(host), .int(Int64(getpid())), .int(Int64(lease / .milliseconds(1))),
    ]
    return try heart.transaction(ofOneStatement: true) { tx in
      guard let worker else {
        try tx.run(renewal, values)
        return Life()
      }
      // The worker's own column is for an older Reel, which looks nowhere else.
      let life = try tx.row(
        """
        WITH lives AS (\(renewal)), works AS (
          UPDATE reel.worker SET lease_until = \(until) WHERE id = $6 RETURNING id
        )
        SELECT EXISTS (SELECT FROM works), \(QueueWorker.isAnythingDue)
        """, values + [.int(worker)]
      ) { Life(isWorkerThere: try $0[0], isAnythingDue: try $0[1]) }
      return life ?? Life()
    }
  }

  // MARK: Ending

  /// Releases all that this owner holds, and deletes its row. Undelivered events stay in the outbox for whichever owner
  /// comes across their posts.
  func retire() throws {
    let (isWorker, isOver) = state.withLock { state in
      state.isRetired = true
      return (state.beat != nil, state.isOver)
    }
    if isOver { return }
    try heart.transaction { tx in
      if isWorker { try QueueWorker.giveBack(of: id, in: tx) }
      try Self.strike(id, in: tx)
    }
    state.withLock { $0.isOver = true }
    heart.close()
  }

  /// The tables of what an owner can hold.
  static let held = ["attempt", "poster", "change"]

  /// Releases what an owner holds in the catalog, and deletes its row.
  static func strike(_ id: Int64, in tx: PostgresTransaction) throws {
    for table in held { try tx.run("UPDATE reel.\(table) SET owner = NULL WHERE owner = $1", [.int(id)]) }
    try tx.run("DELETE FROM reel.owner WHERE id = $1", [.int(id)])
  }

  /// Ends the lease, as if the process had been killed a while ago; for tests.
  func die() throws {
    try heart.transaction(ofOneStatement: true) { tx in
      try tx.run("UPDATE reel.owner SET lease_until = 0 WHERE id = $1", [.int(id)])
    }
  }
}
