import FoundationEssentials
import ReelCatalogCopy
import ReelCore

/// A catalog on a server, to copy from. It is read in one snapshot, and needs only the right to read.
package struct PostgresCopySource: CatalogCopySource {
  package var name: String { pool.address.name }
  private let pool: PostgresPool

  package init(_ pool: PostgresPool) { self.pool = pool }

  package func read<Value: Sendable>(_ body: @Sendable (any CatalogRows) throws -> Value) throws -> Value {
    try CatalogError.mapping(at: name) {
      let db = try pool.connect()
      db.timeout = PostgresRows.longest
      try db.execute(
        """
        BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; \(ConnectionSettings.pinned); SET LOCAL statement_timeout = '10min';
        SET LOCAL idle_in_transaction_session_timeout = '10min'
        """)
      try check(db)
      let state = try State(db)
      if let first = try PostgresCatalog.contradictions(in: db).first {
        throw CatalogError(
          .corrupt,
          "the catalog \(name) is inconsistent (\(first)), so it was not copied: repair it first")
      }
      let value = try body(PostgresRows(db: db, server: name))
      // What was published meanwhile would be missing from the copy.
      if try pool.read({ db in try State(db) }) != state { throw Self.isInUse(name) }
      return value
    }
  }

  private func check(_ db: PostgresConnection) throws {
    let found = try PostgresSchema.found(in: db)
    if found == 0 {
      throw CatalogError(.unusable, "there is no catalog in \(name): name another")
    }
    if found > PostgresSchema.version { throw CatalogError.newerSchema(found, at: name) }
    if found < PostgresSchema.version { throw CatalogError.needsWriter(at: name) }
    if try State.livingOwners(db) > 0 { throw Self.isInUse(name) }
  }

  static func isInUse(_ name: String) -> CatalogError {
    CatalogError(
      .locked,
      "a process is at work with the catalog \(name), or was less than a minute ago: wait until it is done, or end it, and "
        + "try again")
  }

  /// What changes when a process publishes.
  private struct State: Equatable {
    let feed: [Int64]
    let owners: Int

    init(_ db: PostgresConnection) throws {
      feed =
        try db.row(
          """
          SELECT last_page_number, revision, (SELECT coalesce(max(number), 0) FROM reel.intent),
            (SELECT coalesce(max(number), 0) FROM reel.poster), (SELECT coalesce(max(number), 0) FROM reel.change)
          FROM reel.feed WHERE id = 1
          """
        ) { row in try (0..<5).map { try row[$0] as Int64 } } ?? []
      owners = try Self.livingOwners(db)
    }

    static func livingOwners(_ db: PostgresConnection) throws -> Int {
      try db.value("SELECT count(*) FROM reel.owner WHERE lease_until > \(PostgresSchema.now)") ?? 0
    }
  }
}

/// A database in which a copy is created, in one transaction.
package struct PostgresCopyTarget: CatalogCopyTarget {
  package var name: String { pool.address.name }
  private let pool: PostgresPool

  package init(_ pool: PostgresPool) { self.pool = pool }

  /// Begins a transaction that keeps out all who would publish, until it ends.
  private static let begin = """
    BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE; \(ConnectionSettings.pinned); SET LOCAL statement_timeout = '10min'; SET LOCAL lock_timeout = '30s';
    SET LOCAL idle_in_transaction_session_timeout = '10min'; SET LOCAL synchronous_commit = on; SET LOCAL jit = off;
    LOCK TABLE \(PostgresRows.tables) IN SHARE ROW EXCLUSIVE MODE
    """

  package func fill<Value>(_ body: (any CatalogFilling) throws -> Value) throws -> Value {
    try CatalogError.mapping(at: name) {
      try PostgresSchema.prepare(pool)
      let db = try pool.connect()
      db.timeout = PostgresRows.longest
      try db.begin(Self.begin)
      try checkIsEmpty(db)
      let value = try body(PostgresRows(db: db, server: name))
      do {
        try db.execute("COMMIT")
      } catch  where !db.isUsable {
        try lookForCopy(error)
      }
      return value
    }
  }

  private func checkIsEmpty(_ db: PostgresConnection) throws {
    let living: Int? = try db.value(
      "SELECT count(*) FROM reel.owner WHERE lease_until > \(PostgresSchema.now)")
    if living != 0 { throw PostgresCopySource.isInUse(name) }
    let filled = try PostgresRows.filled(db)
    guard filled.isEmpty else {
      throw CatalogError(
        .unusable,
        "the catalog \(name) is not empty (\(filled.joined(separator: ", "))), and a copy never adds to another catalog: "
          + "name an empty database")
    }
  }

  /// Finds out whether the copy is there, after the connection was lost during COMMIT; throws `error` if it is not.
  private func lookForCopy(_ error: any Error) throws {
    let isThere = try pool.transaction { tx in
      // Waits until the lost transaction has ended.
      try tx.connection.execute("LOCK TABLE \(PostgresRows.tables) IN SHARE ROW EXCLUSIVE MODE")
      return try !PostgresRows.filled(tx.connection).isEmpty
    }
    if !isThere { throw error }
  }
}

