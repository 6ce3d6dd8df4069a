import FoundationEssentials
import ReelCore

extension PostgresCatalog: CatalogExamination {
  /// A query for the page numbers of posts that are in the feed, or were.
  private static let places =
    "SELECT page_number FROM reel.post UNION ALL SELECT page_number FROM reel.removal"

  private static let rules: [(rows: String, sentence: String)] = [
    (
      """
      reel.intent i WHERE ordinal IS NOT NULL AND NOT EXISTS (SELECT 1 FROM reel.post p WHERE p.intent = i.number)
        AND NOT EXISTS (SELECT 1 FROM reel.attempt a WHERE a.intent = i.number)
        AND NOT EXISTS (SELECT 1 FROM reel.removal m WHERE m.intent = i.number)
      """, "intents that are neither unfinished nor published nor removed nor given up"
    ),
    (
      "reel.attempt a JOIN reel.post p ON p.intent = a.intent", "intents that are unfinished and published"
    ),
    (
      "reel.removal m JOIN reel.post p ON p.intent = m.intent OR p.page_number = m.page_number",
      "removed posts that are in the feed"
    ),
    (
      """
      reel.removal m WHERE NOT EXISTS (
          SELECT 1 FROM reel.intent i WHERE i.number = m.intent AND i.ordinal IS NOT NULL)
        OR EXISTS (SELECT 1 FROM reel.attempt a WHERE a.intent = m.intent)
      """, "removals of something that was not published"
    ),
    (
      """
      reel.change c WHERE NOT EXISTS (SELECT 1 FROM reel.post p WHERE p.intent = c.intent)
        AND NOT EXISTS (SELECT 1 FROM reel.removal m WHERE m.intent = c.intent)
        OR destination IS NOT NULL AND NOT EXISTS (SELECT 1 FROM reel.destination d WHERE d.id = c.destination)
      """, "changes of no post, or to no store"
    ),
    (
      "reel.attempt a WHERE NOT EXISTS (SELECT 1 FROM reel.intent i WHERE i.number = a.intent)",
      "attempts at no intent"
    ),
    (
      """
      reel.post p WHERE NOT EXISTS (
        SELECT 1 FROM reel.intent i WHERE i.number = p.intent AND i.ordinal IS NOT NULL)
      """, "posts of something that is not published"
    ),
    (
      """
      reel.poster s JOIN reel.intent i ON i.number = s.intent
      WHERE s.state = 1 AND NOT EXISTS (SELECT 1 FROM reel.post p WHERE p.intent = i.number)
          AND NOT EXISTS (SELECT 1 FROM reel.removal m WHERE m.intent = i.number)
        OR s.state < 2 AND s.destination <> i.destination
      """, "posters of something that is not published, or stored elsewhere than its video"
    ),
    (
      "reel.outbox x WHERE NOT EXISTS (SELECT 1 FROM reel.post p WHERE p.page_number = x.page_number)",
      "events of no post"
    ),
    (
      "reel.intent i WHERE NOT EXISTS (SELECT 1 FROM reel.destination d WHERE d.id = i.destination)",
      "intents without a destination"
    ),
    (
      """
      reel.feed f WHERE last_page_number <> (SELECT count(*) FROM (\(places)) t)
        OR last_page_number <> (SELECT coalesce(max(page_number), 0) FROM (\(places)) t)
      """, "feeds whose pages have holes, or whose counter is not that of its posts"
    ),
    (
      """
      reel.destination d WHERE posts <> (
        SELECT count(*) FROM reel.post p JOIN reel.intent i ON i.number = p.intent WHERE i.destination = d.id)
      """, "destinations whose count of posts is not that of its posts"
    ),
  ]

  /// Checks the rules that rows must follow, and reads each post. (The server's own
  /// pages: `pg_amcheck`, and checksums.)
  package func damage() async throws(CatalogError) -> [String] {
    if Task.isCancelled { throw .cancelled(at: server) }
    // A long check in one snapshot, so that what is published meanwhile does not look like a contradiction.
    let found = try await blocking { pool in
      try pool.withConnection { db in
        db.timeout = .seconds(3600)
        defer { db.timeout = pool.settings.statementTimeout }
        try db.execute(
          """
          BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; \(ConnectionSettings.pinned); SET LOCAL statement_timeout = '1h'
          """)
        defer { if db.isUsable { try? db.execute("COMMIT") } }
        return try Self.contradictions(in: db)
      }
    }
    return found + (try await unreadablePosts())
  }

