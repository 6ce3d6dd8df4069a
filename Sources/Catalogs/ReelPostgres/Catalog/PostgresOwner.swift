import Glibc
import ReelCore
import Synchronization

/// This process as others see it: a row whose lease is renewed, by the server's clock, as long as the process lives. All
/// that it holds hangs on that row: its intents and posters, and the items of the queue. Every call blocks.
final class PostgresOwner: Sendable {
  let id: Int64
  let lease: Duration
  /// Beside those that publish, which a sign of life must not wait for.
  let heart: PostgresPool
  /// The machine that the paths of its files are of.
  let host: String
  private let name: String
  private let state = Mutex(State())

  private struct State {
    /// What a beat is, where there is more to it than ``renew(_:)``; gives false when there isn't any more.
    var beat: (@Sendable () throws -> Bool)?
    var isRetired = false
    /// Whether it has given up what it held.
    var isOver = false
  }

  /// Writes the owner down.
  /// - Parameter lease: how long others leave alone what it holds, after its last sign of life.
  init(_ pool: PostgresPool, name: String, host: String, lease: Duration) throws {
    (self.name, self.host, self.lease) = (name, host, lease)
    heart = pool.beside(connections: 1)
    let id: Int64? = try pool.transaction(ofOneStatement: true) { tx in
      // A day after the last sign of life nobody waits for it.
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

  // MARK: Living

  /// From now on the process takes items, too.
  /// - Parameter beat: what is done for each sign of life: it calls ``renew(_:)``, or gives false.
  func takesItems(beat: @escaping @Sendable () throws -> Bool) { state.withLock { $0.beat = beat } }

  /// Gives a sign of life as often as `interval`, and does `more` each time.
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

  /// What the queue wants to know of a sign of life.
  struct Life {
    /// False when others have found the lease over, and taken what the worker held.
    var isWorkerThere = true
    /// Whether something waits to be freed.
    var isAnythingDue = false
  }

  /// Moves the end of the lease. Somebody may have struck the row out: then it is written down anew, and holds nothing.
  /// - Parameter worker: its row among the workers, if it takes items.
  @discardableResult
  func renew(_ worker: Int64? = nil) throws -> Life {
    // A beat after the last word would write the row down again.
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

  // MARK: The end

  /// Gives up all that this owner holds. What it has not told stays in the outbox, for whoever meets it.
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

  /// The tables of what an owner is at.
  static let held = ["attempt", "poster", "change"]

  /// Frees what an owner holds in the catalog, and strikes it out.
  static func strike(_ id: Int64, in tx: PostgresTransaction) throws {
    for table in held { try tx.run("UPDATE reel.\(table) SET owner = NULL WHERE owner = $1", [.int(id)]) }
    try tx.run("DELETE FROM reel.owner WHERE id = $1", [.int(id)])
  }

  /// The lease is over from now on, as that of a process that was killed a while ago: for tests.
  func die() throws {
    try heart.transaction(ofOneStatement: true) { tx in
      try tx.run("UPDATE reel.owner SET lease_until = 0 WHERE id = $1", [.int(id)])
    }
  }
}
