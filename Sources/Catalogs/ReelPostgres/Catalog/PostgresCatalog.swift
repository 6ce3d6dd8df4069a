import FoundationEssentials
import ReelCore

/// The catalog of several machines, in PostgreSQL 13 or newer.
///
/// Who lives is told by leases, renewed by a heartbeat and measured by the server's clock. What is written is committed
/// when a call returns; where a connection is lost meanwhile, it is looked up over another whether it was. No call blocks
/// a thread of Swift's cooperative pool, those aside that say so.
///
/// Cancellation: a cancelled task reads nothing and claims nothing; ``complete(_:noting:)``,
/// ``release(_:because:)`` and ``close()`` do their work in one, too.
package final class PostgresCatalog: PostCatalog, Sendable {
  let pool: PostgresPool
  /// Names this machine, for what is remembered of its files.
  let host: String
  private let writing: Writing?
  private let queue = BlockingQueue(label: "reel.postgres.read", width: 4)

  /// What a catalog that may write has besides connections.
  struct Writing: Sendable {
    let owner: PostgresOwner
    let writer: PostgresWriter
    let heartbeat: Heartbeat
  }

  private init(_ pool: PostgresPool, host: String, writing: Writing?) {
    (self.pool, self.host, self.writing) = (pool, host, writing)
  }

  /// Opens the catalog of the database, makes it when there is none, and takes a place among its owners.
  ///
  /// - Parameters:
  ///   - clock: this machine's, for the times of its files.
  ///   - postClock: for the times of posts; nil for the server's. Tests set it.
  ///   - lease: how long others leave this owner's intents alone after its last sign of life; nil for the usual time.
  ///   - heartbeat: how often it gives one; nil for a third of the lease.
  ///   - host: names this machine; nil for what it calls itself.
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

  /// Opens the catalog for reading, or gives nil when there is none yet; makes nothing, and needs no more than the right
  /// to read. Methods that write throw `unusable`, those that remember do nothing.
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

  /// Commits what is pending, gives up what this owner holds, and closes, also in a cancelled task. What was completed
  /// and not announced is told by whoever meets it next.
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

  /// Gives up all claims and items at once, whoever works on them: for a process that is about to end. Blocks.
  package func abandonClaims() throws { try writing?.owner.retire() }

  /// As ``PostgresPool/makeHaste()``.
  package func makeHaste() { pool.makeHaste() }

  /// The queue of the same database. Blocks.
  package func workQueue() throws(CatalogError) -> WorkQueue { try WorkQueue(pool) }

  /// Stops living without a word, as a process that was killed more than a lease ago: for tests.
  func die() async throws {
    await writing?.heartbeat.end()
    try await blocking { [writing] _ in try writing?.owner.die() }
  }

  /// Renews the lease now: for tests.
  func renew() async throws { _ = try await blocking { [writing] _ in try writing?.owner.renew() } }

  // MARK: For the extensions

  /// Named in messages.
  var server: String { pool.address.name }

  /// - Throws: `unusable` when this was opened for reading only.
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

  /// Looks something up on this thread, on the way of publishing.
  func lookUp<Value>(_ body: (PostgresConnection) throws -> Value) throws(CatalogError) -> Value {
    try CatalogError.mapping(at: server) { try pool.read(for: .steps, body) }
  }

  /// Writes on a thread that may block, in a transaction of its own.
  @discardableResult
  func change<Value: Sendable>(
    _ body: @escaping @Sendable (PostgresTransaction, Int64) throws -> Value
  ) async throws(CatalogError) -> Value {
    let me = try writable().owner.id
    return try await blocking { pool in try pool.transaction { tx in try body(tx, me) } }
  }
}

/// What a machine calls itself.
package enum MachineName {
  /// Its id, and its name: containers of one image may share the former, and machines that are copies of one another.
  package static func current() -> String {
    func line(of path: String) -> String {
      (try? String(contentsOfFile: path, encoding: .utf8))?.split(separator: "\n").first.map(String.init)
        ?? ""
    }
    return line(of: "/etc/machine-id") + " " + line(of: "/proc/sys/kernel/hostname")
  }
}