  /// Returns one sentence for each rule that does not hold.
  static func contradictions(in db: PostgresConnection) throws -> [String] {
    try rules.compactMap { rule in
      let count: Int = try db.value("SELECT count(*) FROM \(rule.rows)") ?? 0
      return count == 0 ? nil : "\(count) \(rule.sentence)"
    }
  }

  private func unreadablePosts() async throws(CatalogError) -> [String] {
    var (last, count) = (0, 0)
    while true {
      let (from, batch) = (last, 1000)
      let found = try await look { db in
        try db.rows(
          """
          SELECT page_number, created_at, document FROM reel.post WHERE page_number > $1 ORDER BY page_number LIMIT $2
          """, [.int(Int64(from)), .int(Int64(batch))]
        ) { try PostgresPublishing.StoredPost($0) }
      }
      count += found.filter { (try? post($0)) == nil }.count
      guard let newest = found.last else { break }
      last = newest.pageNumber
    }
    return count == 0 ? [] : ["\(count) posts that can't be read"]
  }

  package func owners() async throws(CatalogError) -> [ExaminedOwner] {
    try await look { db in
      try db.rows(
        """
        SELECT name, pid, lease_until, lease_until > \(PostgresSchema.now) AS lives FROM reel.owner ORDER BY id
        """
      ) { row in
        ExaminedOwner(
          name: try row["name"], pid: try row["pid"], leaseUntil: Date(milliseconds: try row["lease_until"]),
          life: try row["lives"] ? .alive : .dead)
      }
    }
  }

  package func destinations() async throws(CatalogError) -> [Destination] {
    try await look { db in
      try db.rows("SELECT name FROM reel.destination ORDER BY name") { Destination(try $0[0]) }
    }
  }

  /// The state of an intent `i`, with its post `p`, its removal `m`, and the change `c` that adds or removes its
  /// objects. (A move does so in another store.)
  private static let standing = """
    i.ordinal IS NULL AS is_given_up, p.intent IS NOT NULL OR m.intent IS NOT NULL AS is_published,
      c.intent IS NOT NULL AS is_changing, m.is_stored
    """
  private static let changes = """
    LEFT JOIN reel.post p ON p.intent = i.number LEFT JOIN reel.removal m ON m.intent = i.number
    LEFT JOIN reel.change c
      ON c.intent = i.number AND c.kind NOT IN (\(ChangeKind.edit.rawValue), \(ChangeKind.move.rawValue))
    """

  /// Returns a page of the objects in a store, found by index however many there are.
  package func objects(
    in destination: Destination, after key: ObjectKey?, limit: Int
  ) async throws(CatalogError) -> [ExaminedObject] {
    try await look { db in
      try db.rows(
        """
        WITH d AS (SELECT id FROM reel.destination WHERE name = $1)
        (
          SELECT i.post_id, i.object_key, i.size, i.digest, \(Self.standing), a.owner,
            coalesce(o.lease_until > \(PostgresSchema.now), false) AS lives, NULL::bigint AS poster_state,
            coalesce(p.created_at, m.created_at, a.changed_at, i.given_up_at, i.created_at) AS changed_at
          FROM reel.intent i LEFT JOIN reel.attempt a ON a.intent = i.number LEFT JOIN reel.owner o ON o.id = a.owner
          \(Self.changes)
          WHERE i.destination = (SELECT id FROM d) AND i.object_key > $2 ORDER BY i.object_key LIMIT $3
        ) UNION ALL (
          SELECT i.post_id, s.object_key, s.size, s.digest, \(Self.standing), s.owner,
            coalesce(o.lease_until > \(PostgresSchema.now), false), s.state, s.changed_at
          FROM reel.poster s JOIN reel.intent i ON i.number = s.intent LEFT JOIN reel.owner o ON o.id = s.owner
          \(Self.changes)
          WHERE s.destination = (SELECT id FROM d) AND s.object_key > $2 ORDER BY s.object_key LIMIT $3
        ) UNION ALL (
          SELECT i.post_id, k.object_key, k.size, k.digest, false, true, true, NULL, NULL, false, k.state, k.changed_at
          FROM reel.change c JOIN reel.intent i ON i.number = c.intent
          CROSS JOIN LATERAL (
            SELECT i.object_key, i.size, i.digest, NULL::bigint AS state, i.created_at AS changed_at
            UNION ALL
            SELECT object_key, size, digest, state, changed_at FROM reel.poster WHERE intent = i.number AND state < 2
          ) k
          WHERE c.destination = (SELECT id FROM d) AND k.object_key > $2 ORDER BY k.object_key LIMIT $3
        ) ORDER BY object_key LIMIT $3
        """, [.text(destination.name), .text(key?.rawValue ?? ""), .int(Int64(limit))]
      ) { try ExaminedObject($0) }
    }
  }
}

