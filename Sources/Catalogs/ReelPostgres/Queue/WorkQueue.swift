import FoundationEssentials
import Glibc
import ReelCore
import Synchronization

/// The items of a catalog on PostgreSQL, for those that fill the queue or look at it. Every call blocks.
package struct WorkQueue: Sendable {
  /// The channel on which workers are told that there is something to take.
  static let channel = "reel_queue"

  let pool: PostgresPool

  /// Creates the tables if there are none.
  /// - Throws: ``CatalogError``.
  package init(_ pool: PostgresPool) throws(CatalogError) {
    self.pool = pool
    try catalogErrors { try PostgresSchema.prepare(pool) }
  }

  private init(of pool: PostgresPool) { self.pool = pool }

  /// Returns the existing queue, to look at; nil if there is none. Creates nothing.
  package static func existing(_ pool: PostgresPool) throws(CatalogError) -> WorkQueue? {
    let queue = WorkQueue(of: pool)
    let isThere = try queue.catalogErrors {
      try pool.read { db in
        let found = try PostgresSchema.found(in: db)
        if found > PostgresSchema.version { throw CatalogError.newerSchema(found, at: pool.address.name) }
        if found > 0, found < PostgresSchema.version { throw CatalogError.needsWriter(at: pool.address.name) }
        return found > 0
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
          WHERE n.nspname = 'reel' AND c.relname IN ('item', 'work', 'worker', 'owner', 'lane', 'throttle', 'outbox')
          """, as: Bool.self) == true
      }
    }
  }

  /// Runs `body`, and rethrows its errors as those of the catalog that the queue is in.
  @discardableResult
  func catalogErrors<Value>(_ body: () throws -> Value) throws(CatalogError) -> Value {
    try CatalogError.mapping(at: pool.address.name, body)
  }

  /// The numbers of items that were enqueued, and that were there before.
  package struct Enqueued: Hashable, Sendable {
    package var new = 0
    package var known = 0

    package init() {}
  }

  /// A condition for items that are put back: one whose state was overwritten before it was read, and is listed again;
  /// or one that was refused by another policy than the one that is named now.
  /// - Parameter policy: an expression for the named policy.
  private static func isBack(_ policy: String) -> String {
    "(NOT work.is_cancelled AND (work.state = 5 AND work.code = 'sourceChanged' OR work.state = 4 AND coalesce(work.policy, '') <> \(policy)))"
  }

  /// An expression for the lane of an item, given its present lane, if another policy or label is requested. All else
  /// that was requested for it stays.
  private static let laneAsked = """
    CASE WHEN $6 = 0 THEN work.lane
      ELSE reel.lane_of(CASE WHEN $9 = '' THEN lane.label ELSE $9 END, lane.destination, coalesce($8, lane.policy)) END
    """

  /// Puts items into the queue: new ones, ones whose state is there again, and ones that another policy has refused
  /// than the requested one. Of the others, those that are not taken yet will be judged by that policy, and get the
  /// label that is named with it; all else about them stays as it is.
  /// - Parameters:
  ///   - priority: the higher, the earlier.
  ///   - time: when they may be taken at the earliest; nil for now.
  package func enqueue(
    _ items: [NewItem], priority: Int = 0, wishes: ItemWishes = ItemWishes(), at time: Date? = nil
  ) throws(CatalogError) -> Enqueued {
    guard !items.isEmpty else { return Enqueued() }
    var call: Int64?
    return try catalogErrors {
      try pool.transaction { tx in
        let earlier = call
        call = try tx.value(Self.callNumber)
        let lane =
          wishes.areLanes
          ? try tx.value("SELECT reel.lane_of($1, $2, $3)", wishes.lane, as: Int64.self) ?? 0 : 0
        // In the order of the list, which is that of their numbers. Two processes that enqueue the same items at once
        // may deadlock: the server ends one of the transactions, which is tried again.
        let touched = try tx.rows(
          """
          WITH listed AS (
            SELECT DISTINCT ON (identity) sha256(identified) AS identity, address, version, size, place
            FROM unnest($1::bytea[], $2::bytea[], $3::text[], $4::bigint[]) WITH ORDINALITY
              AS given(identified, address, version, size, place)
            ORDER BY identity, place
          ), made AS (
            INSERT INTO reel.item (identity, address, version, size, enqueued_at, author)
            SELECT identity, address, version, size, \(PostgresSchema.now), $10 FROM listed ORDER BY place
            ON CONFLICT (identity) DO NOTHING
            RETURNING id
          ), begun AS (
            INSERT INTO reel.work (item, priority, changed_at, lane, state, due_at)
            SELECT id, $5, \(PostgresSchema.now), $6, CASE WHEN $7 > \(PostgresSchema.now) THEN 2 ELSE 0 END,
              CASE WHEN $7 > \(PostgresSchema.now) THEN $7 END
            FROM made RETURNING item
          ), moved AS (
            UPDATE reel.work SET lane = \(Self.laneAsked)
            FROM reel.item, reel.lane WHERE $8::text IS NOT NULL AND item.identity IN (SELECT identity FROM listed)
              AND work.item = item.id AND lane.id = work.lane AND work.state IN (0, 2) AND lane.policy IS DISTINCT FROM $8::text
            RETURNING work.item
          ), again AS (
            UPDATE reel.work SET \(Self.asNew), lane = \(Self.laneAsked)
            FROM reel.item, reel.lane WHERE item.identity IN (SELECT identity FROM listed) AND work.item = item.id
              AND lane.id = work.lane AND \(Self.isBack("$8::text")) RETURNING work.item
          )
          SELECT true FROM begun UNION ALL SELECT true FROM again UNION ALL SELECT false FROM moved
          """,
          [
            .byteStrings(items.map { $0.identified(wishes) }), .byteStrings(items.map(\.address.bytes)),
            .texts(items.map(\.version)), .ints(items.map(\.size)), .int(Int64(priority)), .int(lane),
            .int(time?.milliseconds), .text(wishes.policy), .text(wishes.label), .text(wishes.author),
          ]
        ) { try $0[0] as Bool }
        let new = touched.count { $0 }
        try Self.notify(tx, of: touched.count)
        // An earlier attempt may have been committed, with its answer lost. Now that its end has been waited for, what
        // it has written is recognized by its transaction's number.
        let before = tx.mayBeDone ? try made(by: earlier, of: items, wishes, tx) : 0
        var count = Enqueued()
        count.new = before + new
        count.known = items.count - count.new
        return count
      }
    }
  }

  /// A query for the number of the current transaction, as in the rows that it writes.
  static let callNumber = "SELECT (pg_current_xact_id()::text::numeric % 4294967296)::bigint"

  /// Returns how many of `items` were added, or put back, by the transaction of that number.
  private func made(by call: Int64?, of items: [NewItem], _ wishes: ItemWishes, _ tx: PostgresTransaction)
    throws -> Int
  {
    guard let call else { return 0 }
    return try tx.value(
      """
      SELECT count(*) FROM reel.item JOIN reel.work ON work.item = item.id
      WHERE identity IN (SELECT sha256(identified) FROM unnest($1::bytea[]) AS given(identified))
        AND (item.xmin::text::bigint = $2 OR work.xmin::text::bigint = $2)
      """, [.byteStrings(items.map { $0.identified(wishes) }), .int(call)]) ?? 0
  }

  /// Assignments that reset an item to what it was when it was enqueued.
  static let asNew =
    "state = 0, deaths = 0, failures = 0, due_at = NULL, code = NULL, message = NULL, is_cancelled = false, changed_at = \(PostgresSchema.now)"

  /// Makes a policy known to all workers.
  package func keep(_ policy: QueuePolicy) throws(CatalogError) {
    guard let document = policy.document else { return }
    try catalogErrors {
      try pool.transaction(ofOneStatement: true) { tx in
        try tx.run(
          "INSERT INTO reel.policy (name, document) VALUES ($1, $2) ON CONFLICT DO NOTHING",
          [.text(policy.name), .text(document)])
      }
    }
  }

  /// Returns a policy that items request; without a document if the queue has none, as for a preset.
  package func policy(named name: String) throws(CatalogError) -> QueuePolicy {
    let document = try catalogErrors {
      try pool.read(for: .steps) { db in
        try db.value("SELECT document FROM reel.policy WHERE name = $1", [.text(name)], as: String.self)
      }
    }
    return QueuePolicy(name: name, document: document)
  }

  /// Returns what ``enqueue(_:priority:wishes:at:)`` would do.
  package func wouldEnqueue(
    _ items: [NewItem], wishes: ItemWishes = ItemWishes()
  ) throws(CatalogError) -> Enqueued {
    var count = Enqueued()
    let items = Set(items)
    let known = try catalogErrors {
      try pool.read { db in
        try db.value(
          """
          SELECT count(*) FROM unnest($1::bytea[]) AS given(identified)
          JOIN reel.item ON identity = sha256(identified) JOIN reel.work ON work.item = item.id
          WHERE NOT coalesce(\(Self.isBack("$2::text")), false)
          """, [.byteStrings(items.map { $0.identified(wishes) }), .text(wishes.policy)], as: Int.self)
      }
    }
    count.known = known ?? 0
    count.new = items.count - count.known
    return count
  }

  /// Wakes as many waiting workers as `count` items call for. Workers behind PgBouncer, which
  /// receive nothing, look every few seconds.
  static func notify(_ tx: PostgresTransaction, of count: Int) throws {
    if count == 0 { return }
    _ = try tx.row(
      // If not every worker may take every item, all of them look.
      """
      SELECT pg_notify($1, $2 || ' ' || CASE WHEN EXISTS (SELECT FROM reel.lane WHERE id <> 0) THEN 0
        ELSE (SELECT count(*) FROM reel.worker) END)
      """,
      [.text(channel), .text(String(count))]
    ) { _ in true }
  }
}
