import FoundationEssentials
import ReelCore

extension SQLiteCatalog: CatalogExamination {
  /// Runs SQLite's own check of every page and index, and checks the references between tables and the rules that the
  /// rows must always follow. Returns at most 20 sentences from each.
  public func damage() async throws(CatalogError) -> [String] {
    try await connection.read { db in try DamageQuery.damage(in: db) }
  }

  /// Returns the owners with a row, and the locks that have none.
  public func owners() async throws(CatalogError) -> [ExaminedOwner] {
    try await connection.read { [registry] db in try registry.examined(in: db) }
  }

  /// Returns every store that anything was ever claimed in, by name.
  public func destinations() async throws(CatalogError) -> [Destination] {
    try await connection.look { db in
      try db.values("SELECT name FROM destination")
    }.map { place.destination(named: $0) }.sorted { $0.name < $1.name }
  }

  /// Returns a page of the objects in a store, found by index however many there are.
  public func objects(
    in destination: Destination, after key: ObjectKey?, limit: Int
  ) async throws(CatalogError) -> [ExaminedObject] {
    let (owners, store) = (registry, place.name(of: destination))
    return try await connection.read { db in
      try db.rows(
        """
        SELECT postID, objectKey, size, digest, state, intent.owner, changedAt, NULL AS posterState,
          change.number AS change, isStored
        FROM intent LEFT JOIN removal ON removal.intent = intent.number
          LEFT JOIN change ON change.intent = intent.number AND \(ChangeTable.movesObjects)
        WHERE intent.destination = (SELECT id FROM destination WHERE name = ?1) AND objectKey > ?2
        UNION ALL
        SELECT postID, poster.objectKey, poster.size, poster.digest, intent.state, poster.owner,
          poster.changedAt, poster.state, change.number, isStored
        FROM poster JOIN intent ON intent.number = poster.intent
          LEFT JOIN removal ON removal.intent = intent.number
          LEFT JOIN change ON change.intent = intent.number AND \(ChangeTable.movesObjects)
        WHERE poster.destination = (SELECT id FROM destination WHERE name = ?1)
          AND poster.objectKey > ?2
        UNION ALL
        SELECT postID, intent.objectKey, intent.size, intent.digest, state, NULL, changedAt, NULL, change.number, NULL
        FROM change JOIN intent ON intent.number = change.intent
        WHERE change.destination = (SELECT id FROM destination WHERE name = ?1) AND intent.objectKey > ?2
        UNION ALL
        SELECT postID, poster.objectKey, poster.size, poster.digest, intent.state, NULL, poster.changedAt, poster.state,
          change.number, NULL
        FROM change JOIN intent ON intent.number = change.intent JOIN poster ON poster.intent = intent.number
        WHERE change.destination = (SELECT id FROM destination WHERE name = ?1) AND poster.objectKey > ?2
          AND poster.state < 2
        ORDER BY objectKey LIMIT ?3
        """, [store.text, key?.rawValue ?? "", limit]
      ) { try ExaminedObject($0, owners, in: db) }
    }
  }
}

extension ExaminedObject {
  init(_ row: Row, _ owners: ProcessRegistry, in db: Connection) throws {
    guard let id = PostID(bytes: try row["postID"]), let key = ObjectKey(try row["objectKey"]),
      let digest = ContentDigest(sha256: try row["digest"] as [UInt8])
    else { throw SQLiteError(.corrupt, "an intent without a proper key") }
    let (poster, intent) = (try row["posterState"] as Int?, try row["state"] as Int)
    let state = try State(
      isPublished: intent == 1, isGivenUp: intent == 2, isChanging: (row["change"] as Int64?) != nil,
      isRemovedStored: row["isStored"], poster: poster.flatMap { State.Poster(rawValue: $0) },
      isOwnerAlive: try (row["owner"] as Int64?).map { try owners.isAlive($0, in: db) })
    self.init(
      kind: poster == nil ? .video : .poster, id: id, key: key, size: try row["size"], digest: digest,
      state: state, changedAt: Date(milliseconds: try row["changedAt"]))
  }
}

