import FoundationEssentials
import ReelCore

/// Posts that were removed.
enum RemovalTable {
  /// A row whose post has not been decoded yet: that is done off the database's thread.
  struct Stored: Sendable {
    let post: PostTable.Stored
    let removal: Removal
    let isStored: Bool

    func post(at place: CatalogPlace) throws(CatalogError) -> RemovedPost {
      RemovedPost(post: try post.post(at: place), removal: removal, mayBeStored: isStored)
    }
  }

  private static let columns = """
    SELECT removal.pageNumber, removal.createdAt, removal.document, reason, removedBy, removedAt, keptUntil, isStored
    """

  static func find(_ id: PostID, in db: Connection) throws -> Stored? {
    try db.row(
      "\(columns) FROM intent JOIN removal ON removal.intent = intent.number WHERE postID = ?", [id.bytes]
    ) { try Stored($0) }
  }

  static func find(intent: Int64, in db: Connection) throws -> Stored? {
    try db.row("\(columns) FROM removal WHERE intent = ?", [intent]) { try Stored($0) }
  }

  /// Finds the newest removal of that video and author, in any store, unless the video has become a post since.
  static func newest(
    of digest: ContentDigest, author: [UInt8], in db: Connection
  ) throws -> Stored? {
    try db.row(
      """
      \(columns) FROM removal
      WHERE intent IN (
          SELECT number FROM intent WHERE digest = ?1 AND author = ?2
          UNION SELECT number FROM arrival JOIN intent ON number = arrival.intent WHERE arrival.digest = ?1 AND author = ?2
        )
        AND NOT EXISTS (
          SELECT 1 FROM intent JOIN post ON post.intent = intent.number
          WHERE digest = ?1 AND author = ?2 AND post.createdAt >= removal.removedAt)
        AND NOT EXISTS (
          SELECT 1 FROM arrival JOIN intent ON number = arrival.intent JOIN post ON post.intent = number
          WHERE arrival.digest = ?1 AND author = ?2 AND post.createdAt >= removal.removedAt)
      ORDER BY removal.intent DESC LIMIT 1
      """, [digest.bytes, author]
    ) { try Stored($0) }
  }

  static func all(of digest: ContentDigest, in db: Connection) throws -> [Stored] {
    try db.rows(
      """
      \(columns) FROM removal WHERE intent IN (
        SELECT number FROM intent WHERE digest = ?1 UNION SELECT intent FROM arrival WHERE digest = ?1
      ) ORDER BY pageNumber
      """, [digest.bytes]
    ) { try Stored($0) }
  }

  /// Returns removed posts whose objects may be in the store, that need not be kept at
  /// `moment`, and that have no open change.
  static func expired(
    at moment: Int64, after pageNumber: Int, limit: Int, in db: Connection
  ) throws -> [Stored] {
    try db.rows(
      """
      \(columns) FROM removal
      WHERE isStored = 1 AND pageNumber > ?1 AND ifnull(keptUntil, 0) <= ?2
        AND NOT EXISTS (SELECT 1 FROM change WHERE change.intent = removal.intent)
      ORDER BY pageNumber LIMIT ?3
      """, [pageNumber, moment, max(0, limit)]
    ) { try Stored($0) }
  }

  /// Takes the post of `intent` out of the feed.
  static func insert(_ removal: Removal, of intent: Int64, in db: Connection) throws {
    try db.run(
      """
      INSERT INTO removal
        (intent, pageNumber, createdAt, document, reason, removedBy, removedAt, keptUntil)
      SELECT intent, pageNumber, createdAt, document, ?2, ?3, ?4, ?5 FROM post WHERE intent = ?1
      """,
      [intent, removal.reason, removal.by, removal.at.milliseconds, removal.keptUntil?.milliseconds])
    // The event of its publication need not be delivered any more.
    try db.run(
      "DELETE FROM outbox WHERE pageNumber = (SELECT pageNumber FROM post WHERE intent = ?)", [intent])
    try db.run("DELETE FROM post WHERE intent = ?", [intent])
    try DestinationTable.count(-1, intent, in: db)
  }

  /// Puts the post of `intent` back in its old place in the feed.
  static func takeBack(_ intent: Int64, document: String, in db: Connection) throws {
    try db.run(
      """
      INSERT INTO post (pageNumber, id, intent, createdAt, document)
      SELECT pageNumber, postID, intent, removal.createdAt, ?2 FROM removal JOIN intent ON number = intent WHERE intent = ?1
      """, [intent, document])
    try db.run(
      "INSERT INTO rewording (pageNumber) SELECT pageNumber FROM removal WHERE intent = ?", [intent])
    try db.run("DELETE FROM removal WHERE intent = ?", [intent])
    try DestinationTable.count(1, intent, in: db)
  }

  static func setStored(_ isStored: Bool, _ intent: Int64, in db: Connection) throws {
    try db.run("UPDATE removal SET isStored = ? WHERE intent = ?", [isStored, intent])
    if !isStored { try db.run("UPDATE poster SET state = 2, owner = NULL WHERE intent = ?", [intent]) }
  }
}

extension RemovalTable.Stored {
  fileprivate init(_ row: Row) throws {
    post = PostTable.Stored(
      pageNumber: try row["pageNumber"], createdAt: try row["createdAt"], document: try row["document"])
    removal = Removal(
      reason: try row["reason"], by: try row["removedBy"], at: Date(milliseconds: try row["removedAt"]),
      keptUntil: (try row["keptUntil"] as Int64?).map { Date(milliseconds: $0) })
    isStored = try row["isStored"]
  }
}
