import FoundationEssentials
import ReelCore

/// The catalog of several machines, in PostgreSQL 13 or newer.
///
/// A process is alive as long as its lease, which a heartbeat renews and the server's clock measures. Writes are
/// committed when a call returns; if the connection is lost meanwhile, another one finds out whether they were. Calls
/// that block say so; no other call blocks a thread of Swift's cooperative pool.
///
/// Cancellation: a cancelled task reads nothing and claims nothing. ``complete(_:noting:)``, ``release(_:because:)``
/// and ``close()`` also work in a cancelled task.
package final class PostgresCatalog: PostCatalog, Sendable {
  let pool: PostgresPool
  /// Names this machine, to which the remembered digests and failures of files belong.
  let host: String
  private let writing: Writing?
  private let queue = BlockingQueue(label: "reel.postgres.read", width: 4)

  /// What a catalog needs for writing besides connections.
  struct Writing: Sendable {
    let owner: PostgresOwner
    let writer: PostgresWriter
    let heartbeat: Heartbeat
  }

  private init(_ pool: PostgresPool, host: String, writing: Writing?) {
    (self.pool, self.host, self.writing) = (pool, host, writing)
  }

  /// Opens the database's catalog, creating it if there is none, and registers an owner.
  ///
  /// - Parameters:
  ///   - clock: this machine's clock, for the times of its files.
  ///   - postClock: the clock for the times of posts; nil for the server's. Tests set it.
  ///   - lease: how long others leave this owner's intents alone after its last heartbeat; nil for the default.
  ///   - heartbeat: how often the lease is renewed; nil for a third of the lease.
  ///   - host: names this machine; nil for its own name.
  /// - Throws: ``CatalogError``.
  package static func open(
    _ pool: PostgresPool, clock: any WallClock = SystemWallClock(), postClock: (any WallClock)? = nil,
    randomness: some Randomness = SystemRandomness(), lease: Duration? = nil,
    heartbeat: Duration? = nil, host: String? = nil
  ) async throws(CatalogError) -> PostgresCatalog {
    let (name, host) = (randomness.name(length: 16), host ?? MachineName.current())
    let lease = lease ?? LeaseTerms.server
    let writing = try await BlockingQueue(label: "reel.postgres.open", width: 1).run {
      () throws(CatalogError) in
      try CatalogError.mapping(at: pool.address.name) {
        try PostgresSchema.prepare(pool)
        let owner = try PostgresOwner(pool, name: name, host: host, lease: lease)
        let writer = PostgresWriter(pool, owner: owner, host: host, clock: clock, postClock: postClock)
        let interval = heartbeat ?? lease / 3
        return Writing(
          owner: owner, writer: writer,
          heartbeat: owner.heartbeat(every: interval) {
            pool.closeIdle(unusedFor: interval)
            writer.payDebts()
          })
      }
    }
    return PostgresCatalog(pool, host: host, writing: writing)
  }

  /// Opens the catalog for reading, or returns nil if there is none yet. It creates nothing, and needs only the right
  /// to read. Methods that write throw `unusable`; those that remember something do nothing.
  /// - Throws: ``CatalogError``.
  package static func openReadOnly(
    _ pool: PostgresPool, host: String? = nil
  ) async throws(CatalogError) -> PostgresCatalog? {
    let found = try await foundVersion(pool)
    if found == 0 { return nil }
    if found > PostgresSchema.version { throw CatalogError.newerSchema(found, at: pool.address.name) }
    if found < PostgresSchema.version { throw CatalogError.needsWriter(at: pool.address.name) }
    return PostgresCatalog(pool, host: host ?? MachineName.current(), writing: nil)
  }

  /// Whether there is a catalog, of whatever version.
  package static func isThere(_ pool: PostgresPool) async throws(CatalogError) -> Bool {
    try await foundVersion(pool) > 0
  }

  private static func foundVersion(_ pool: PostgresPool) async throws(CatalogError) -> Int {
    try await BlockingQueue(label: "reel.postgres.open", width: 1).run { () throws(CatalogError) in
      try CatalogError.mapping(at: pool.address.name) {
        try pool.read { db in try PostgresSchema.found(in: db) }
      }
    }
  }

  /// Commits what is pending, releases what this owner holds, and closes, also in a cancelled task. The event of a post
  /// that was completed but not announced is left to the next owner that comes across the post.
  package func close() async throws(CatalogError) {
    guard let writing else { return pool.close() }
    var failure: CatalogError?
    writing.heartbeat.stop()
    do throws(CatalogError) {
      try await writing.writer.flush()
    } catch {
      // It was closed before.
      if error == .closed(at: server) { return }
      failure = error
    }
    writing.writer.close()
    await writing.heartbeat.end()
    do throws(CatalogError) {
      try await blocking { _ in try writing.owner.retire() }
    } catch {
      failure = failure ?? error
    }
    pool.close()
    if let failure { throw failure }
  }

  /// Releases all claims and items at once, even those that are being worked on; for a
  /// process that is about to end. Blocks.
  package func abandonClaims() throws { try writing?.owner.retire() }

  /// Does the same as ``PostgresPool/makeHaste()``.
  package func makeHaste() { pool.makeHaste() }

  /// Opens the queue in the same database. Blocks.
  package func workQueue() throws(CatalogError) -> WorkQueue { try WorkQueue(pool) }

  /// Ends without a trace, as a process that was killed more than a lease ago; for tests.
  func die() async throws {
    await writing?.heartbeat.end()
    try await blocking { [writing] _ in try writing?.owner.die() }
  }

  /// Renews the lease now; for tests.
  func renew() async throws { _ = try await blocking { [writing] _ in try writing?.owner.renew() } }

  // MARK: For the extensions

  /// The server's name, for messages.
  var server: String { pool.address.name }

  /// - Throws: `unusable` if this was opened for reading only.
  func writable() throws(CatalogError) -> Writing {
    guard let writing else { throw .readOnly(at: server) }
    return writing
  }

  var writableIfAny: Writing? { writing }

  /// Runs `body` on a thread that may block.
  func blocking<Value: Sendable>(
    _ body: @escaping @Sendable (PostgresPool) throws -> Value
  ) async throws(CatalogError) -> Value {
    try await queue.run { [pool, server] () throws(CatalogError) in
      try CatalogError.mapping(at: server) { try body(pool) }
    }
  }

  /// Reads on a thread that may block, unless the task has been cancelled.
  func look<Value: Sendable>(
    _ body: @escaping @Sendable (PostgresConnection) throws -> Value
  ) async throws(CatalogError) -> Value {
    if Task.isCancelled { throw .cancelled(at: server) }
    return try await blocking { pool in try pool.read(body) }
  }

  /// Reads on this thread, for a step of publishing. Blocks.
  func lookUp<Value>(_ body: (PostgresConnection) throws -> Value) throws(CatalogError) -> Value {
    try CatalogError.mapping(at: server) { try pool.read(for: .steps, body) }
  }

  /// Writes on a thread that may block, in its own transaction.
  @discardableResult
  func change<Value: Sendable>(
    _ body: @escaping @Sendable (PostgresTransaction, Int64) throws -> Value
  ) async throws(CatalogError) -> Value {
    let me = try writable().owner.id
    return try await blocking { pool in try pool.transaction { tx in try body(tx, me) } }
  }
}

/// The name of a machine.
package enum MachineName {
  /// Returns the machine's id and its host name. Containers of one image, and machines
  /// that were copied, may share the former.
  package static func current() -> String {
    func line(of path: String) -> String {
      (try? String(contentsOfFile: path, encoding: .utf8))?.split(separator: "\n").first.map(String.init)
        ?? ""
    }
    return line(of: "/etc/machine-id") + " " + line(of: "/proc/sys/kernel/hostname")
  }
}