/// The rows of a catalog on a server, in a transaction.
struct PostgresRows: CatalogFilling {
  /// How long one statement may take; some of them read every row.
  static let longest = Duration.seconds(600)
  private static let batch = 500

  let db: PostgresConnection
  /// The server's name, for messages.
  let server: String

  let sections = CatalogSection.allCases

  func each(of section: CatalogSection, _ body: ([CatalogRow]) throws -> Void) throws {
    let kinds = section.columns.map(\.value)
    try mapping {
      try db.execute("DECLARE copied NO SCROLL CURSOR FOR \(Self.selection(section))")
    }
    while true {
      let rows = try mapping {
        try db.rows("FETCH FORWARD \(Self.batch) FROM copied") { row in
          try kinds.enumerated().map { index, kind in try Self.value(of: row, index, kind) }
        }
      }
      if rows.isEmpty { break }
      try body(rows)
    }
    try mapping { try db.execute("CLOSE copied") }
  }

  private static func value(
    of row: PostgresRow, _ index: Int, _ kind: CatalogSection.Kind
  ) throws -> CatalogValue {
    switch kind {
    case .int: (try row[index] as Int64?).map { .int($0) } ?? .null
    case .text: (try row[index] as String?).map { .text($0) } ?? .null
    case .bytes: (try row[index] as [UInt8]?).map { .bytes($0) } ?? .null
    }
  }

  private static func selection(_ section: CatalogSection) -> String {
    switch section {
    case .destinations: "SELECT id, name, posts, bytes FROM reel.destination ORDER BY id"
    case .intents:
      """
      SELECT i.number, i.post_id, i.destination, i.object_key, i.digest, i.author, i.ordinal, i.size,
        CASE WHEN i.ordinal IS NULL THEN 2 WHEN coalesce(p.intent, m.intent) IS NOT NULL THEN 1 ELSE 0 END,
        coalesce(a.attempt, p.attempt, m.attempt), i.created_at,
        coalesce(p.created_at, m.created_at, a.changed_at, i.given_up_at)
      FROM reel.intent i LEFT JOIN reel.attempt a ON a.intent = i.number LEFT JOIN reel.post p ON p.intent = i.number
      LEFT JOIN reel.removal m ON m.intent = i.number ORDER BY i.number
      """
    case .arrivals: "SELECT digest, intent FROM reel.arrival ORDER BY digest, intent"
    case .posters:
      """
      SELECT number, intent, destination, object_key, digest, size, state, changed_at FROM reel.poster ORDER BY number
      """
    case .feed: "SELECT last_page_number, revision FROM reel.feed"
    case .posts:
      "SELECT page_number, intent, attempt, created_at, document FROM reel.post ORDER BY page_number"
    case .removals:
      """
      SELECT intent, page_number, attempt, created_at, document, is_stored::int, reason, removed_by, removed_at, kept_until
      FROM reel.removal ORDER BY intent
      """
    case .departures: "SELECT intent, destination FROM reel.departure ORDER BY intent, destination"
    case .changes:
      "SELECT number, intent, kind, is_done::int, destination, keys FROM reel.change ORDER BY number"
    case .events: "SELECT page_number FROM reel.outbox ORDER BY page_number"
    case .checkpoints:
      """
      SELECT destination, object_key, digest, secret, changed_at FROM reel.checkpoint ORDER BY destination, object_key
      """
    case .readings: "SELECT digest, reel, ffmpeg, outcome FROM reel.reading ORDER BY digest, reel, ffmpeg"
    case .files:
      """
      SELECT host, device, inode, size, modified_at, changed_at, digest FROM reel.known_file
      ORDER BY host, device, inode
      """
    case .failures:
      "SELECT path, host, code, message, refused::int, at FROM reel.failure ORDER BY path, host"
    case .lanes: "SELECT id, label, destination, policy FROM reel.lane WHERE id <> 0 ORDER BY id"
    case .policies: "SELECT name, document FROM reel.policy ORDER BY name"
    case .throttles: "SELECT label, paused_at, most FROM reel.throttle ORDER BY label"
    case .items: "SELECT id, identity, address, version, size, enqueued_at, author FROM reel.item ORDER BY id"
    case .work:
      """
      SELECT item, priority, state, worker, attempts, deaths, failures, changed_at, due_at, code, message,
        lane, taken_by, taken_at, policy, is_cancelled::int
      FROM reel.work ORDER BY item
      """
    case .happenings:
      """
      SELECT number, item, attempt, taken_by, taken_at, at, state, code, message, policy, due_at
      FROM reel.item_history ORDER BY number
      """
    case .workers:
      "SELECT id, host, pid, destination, started_at, finished, failed FROM reel.worker ORDER BY id"
    }
  }

