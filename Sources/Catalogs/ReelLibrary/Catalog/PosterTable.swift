import FoundationEssentials
import ReelCore

/// Posters by the intents of their posts.
enum PosterTable {
  /// Returns the object key for a poster of these bytes: that of an earlier attempt, else a new one.
  /// - Parameter owner: the owner that works on it, if the post is already published.
  static func name(
    _ request: PosterRequest, for intent: Int64, owner: Int64? = nil, at now: Int64, in db: Connection
  ) throws -> ObjectKey {
    let earlier: (number: Int64, key: String)? = try db.row(
      "SELECT number, objectKey FROM poster WHERE intent = ? AND digest = ? AND state = 0 ORDER BY number",
      [intent, request.digest.bytes]
    ) { row in (try row[0], try row[1]) }
    if let earlier {
      guard let key = ObjectKey(earlier.key) else {
        throw SQLiteError(.corrupt, "a poster without a proper key")
      }
      try db.run(
        "UPDATE poster SET owner = ?, changedAt = ? WHERE number = ?", [owner, now, earlier.number])
      return key
    }
    try db.run(
      """
      INSERT INTO poster (intent, destination, objectKey, digest, size, owner, changedAt)
      SELECT number, destination, ?, ?, ?, ?, ? FROM intent WHERE number = ?
      """, [request.newKey.rawValue, request.digest.bytes, request.size, owner, now, intent])
    return request.newKey
  }

  static func isNamed(_ key: ObjectKey, in destination: Int64, db: Connection) throws -> Bool {
    try db.number(
      "SELECT 1 FROM poster WHERE destination = ? AND objectKey = ?", [destination, key.rawValue]) != nil
  }

  /// Makes the post of `intent` show the poster. False if the poster is no longer `owner`'s.
  @discardableResult
  static func show(
    _ key: ObjectKey, of intent: Int64, owner: Int64? = nil, at now: Int64, in db: Connection
  ) throws -> Bool {
    try db.number(
      """
      UPDATE poster SET state = 1, owner = NULL, changedAt = ?
      WHERE intent = ? AND objectKey = ? AND state = 0 AND owner IS ? RETURNING 1
      """, [now, intent, key.rawValue, owner]) != nil
  }

  /// Returns posts in that store that show no poster, in the order of the feed.
  static func postsWithout(
    in store: StoreName, at place: CatalogPlace, after pageNumber: Int, limit: Int, db: Connection
  ) throws -> [PosterlessPost] {
    // Without CROSS JOIN, SQLite scans all of the store's intents and sorts them.
    try db.rows(
      """
      SELECT postID, objectKey, digest, size, pageNumber, json_extract(document, '$.videoURL') AS url
      FROM post CROSS JOIN intent ON intent.number = post.intent
      WHERE pageNumber > ? AND json_valid(document) AND destination = (SELECT id FROM destination WHERE name = ?)
        AND NOT EXISTS (SELECT 1 FROM poster WHERE poster.intent = post.intent AND poster.state = 1)
      ORDER BY pageNumber LIMIT ?
      """, [pageNumber, store.text, limit]
    ) { row in
      guard let id = PostID(bytes: try row["postID"]), let video = ObjectKey(try row["objectKey"]),
        let digest = ContentDigest(sha256: try row["digest"] as [UInt8])
      else {
        throw SQLiteError(.corrupt, "an intent without a proper key or digest")
      }
      return PosterlessPost(
        id: id, video: video, digest: digest, size: try row["size"], videoURL: place.told(try row["url"]),
        pageNumber: try row["pageNumber"])
    }
  }

  /// Finds the intent of a post in that store that shows no poster, and the owners that work on posters for it.
  static func intentWithout(
    _ post: PostID, in store: StoreName, db: Connection
  ) throws -> (number: Int64, holders: [Int64])? {
    let number = try db.number(
      """
      SELECT post.intent FROM post JOIN intent ON intent.number = post.intent
      WHERE post.id = ? AND json_valid(document)
        AND intent.destination = (SELECT id FROM destination WHERE name = ?)
        AND NOT EXISTS (SELECT 1 FROM poster WHERE poster.intent = post.intent AND poster.state = 1)
      """, [post.bytes, store.text])
    return try number.map { number in
      let holders: [Int64] = try db.values(
        "SELECT owner FROM poster WHERE intent = ? AND owner IS NOT NULL", [number])
      return (number, holders)
    }
  }

  /// Returns the owner that works on the poster of that name; nil if there is none.
  static func owner(of key: ObjectKey, in store: StoreName, db: Connection) throws -> Int64? {
    try db.number(
      """
      SELECT owner FROM poster
      WHERE destination = (SELECT id FROM destination WHERE name = ?) AND objectKey = ? AND owner IS NOT NULL
      """, [store.text, key.rawValue])
  }

  /// Gives up a poster that no post shows or is about to show. False if there is no such poster.
  static func giveUp(_ key: ObjectKey, in store: StoreName, db: Connection) throws -> Bool {
    try db.number(
      """
      UPDATE poster SET state = 2, owner = NULL
      WHERE destination = (SELECT id FROM destination WHERE name = ?) AND objectKey = ? AND state <> 1
        AND (SELECT state FROM intent WHERE number = poster.intent) <> 0
      RETURNING 1
      """, [store.text, key.rawValue]) != nil
  }

  /// Gives up the poster of an intent that this attempt holds, because its name is taken.
  static func giveUp(_ key: ObjectKey, of intent: Intent, owner: Int64, in db: Connection) throws {
    try db.run(
      """
      UPDATE poster SET state = 2 WHERE objectKey = ? AND state = 0 AND intent =
        (SELECT number FROM intent WHERE postID = ? AND attempt = ? AND owner = ? AND state = 0)
      """, [key.rawValue, intent.id.bytes, intent.attempt, owner])
  }
}