/// What is wrong with a catalog's database, one sentence for each fault.
enum DamageQuery {
  private static let most = 20

  static func damage(in db: Connection) throws -> [String] {
    // If SQLite finds the file broken, checking its rows is pointless.
    let pages = try db.values("PRAGMA integrity_check(\(most))", as: String.self).filter { $0 != "ok" }
    if !pages.isEmpty { return pages }
    return try brokenReferences(in: db) + contradictions(in: db)
  }

  private static func brokenReferences(in db: Connection) throws -> [String] {
    let sentences = try db.rows("PRAGMA foreign_key_check") { row in
      let (id, table, parent) = (
        try row["rowid"] as Int64?, try row["table"] as String, try row["parent"] as String
      )
      return "row \(id.map(String.init) ?? "?") of \(table) refers to a \(parent) that is not there"
    }
    return Array(sentences.prefix(most))
  }

  /// Finds contradictions that the schema can't prevent.
  private static func contradictions(in db: Connection) throws -> [String] {
    try rules.compactMap { rule in
      let count = try db.number("SELECT count(*) FROM \(rule.rows)") ?? 0
      return count == 0 ? nil : "\(count) \(rule.sentence)"
    }
  }

  private static let rules: [(rows: String, sentence: String)] = [
    (
      """
      intent WHERE state = 1 AND NOT EXISTS (SELECT 1 FROM post WHERE post.intent = intent.number)
        AND NOT EXISTS (SELECT 1 FROM removal WHERE removal.intent = intent.number)
      """,
      "published intents without a post"
    ),
    (
      "removal JOIN post ON post.intent = removal.intent OR post.pageNumber = removal.pageNumber",
      "removed posts that are in the feed"
    ),
    (
      "removal JOIN intent ON intent.number = removal.intent WHERE state <> 1",
      "removals of something that was not published"
    ),
    (
      "post JOIN intent ON intent.number = post.intent WHERE state <> 1 OR post.id <> intent.postID",
      "posts of something that is not published"
    ),
    (
      """
      poster JOIN intent ON intent.number = poster.intent
      WHERE poster.state = 1 AND intent.state <> 1 OR poster.state < 2 AND poster.destination <> intent.destination
      """,
      "posters of something that is not published, or stored elsewhere than its video"
    ),
    (
      "feed WHERE lastPageNumber < (SELECT ifnull(max(pageNumber), 0) FROM post)",
      "feed counters lower than the number of a post"
    ),
    ("post WHERE NOT json_valid(document)", "posts that can't be read"),
  ]
}

enum StatusQuery {
  static func status(at place: CatalogPlace, in db: Connection) throws -> CatalogStatus {
    let stores = try db.rows("SELECT name, posts, bytes FROM destination WHERE posts > 0") { row in
      (name: try row["name"] as String, posts: try row["posts"] as Int, bytes: try row["bytes"] as Int64)
    }
    return CatalogStatus(
      posts: stores.reduce(0) { $0.addingClamped($1.posts) },
      bytes: stores.reduce(0) { $0.addingClamped($1.bytes) },
      destinations: stores.map { (destination: place.destination(named: $0.name), posts: $0.posts) }
        .sorted { $0.destination.name < $1.destination.name },
      unfinished: try count("intent WHERE state = 0", in: db),
      failures: try FailureTable.newest(CatalogStatus.mostFailures, in: db),
      failureCount: try count("failure", in: db),
      schemaVersion: Int(try db.number("PRAGMA user_version") ?? 0),
      removed: try count("removal", in: db),
      kept: try count("removal WHERE isStored = 1 AND keptUntil IS NOT NULL", in: db))
  }

  static func count(_ rows: String, in db: Connection) throws -> Int {
    Int(try db.number("SELECT count(*) FROM \(rows)") ?? 0)
  }
}
