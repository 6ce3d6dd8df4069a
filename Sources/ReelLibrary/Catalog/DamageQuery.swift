/// What is wrong with a catalog's database, a sentence each.
enum DamageQuery {
  private static let most = 20

  static func damage(in db: Connection) throws -> [String] {
    // The rows of a file that SQLite finds broken are not worth asking.
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

  /// What the schema can't forbid.
  private static func contradictions(in db: Connection) throws -> [String] {
    try rules.compactMap { rule in
      let count = try db.number("SELECT count(*) FROM \(rule.rows)") ?? 0
      return count == 0 ? nil : "\(count) \(rule.sentence)"
    }
  }

  private static let rules: [(rows: String, sentence: String)] = [
    (
      "intent WHERE state = 1 AND NOT EXISTS (SELECT 1 FROM post WHERE post.intent = intent.number)",
      "published without a post"
    ),
    (
      "post JOIN intent ON intent.number = post.intent WHERE state <> 1 OR post.id <> intent.postID",
      "posts of something that is not published"
    ),
    (
      "feed WHERE lastPageNumber < (SELECT ifnull(max(pageNumber), 0) FROM post)",
      "counters of the feed behind its posts"
    ),
    ("post WHERE NOT json_valid(document)", "posts that can't be read"),
  ]
}
