import GRDB

/// What is wrong with a catalog's database, a sentence each.
enum DamageQuery {
  private static let most = 20

  static func damage(in db: Database) throws -> [String] {
    // The rows of a file that SQLite finds broken are not worth asking.
    let pages = try String.fetchAll(db, sql: "PRAGMA integrity_check(\(most))").filter { $0 != "ok" }
    if !pages.isEmpty { return pages }
    return try brokenReferences(in: db) + contradictions(in: db)
  }

  private static func brokenReferences(in db: Database) throws -> [String] {
    try Row.fetchAll(db, sql: "PRAGMA foreign_key_check").prefix(most).map { row in
      "row \((row["rowid"] as Int64?).map(String.init) ?? "?") of \(row["table"] as String) refers to a "
        + "\(row["parent"] as String) that is not there"
    }
  }

  /// What the schema can't forbid.
  private static func contradictions(in db: Database) throws -> [String] {
    try rules.compactMap { rule in
      let count = try Int.fetchOne(db, sql: "SELECT count(*) FROM \(rule.rows)") ?? 0
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
