import FoundationEssentials
import ReelCore

/// Posters by the intents of their posts.
enum PosterTable {
  /// The name of a poster of these bytes: that of an earlier attempt, else a new one.
  static func name(
    _ request: PosterRequest, for intent: Int64, at now: Int64, in db: Connection
  ) throws -> ObjectKey {
    let earlier: String? = try db.row(
      "SELECT objectKey FROM poster WHERE intent = ? AND digest = ? AND state = 0 ORDER BY number",
      [intent, request.digest.bytes]
    ) { row in try row[0] }
    if let earlier {
      guard let key = ObjectKey(earlier) else { throw SQLiteError(.corrupt, "a poster without a proper key") }
      return key
    }
    try db.run(
      """
      INSERT INTO poster (intent, destination, objectKey, digest, size, changedAt)
      SELECT number, destination, ?, ?, ?, ? FROM intent WHERE number = ?
      """, [request.newKey.rawValue, request.digest.bytes, request.size, now, intent])
    return request.newKey
  }

  static func isNamed(_ key: ObjectKey, in destination: Int64, db: Connection) throws -> Bool {
    try db.number(
      "SELECT 1 FROM poster WHERE destination = ? AND objectKey = ?", [destination, key.rawValue]) != nil
  }

  /// The post of `intent` shows the poster from now on. False when that was given up meanwhile.
  @discardableResult
  static func show(_ key: ObjectKey, of intent: Int64, at now: Int64, in db: Connection) throws -> Bool {
    try db.number(
      "UPDATE poster SET state = 1, changedAt = ? WHERE intent = ? AND objectKey = ? AND state = 0 RETURNING 1",
      [now, intent, key.rawValue]) != nil
  }

  /// The intent of a post that shows no poster.
  static func intentWithout(_ post: PostID, in db: Connection) throws -> Int64? {
    try db.number(
      """
      SELECT intent FROM post
      WHERE id = ? AND NOT EXISTS (SELECT 1 FROM poster WHERE poster.intent = post.intent AND poster.state = 1)
      """, [post.bytes])
  }

  /// Gives up a poster that no post shows or is about to show. False when there is no such poster.
  static func giveUp(_ key: ObjectKey, in store: StoreName, db: Connection) throws -> Bool {
    try db.number(
      """
      UPDATE poster SET state = 2
      WHERE destination = (SELECT id FROM destination WHERE name = ?) AND objectKey = ? AND state <> 1
        AND (SELECT state FROM intent WHERE number = poster.intent) <> 0
      RETURNING 1
      """, [store.text, key.rawValue]) != nil
  }
}
