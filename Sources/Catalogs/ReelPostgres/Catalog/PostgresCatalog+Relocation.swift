import ReelCore

extension PostgresCatalog: StoreRelocating {
  package func relocate(
    _ old: Destination, to new: Destination, holding objects: Int, duplicates: DuplicateHandling
  ) async throws(CatalogError) {
    let server = server
    try await change { tx, _ in
      let move = PostgresRelocation(tx: tx, old: old, new: new, server: server)
      try move.run(holding: objects, duplicates: duplicates)
    }
  }
}

/// The renaming of a store, in one transaction.
private struct PostgresRelocation {
  let tx: PostgresTransaction
  let old: Destination
  let new: Destination
  let server: String

  /// A claim looks up its store in its own transaction. So with this lock no claim is in between, and later claims look
  /// the store up by its new name. All rows of a large store are read, for which index scans alone are too slow.
  private static let begin = """
    LOCK TABLE reel.destination IN ACCESS EXCLUSIVE MODE; SET LOCAL statement_timeout = '10min';
    SET LOCAL enable_seqscan = on; SET LOCAL enable_hashjoin = on; SET LOCAL enable_mergejoin = on
    """

  func run(holding objects: Int, duplicates: DuplicateHandling) throws {
    let timeout = tx.connection.timeout
    tx.connection.timeout = .seconds(600)
    defer { tx.connection.timeout = timeout }
    try tx.connection.execute(Self.begin)
    let found = try id(of: new)
    guard let from = try id(of: old) else {
      // An earlier attempt at the same was committed although its answer was lost.
      if tx.mayBeDone, found != nil { return }
      throw CatalogError.neverStored(in: old, at: server)
    }
    let stores = [from, found].compactMap(\.self)
    if try isInUse(stores) { throw CatalogError.storing(in: old, or: new) }
    if try isMoving(between: stores) { throw CatalogError.moving(between: old, and: new) }
    try fenceOff(stores)
    guard try self.objects(in: from) == objects else { throw CatalogError.publishedMeanwhile(in: old) }
    guard let found else {
      try readdress(from)
      try tx.run("UPDATE reel.destination SET name = $2 WHERE id = $1", [.int(from), .text(new.name)])
      return
    }
    if duplicates == .skip {
      let both = try publicationsShared(from, found)
      guard both == 0 else { throw CatalogError.postsInBoth(both, old, new) }
    }
    if try namesAreShared(from, found) { throw CatalogError.sameNames(in: old, and: new, at: server) }
    try readdress(from)
    try merge(from, into: found)
  }

  private func id(of store: Destination) throws -> Int64? {
    try tx.value("SELECT id FROM reel.destination WHERE name = $1", [.text(store.name)])
  }

  private func isInUse(_ stores: [Int64]) throws -> Bool {
    try tx.value(
      """
      SELECT EXISTS (
        SELECT 1 FROM reel.attempt a JOIN reel.intent i ON i.number = a.intent JOIN reel.owner o ON o.id = a.owner
        WHERE i.destination = ANY($1) AND o.lease_until > \(PostgresSchema.now)
      ) OR EXISTS (
        SELECT 1 FROM reel.poster p JOIN reel.owner o ON o.id = p.owner
        WHERE p.destination = ANY($1) AND o.lease_until > \(PostgresSchema.now)
      ) OR EXISTS (
        SELECT 1 FROM reel.change c JOIN reel.intent i ON i.number = c.intent JOIN reel.owner o ON o.id = c.owner
        WHERE (i.destination = ANY($1) OR c.destination = ANY($1)) AND o.lease_until > \(PostgresSchema.now)
      )
      """, [.ints(stores)]) ?? false
  }

  /// Whether a post is being moved between these stores. Were they merged, an interrupted move would in the end remove
  /// objects that it has not copied.
  private func isMoving(between stores: [Int64]) throws -> Bool {
    try tx.value(
      """
      SELECT EXISTS (
        SELECT 1 FROM reel.change c JOIN reel.intent i ON i.number = c.intent
        WHERE i.destination = ANY($1) AND c.destination = ANY($1))
      """, [.ints(stores)]) ?? false
  }

  /// Takes everything in these stores from its owners. A process that was cut off for longer than its lease, and comes
  /// back, has stored under the old name.
  private func fenceOff(_ stores: [Int64]) throws {
    try tx.run(
      """
      UPDATE reel.attempt a SET owner = NULL FROM reel.intent i
      WHERE i.number = a.intent AND i.destination = ANY($1) AND a.owner IS NOT NULL
      """, [.ints(stores)])
    try tx.run(
      "UPDATE reel.poster SET owner = NULL WHERE destination = ANY($1) AND owner IS NOT NULL", [.ints(stores)]
    )
    try tx.run(
      """
      UPDATE reel.change c SET owner = NULL FROM reel.intent i
      WHERE i.number = c.intent AND (i.destination = ANY($1) OR c.destination = ANY($1)) AND c.owner IS NOT NULL
      """, [.ints(stores)])
  }