  // MARK: Filling

  /// All tables that rows are copied into, except for the feed's counter.
  private static let filledTables = [
    "destination", "intent", "attempt", "arrival", "poster", "post", "removal", "departure", "change",
    "outbox", "said",
    "checkpoint",
    "reading",
    "known_file",
    "failure", "lane", "policy", "throttle", "item", "work", "item_history", "worker",
  ]

  static let tables = (filledTables + ["feed"]).map { "reel.\($0)" }.joined(separator: ", ")

  /// Returns the tables that are not empty.
  static func filled(_ db: PostgresConnection) throws -> [String] {
    try filledTables.filter { table in
      // One lane, 0, exists from the beginning.
      let rows = table == "lane" ? "lane WHERE id <> 0" : table
      return try db.value("SELECT EXISTS (SELECT 1 FROM reel.\(rows))", as: Bool.self) == true
    }
  }

  func takes(_ row: CatalogRow, of section: CatalogSection) -> Bool { true }

  func add(_ rows: [CatalogRow], to section: CatalogSection) throws {
    if rows.isEmpty { return }
    try mapping {
      switch section {
      case .feed:
        for row in rows {
          try db.run(
            "UPDATE reel.feed SET last_page_number = $1, revision = $2 WHERE id = 1",
            [.int(row[0].int), .int(row[1].int)])
        }
      case .intents:
        let author = section.place(of: "author")
        if rows.contains(where: { ($0[author].bytes?.count ?? 0) > PostgresPublishing.longestAuthor }) {
          throw CatalogError.authorTooLong(at: server)
        }
        try insert(rows, section)
      case .posts:
        try insert(rows, section)
        try insertWords(of: rows)
      default: try insert(rows, section)
      }
    }
  }

  private func insert(_ rows: [CatalogRow], _ section: CatalogSection) throws {
    let columns = section.columns
    try db.run(
      """
      WITH r AS (
        SELECT * FROM unnest(\(columns.enumerated().map { "$\($0 + 1)::\(Self.type($1.value))[]" }.joined(separator: ", ")))
          AS r(\(columns.map { "\"\($0.key)\"" }.joined(separator: ", ")))
      )
      \(Self.insertion(section))
      """,
      columns.enumerated().map { index, column in
        switch column.value {
        case .int: .ints(rows.map { $0[index].int })
        case .text: .texts(rows.map { $0[index].text })
        case .bytes: .byteStrings(rows.map { $0[index].bytes })
        }
      })
  }

  private static func type(_ kind: CatalogSection.Kind) -> String {
    switch kind {
    case .int: "bigint"
    case .text: "text"
    case .bytes: "bytea"
    }
  }

