import Glibc
import ReelCore

/// This process as others see it: a row whose lease is renewed, by the server's clock, as long as the process lives.
struct PostgresOwner: Sendable {
  let id: Int64
  private let name: String
  private let host: String
  private let lease: Int64
  private let pool: PostgresPool
  /// A sign of life must not wait for those that publish.
  private let heart: PostgresPool

  /// Writes the owner down.
  /// - Parameter lease: how long others leave alone what it holds, after its last sign of life.
  init(_ pool: PostgresPool, name: String, host: String, lease: Duration) throws {
    let lease = Int64(lease / .milliseconds(1))
    (self.pool, self.name, self.host, self.lease) = (pool, name, host, lease)
    heart = pool.beside(connections: 1)
    id = try pool.transaction { tx in
      // A day after the last sign of life nobody waits for it.
      try tx.run("DELETE FROM reel.owner WHERE lease_until < \(PostgresSchema.now) - 86400000")
      let id: Int64? = try tx.value(
        """
        INSERT INTO reel.owner (name, host, pid, started_at, lease_until)
        VALUES ($1, $2, $3, \(PostgresSchema.now), \(PostgresSchema.now) + $4) RETURNING id
        """, [.text(name), .text(host), .int(Int64(getpid())), .int(lease)])
      guard let id else { throw PostgresError(.unexpected, "no id for the new owner") }
      return id
    }
  }

  /// Renews the lease as often as `interval`, until it is cancelled.
  func heartbeat(every interval: Duration) -> Task<Void, Never> {
    let queue = BlockingQueue(label: "reel.postgres.heartbeat", width: 1)
    return Task {
      var isLate = false
      // One that fails is made good by the next, which comes sooner.
      while (try? await Task.sleep(for: isLate ? interval / 8 : interval, clock: .continuous)) != nil {
        isLate = await queue.run { (try? renew()) == nil }
      }
    }
  }

  /// Moves the end of the lease. Somebody may have struck the row out: then it is written down anew.
  func renew() throws {
    try heart.transaction { tx in try renew(in: tx) }
  }

  func renew(in tx: PostgresTransaction) throws {
    try tx.run(
      """
      INSERT INTO reel.owner (id, name, host, pid, started_at, lease_until)
      VALUES ($1, $2, $3, $4, \(PostgresSchema.now), \(PostgresSchema.now) + $5)
      ON CONFLICT (id) DO UPDATE SET lease_until = excluded.lease_until
      """, [.int(id), .text(name), .text(host), .int(Int64(getpid())), .int(lease)])
  }

  /// Gives up all that this owner holds. What it has not told stays in the outbox, for whoever meets it.
  func retire() throws {
    // A beat after this would write the row down anew.
    heart.close()
    try pool.transaction { tx in
      try tx.run("UPDATE reel.attempt SET owner = NULL WHERE owner = $1", [.int(id)])
      try tx.run("UPDATE reel.poster SET owner = NULL WHERE owner = $1", [.int(id)])
      try tx.run("DELETE FROM reel.owner WHERE id = $1", [.int(id)])
    }
  }

  /// The lease is over from now on, as that of a process that was killed a while ago: for tests.
  func die() throws {
    try pool.transaction { tx in
      try tx.run("UPDATE reel.owner SET lease_until = 0 WHERE id = $1", [.int(id)])
    }
  }
}