extension ExaminedObject {
  init(_ row: PostgresRow) throws {
    guard let id = PostID(bytes: try row["post_id"]), let key = ObjectKey(try row["object_key"]),
      let digest = ContentDigest(sha256: try row["digest"] as [UInt8])
    else { throw PostgresError(.unexpected, "an intent without a proper key or digest") }
    let (poster, owner): (Int?, Int64?) = (try row["poster_state"], try row["owner"])
    let lives: Bool = try row["lives"]
    let state = State(
      isPublished: try row["is_published"], isGivenUp: try row["is_given_up"],
      isChanging: try row["is_changing"], isRemovedStored: try row["is_stored"],
      poster: poster.flatMap { State.Poster(rawValue: $0) }, isOwnerAlive: owner.map { _ in lives })
    self.init(
      kind: poster == nil ? .video : .poster, id: id, key: key, size: try row["size"], digest: digest,
      state: state, changedAt: Date(milliseconds: try row["changed_at"]))
  }
}

extension PostgresCatalog: CatalogRepair {
  /// Releases what dead owners hold, in one transaction. An owner that is, or may be, alive keeps what it has.
  package func releaseWhatTheDeadHold() async throws(CatalogError) {
    try await change { tx, _ in
      try tx.run("DELETE FROM reel.owner WHERE lease_until <= \(PostgresSchema.now)")
      for table in PostgresOwner.held {
        try tx.run(
          """
          UPDATE reel.\(table) SET owner = NULL
          WHERE owner IS NOT NULL AND NOT EXISTS (SELECT 1 FROM reel.owner o WHERE o.id = \(table).owner)
          """)
      }
    }
  }

  /// Gives up the unfinished intent of that post. The next claim for the same video draws another key.
  package func giveUp(_ id: PostID) async throws(CatalogError) -> Bool {
    try await change { tx, me in
      // If another process takes it over at this moment, the next statement sees that, with the owner's row.
      try tx.run(
        "SELECT FROM reel.attempt WHERE intent = (SELECT number FROM reel.intent WHERE post_id = $1) FOR UPDATE",
        [.bytes(id.bytes)])
      try tx.run(
        """
        WITH gone AS (
          DELETE FROM reel.attempt a USING reel.intent i WHERE i.post_id = $1 AND a.intent = i.number
            AND a.owner IS DISTINCT FROM $2 AND NOT EXISTS (SELECT 1 FROM reel.owner o WHERE o.id = a.owner AND o.lease_until > \(PostgresSchema.now))
          RETURNING a.intent
        )
        UPDATE reel.intent SET ordinal = NULL, given_up_at = \(PostgresSchema.now)
        WHERE number IN (SELECT intent FROM gone)
        """, [.bytes(id.bytes), .int(me)])
      return try Self.isGivenUp(id, tx.connection)
    }
  }

  static func isGivenUp(_ id: PostID, _ db: PostgresConnection) throws -> Bool {
    try db.value(
      "SELECT true FROM reel.intent WHERE post_id = $1 AND ordinal IS NULL", [.bytes(id.bytes)], as: Bool.self
    )
      == true
  }

  /// Gives up a poster. Its row continues to name the object.
  package func giveUpPoster(
    _ key: ObjectKey, in destination: Destination
  ) async throws(CatalogError) -> Bool {
    try await change { tx, me in
      let changed = try tx.run(
        """
        UPDATE reel.poster p SET state = 2, owner = NULL, changed_at = \(PostgresSchema.now)
        WHERE p.destination = (SELECT id FROM reel.destination WHERE name = $1) AND p.object_key = $2 AND p.state = 0
          AND NOT EXISTS (SELECT 1 FROM reel.attempt a WHERE a.intent = p.intent)
          AND (p.owner = $3 OR NOT EXISTS (
            SELECT 1 FROM reel.owner o WHERE o.id = p.owner AND o.lease_until > \(PostgresSchema.now)))
        """, [.text(destination.name), .text(key.rawValue), .int(me)])
      if changed > 0 { return true }
      return try tx.value(
        """
        SELECT true FROM reel.poster
        WHERE destination = (SELECT id FROM reel.destination WHERE name = $1) AND object_key = $2 AND state = 2
        """, [.text(destination.name), .text(key.rawValue)], as: Bool.self) == true
    }
  }
}