  private static func insertion(_ section: CatalogSection) -> String {
    switch section {
    case .destinations:
      "INSERT INTO reel.destination (id, name, posts, bytes) OVERRIDING SYSTEM VALUE SELECT * FROM r"
    case .intents:
      """
      , begun AS (
        INSERT INTO reel.attempt (intent, attempt, claim, changed_at)
        SELECT number, attempt, 0, "changedAt" FROM r WHERE state = 0
      )
      INSERT INTO reel.intent (number, post_id, destination, object_key, digest, author, ordinal, size, created_at,
        given_up_at) OVERRIDING SYSTEM VALUE
      SELECT number, "postID", destination, "objectKey", digest, author, ordinal, size, "createdAt",
        CASE WHEN state = 2 THEN "changedAt" END FROM r
      """
    case .arrivals: "INSERT INTO reel.arrival (digest, intent) SELECT * FROM r"
    case .posters:
      """
      INSERT INTO reel.poster (number, intent, destination, object_key, digest, size, state, changed_at)
        OVERRIDING SYSTEM VALUE SELECT * FROM r
      """
    case .posts:
      "INSERT INTO reel.post (page_number, intent, attempt, created_at, document) SELECT * FROM r"
    case .removals:
      """
      INSERT INTO reel.removal (intent, page_number, attempt, created_at, document, reason, removed_by, removed_at, kept_until,
        is_stored)
      SELECT intent, "pageNumber", attempt, "createdAt", document, reason, "removedBy", "removedAt", "keptUntil",
        "isStored" <> 0 FROM r
      """
    case .departures: "INSERT INTO reel.departure (intent, destination) SELECT * FROM r"
    case .changes:
      """
      INSERT INTO reel.change (number, intent, kind, is_done, destination, keys, claim) OVERRIDING SYSTEM VALUE
      SELECT number, intent, kind, "isDone" <> 0, destination, keys, 0 FROM r
      """
    case .events: "INSERT INTO reel.outbox (page_number, owner) SELECT \"pageNumber\", 0 FROM r"
    case .checkpoints:
      "INSERT INTO reel.checkpoint (destination, object_key, digest, secret, changed_at) SELECT * FROM r"
    case .readings: "INSERT INTO reel.reading (digest, reel, ffmpeg, outcome) SELECT * FROM r"
    case .files:
      """
      INSERT INTO reel.known_file (host, device, inode, size, modified_at, changed_at, digest) SELECT * FROM r
      """
    case .failures:
      """
      INSERT INTO reel.failure (path, host, code, message, refused, at)
      SELECT path, host, code, message, refused <> 0, at FROM r
      """
    case .lanes:
      """
      INSERT INTO reel.lane (id, label, destination, policy) OVERRIDING SYSTEM VALUE SELECT * FROM r
      """
    case .policies: "INSERT INTO reel.policy (name, document) SELECT * FROM r"
    case .throttles: "INSERT INTO reel.throttle (label, paused_at, most) SELECT * FROM r"
    case .items:
      """
      INSERT INTO reel.item (id, identity, address, version, size, enqueued_at, author) OVERRIDING SYSTEM VALUE
      SELECT * FROM r
      """
    case .work:
      """
      INSERT INTO reel.work (item, priority, state, worker, attempts, deaths, failures, changed_at, due_at, code, message,
        lane, taken_by, taken_at, policy, is_cancelled)
      SELECT item, priority, state, worker, attempts, deaths, failures, "changedAt", "dueAt", code, message,
        lane, "takenBy", "takenAt", policy, "isCancelled" <> 0 FROM r
      """
    case .happenings:
      """
      INSERT INTO reel.item_history (number, item, attempt, taken_by, taken_at, at, state, code, message, policy, due_at)
        OVERRIDING SYSTEM VALUE SELECT * FROM r
      """
    case .workers:
      // No process is alive in a copy: what a worker held is free.
      """
      INSERT INTO reel.worker (id, host, pid, destination, started_at, finished, failed, lease_until, knows)
        OVERRIDING SYSTEM VALUE SELECT r.*, 0, \(PostgresSchema.version) FROM r
      """
    case .feed: "SELECT 1"
    }
  }

  /// Adds the searched words of each post.
  private func insertWords(of posts: [CatalogRow]) throws {
    let (place, document) = (0, CatalogSection.posts.place(of: "document"))
    var said: [(number: Int64, words: String)] = []
    for row in posts {
      guard let post = try? JSONDecoder().decode(Post.self, from: Data((row[document].text ?? "").utf8))
      else {
        throw CatalogError(
          .corrupt,
          "post \(row[place].int ?? 0) of the catalog that is copied can't be read: repair it first")
      }
      if let intent = row[1].int, let words = PostgresWords.vector(of: post) { said.append((intent, words)) }
    }
    try db.run(
      """
      INSERT INTO reel.said (intent, words)
      SELECT r.intent, r.words::tsvector FROM unnest($1::bigint[], $2::text[]) AS r(intent, words)
      """, [.ints(said.map(\.number)), .texts(said.map(\.words))])
  }

  /// The columns whose counters must continue after the numbers that were copied.
  private static let counters = [
    ("destination", "id"), ("intent", "number"), ("poster", "number"), ("change", "number"), ("item", "id"),
    ("worker", "id"), ("lane", "id"), ("item_history", "number"),
  ]

  func settle() throws {
    try mapping {
      for (table, column) in Self.counters {
        _ = try db.rows(
          """
          SELECT setval(pg_get_serial_sequence('reel.\(table)', '\(column)'), max(\(column))) FROM reel.\(table)
          HAVING max(\(column)) > 0
          """
        ) { _ in true }
      }
      // Without statistics, the planner would guess for the next minutes.
      try db.execute("ANALYZE \(Self.tables)")
      if let first = try PostgresCatalog.contradictions(in: db).first {
        throw CatalogError(
          .corrupt, "the copy in \(server) would be inconsistent (\(first)), so it was abandoned")
      }
    }
  }

  private func mapping<Value>(_ body: () throws -> Value) throws -> Value {
    try CatalogError.mapping(at: server, body)
  }
}