  /// The number of videos and posters of posts in the store.
  private func objects(in store: Int64) throws -> Int {
    try tx.value(
      """
      SELECT posts + (
        SELECT count(*) FROM reel.poster p WHERE p.destination = d.id AND p.state = 1
          AND NOT EXISTS (SELECT 1 FROM reel.removal m WHERE m.intent = p.intent))
      FROM reel.destination d WHERE id = $1
      """, [.int(store)]) ?? 0
  }

  private func publicationsShared(_ one: Int64, _ other: Int64) throws -> Int {
    let posts =
      "SELECT digest, author FROM reel.intent JOIN reel.post ON post.intent = number WHERE destination ="
    return try tx.value(
      "SELECT count(*) FROM (\(posts) $1 INTERSECT \(posts) $2) AS shared", [.int(one), .int(other)]) ?? 0
  }

  private func namesAreShared(_ one: Int64, _ other: Int64) throws -> Bool {
    try ["intent", "poster"].contains { table in
      try tx.value(
        """
        SELECT EXISTS (
          SELECT 1 FROM reel.\(table) a JOIN reel.\(table) b USING (object_key)
          WHERE a.destination = $1 AND b.destination = $2)
        """, [.int(one), .int(other)]) == true
    }
  }

  /// Merges one store into the other. A publication that is a post in both then has two posts in one store, as with
  /// `--duplicates allow`.
  private func merge(_ one: Int64, into other: Int64) throws {
    try tx.run(
      """
      UPDATE reel.intent i SET destination = $2, ordinal = ordinal + coalesce((
        SELECT max(there.ordinal) + 1 FROM reel.intent there
        WHERE there.destination = $2 AND there.digest = i.digest AND there.author = i.author), 0)
      WHERE destination = $1
      """, [.int(one), .int(other)])
    for table in ["poster", "checkpoint", "change"] {
      try tx.run(
        "UPDATE reel.\(table) SET destination = $2 WHERE destination = $1", [.int(one), .int(other)])
    }
    try tx.run(
      """
      INSERT INTO reel.departure (intent, destination) SELECT intent, $2 FROM reel.departure WHERE destination = $1
      ON CONFLICT DO NOTHING
      """, [.int(one), .int(other)])
    try tx.run("DELETE FROM reel.departure WHERE destination = $1", [.int(one)])
    try tx.run(
      """
      WITH gone AS (DELETE FROM reel.destination WHERE id = $1 RETURNING posts, bytes)
      UPDATE reel.destination d SET posts = d.posts + gone.posts, bytes = d.bytes + gone.bytes
      FROM gone WHERE d.id = $2
      """, [.int(one), .int(other)])
  }

  /// Changes the URLs of objects that begin with the old folder's address to the new one's. In a post's JSON, a
  /// backslash precedes each quote within a text, so no caption looks like a key with its value.
  private func readdress(_ store: Int64) throws {
    guard let oldBase = old.objectBase, let newBase = new.objectBase else { return }
    func moved(_ document: String, _ key: String, _ object: String) -> String {
      // PostgreSQL writes a space after the colon, Reel does not.
      [":", ": "].reduce(document) { text, colon in
        let begin = "'\"\(key)\"\(colon)\"'"
        return "replace(\(text), \(begin) || $2 || \(object) || '\"', \(begin) || $3 || \(object) || '\"')"
      }
    }
    let video = moved("p.document", "videoURL", "i.object_key")
    let poster =
      "CASE WHEN s.object_key IS NULL THEN v.document ELSE \(moved("v.document", "posterURL", "s.object_key")) END"
    // Include removed posts, which may be restored.
    for table in ["removal", "post"] {
      let changed = try tx.run(
        """
        UPDATE reel.\(table) t SET document = m.document
        FROM (
          SELECT p.page_number, p.document AS before, w.document
          FROM reel.intent i JOIN reel.\(table) p ON p.intent = i.number
          LEFT JOIN reel.poster s ON s.intent = i.number AND s.state = 1
          CROSS JOIN LATERAL (SELECT \(video) AS document) v
          CROSS JOIN LATERAL (SELECT \(poster) AS document) w
          WHERE i.destination = $1
        ) m
        WHERE t.page_number = m.page_number AND m.document <> m.before
        """, [.int(store), .text(oldBase), .text(newBase)])
      if table == "post", changed > 0 {
        try tx.run("UPDATE reel.feed SET revision = revision + 1 WHERE id = 1")
      }
    }
  }
}

extension Destination {
  /// The prefix of the URLs of a folder's objects; nil for any other store, which forms its URLs in its own way.
  fileprivate var objectBase: String? { name.hasPrefix("file://") ? name + "/" : nil }
}
