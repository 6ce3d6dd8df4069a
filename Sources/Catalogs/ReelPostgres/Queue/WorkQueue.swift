import Glibc
import ReelCore
import Synchronization

/// The items of a catalog on PostgreSQL, as somebody who fills the queue or looks at it has them. Every call blocks.
package struct WorkQueue: Sendable {
  /// The channel on which workers are told that there is something to take.
  static let channel = "reel_queue"

  let pool: PostgresPool

  /// Makes the tables where there are none.
  /// - Throws: ``CatalogError``.
  package init(_ pool: PostgresPool) throws(CatalogError) {
    self.pool = pool
    try catalogErrors { try PostgresSchema.prepare(pool) }
  }

  private init(of pool: PostgresPool) { self.pool = pool }

  /// The queue that is there, to look at; nil where there is none. Makes nothing.
  package static func existing(_ pool: PostgresPool) throws(CatalogError) -> WorkQueue? {
    let queue = WorkQueue(of: pool)
    let isThere = try queue.catalogErrors {
      try pool.read { db in
        let found = try PostgresSchema.found(in: db)
        if found > PostgresSchema.version { throw CatalogError.newerSchema(found, at: pool.address.name) }
        return found >= PostgresSchema.queueVersion
      }
    }
    return isThere ? queue : nil
  }

  /// Whether this role may read all of the queue.
  func mayBeRead() throws(CatalogError) -> Bool {
    try catalogErrors {
      try pool.read { db in
        try db.value(
          """
          SELECT bool_and(has_table_privilege(c.oid, 'SELECT')) FROM pg_catalog.pg_class c
          JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
          WHERE n.nspname = 'reel' AND c.relname IN ('item', 'work', 'worker', 'owner')
          """, as: Bool.self) == true
      }
    }
  }

  /// What `body` throws, as of the catalog that the queue is in.
  @discardableResult
  func catalogErrors<Value>(_ body: () throws -> Value) throws(CatalogError) -> Value {
    try CatalogError.mapping(at: pool.address.name, body)
  }

  /// How many were enqueued, and how many there had been before.
  package struct Enqueued: Hashable, Sendable {
    package var new = 0
    package var known = 0

    package init() {}
  }

  /// A state that was overwritten before anybody had read it, and is listed again: it is there once more.
  private static let isBack = "work.state = 5 AND work.code = 'sourceChanged'"

  /// Puts items into the queue, those that it never had, and those whose state is there again. The priority of the others
  /// stays as it is.
  /// - Parameter priority: the higher, the earlier.
  package func enqueue(_ items: [NewItem], priority: Int = 0) throws(CatalogError) -> Enqueued {
    guard !items.isEmpty else { return Enqueued() }
    var call: Int64?
    return try catalogErrors {
      try pool.transaction { tx in
        let earlier = call
        call = try tx.value(Self.callNumber)
        // In the order of the list, which is that of their numbers. Two who enqueue the same at once may wait for each
        // other in a circle: the server ends one of them, which is tried again.
        let new = try tx.rows(
          """
          WITH listed AS (
            SELECT DISTINCT ON (identity) sha256(identified) AS identity, address, version, size, place
            FROM unnest($1::bytea[], $2::bytea[], $3::text[], $4::bigint[]) WITH ORDINALITY
              AS given(identified, address, version, size, place)
            ORDER BY identity, place
          ), made AS (
            INSERT INTO reel.item (identity, address, version, size, enqueued_at)
            SELECT identity, address, version, size, \(PostgresSchema.now) FROM listed ORDER BY place
            ON CONFLICT (identity) DO NOTHING
            RETURNING id
          ), begun AS (
            INSERT INTO reel.work (item, priority, changed_at)
            SELECT id, $5, \(PostgresSchema.now) FROM made RETURNING item
          ), again AS (
            UPDATE reel.work SET state = 0, deaths = 0, failures = 0, due_at = NULL, code = NULL, message = NULL, changed_at = \(PostgresSchema.now)
            FROM reel.item WHERE item.identity IN (SELECT identity FROM listed) AND work.item = item.id
              AND \(Self.isBack) RETURNING work.item
          )
          SELECT item FROM begun UNION ALL SELECT item FROM again
          """,
          [
            .byteStrings(items.map(\.identified)), .byteStrings(items.map(\.address.bytes)),
            .texts(items.map(\.version)), .ints(items.map(\.size)), .int(Int64(priority)),
          ]
        ) { try $0[0] as Int64 }
        try Self.notify(tx, of: new.count)
        // Nobody was told whether an earlier attempt was committed. What it has made is known by its number, now that its end
        // has been waited for.
        let before = tx.mayBeDone ? try made(by: earlier, of: items, tx) : 0
        var count = Enqueued()
        count.new = before + new.count
        count.known = items.count - count.new
        return count
      }
    }
  }

  /// The number of a transaction, as the rows that it writes have it.
  private static let callNumber = "SELECT (pg_current_xact_id()::text::numeric % 4294967296)::bigint"

  /// How many of `items` were made, or put back, by the transaction of that number.
  private func made(by call: Int64?, of items: [NewItem], _ tx: PostgresTransaction) throws -> Int {
    guard let call else { return 0 }
    return try tx.value(
      """
      SELECT count(*) FROM reel.item JOIN reel.work ON work.item = item.id
      WHERE identity IN (SELECT sha256(identified) FROM unnest($1::bytea[]) AS given(identified))
        AND (item.xmin::text::bigint = $2 OR work.xmin::text::bigint = $2)
      """, [.byteStrings(items.map(\.identified)), .int(call)]) ?? 0
  }

  /// What ``enqueue(_:priority:)`` would do.
  package func wouldEnqueue(_ items: [NewItem]) throws(CatalogError) -> Enqueued {
    var count = Enqueued()
    let items = Set(items)
    let known = try catalogErrors {
      try pool.read { db in
        try db.value(
          """
          SELECT count(*) FROM unnest($1::bytea[]) AS given(identified)
          JOIN reel.item ON identity = sha256(identified) JOIN reel.work ON work.item = item.id
          WHERE NOT (\(Self.isBack))
          """, [.byteStrings(items.map(\.identified))], as: Int.self)
      }
    }
    count.known = known ?? 0
    count.new = items.count - count.known
    return count
  }

  /// How many ended in one of `states`.
  package func count(_ states: [ItemState]) throws(CatalogError) -> Int {
    let count = try catalogErrors {
      try pool.read { db in
        try db.value(
          "SELECT count(*) FROM reel.work WHERE state = ANY($1) AND state > 2",
          [.ints(states.map(\.rawValue))], as: Int.self)
      }
    }
    return count ?? 0
  }

  /// Puts back what ended in one of `states`, as if it had never been tried.
  /// - Returns: how many.
  package func putBack(_ states: [ItemState]) throws(CatalogError) -> Int {
    var call: Int64?
    return try catalogErrors {
      try pool.transaction { tx in
        let earlier = call
        call = try tx.value(Self.callNumber)
        let count = try tx.run(
          """
          UPDATE reel.work SET state = 0, deaths = 0, failures = 0, due_at = NULL, code = NULL, message = NULL, changed_at = \(PostgresSchema.now)
          WHERE state = ANY($1) AND state > 2
          """, [.ints(states.map(\.rawValue))])
        try Self.notify(tx, of: count)
        // As when enqueuing: what an earlier attempt has put back, and nobody has taken since, is known by its number.
        let before =
          tx.mayBeDone
          ? try tx.value(
            "SELECT count(*) FROM reel.work WHERE state = 0 AND work.xmin::text::bigint = $1", [.int(earlier)]
          )
            ?? 0 : 0
        return before + count
      }
    }
  }

  /// Forgets what was done longer than `age` ago. It would be enqueued again if it is listed again, and then found to be a
  /// post already.
  /// - Returns: how many.
  package func forget(doneBefore age: Duration) throws(CatalogError) -> Int {
    var count = 0
    while true {
      let some = try catalogErrors {
        try pool.transaction { tx in
          try tx.run(
            """
            WITH old AS (
              SELECT item FROM reel.work WHERE state = 3 AND changed_at < \(PostgresSchema.now) - $1
              ORDER BY changed_at LIMIT 1000 FOR UPDATE SKIP LOCKED
            ), gone AS (DELETE FROM reel.work USING old WHERE work.item = old.item RETURNING work.item)
            DELETE FROM reel.item USING gone WHERE item.id = gone.item
            """, [.int(Int64(min(age / .milliseconds(1), 1e15)))])
        }
      }
      count += some
      if some == 0 { return count }
    }
  }

  /// Wakes as many of those who wait for something to take as `count` items are worth. Those who hear nothing, behind
  /// PgBouncer, look every few seconds.
  static func notify(_ tx: PostgresTransaction, of count: Int) throws {
    if count == 0 { return }
    _ = try tx.row(
      "SELECT pg_notify($1, $2 || ' ' || (SELECT count(*) FROM reel.worker))",
      [.text(channel), .text(String(count))]
    ) { _ in true }
  }
}
