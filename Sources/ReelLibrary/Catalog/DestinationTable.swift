import ReelCore

/// Stores by their settled names, and how much each holds.
enum DestinationTable {
  /// The destination's id, given now if it has none.
  static func id(of store: StoreName, in db: Connection) throws -> Int64 {
    if let known = try find(store, in: db) { return known }
    try db.run("INSERT INTO destination (name, madeBy) VALUES (?, ?)", [store.text, CatalogSchema.version])
    return db.lastInsertedRowID
  }

  /// Nil when nothing was ever claimed in it.
  static func find(_ store: StoreName, in db: Connection) throws -> Int64? {
    try db.number("SELECT id FROM destination WHERE name = ?", [store.text])
  }

  /// How many posts it holds.
  static func posts(in destination: Int64, db: Connection) throws -> Int {
    Int(try db.number("SELECT posts FROM destination WHERE id = ?", [destination]) ?? 0)
  }

  /// How many publications are posts in both.
  static func publicationsShared(_ one: Int64, _ other: Int64, in db: Connection) throws -> Int {
    let count = try db.number(
      """
      SELECT count(*) FROM (
        SELECT digest, author FROM intent WHERE destination = ? AND state = 1
        INTERSECT SELECT digest, author FROM intent WHERE destination = ? AND state = 1)
      """, [one, other])
    return Int(count ?? 0)
  }

  /// Counts a post of `bytes`.
  static func count(bytes: Int64, in destination: Int64, db: Connection) throws {
    try db.run(
      "UPDATE destination SET posts = posts + 1, bytes = bytes + ? WHERE id = ?", [bytes, destination])
  }

  /// Names a store anew, with all that is written down for it. Where there is a store of the new name already, the two
  /// become one: what is a post in both is two posts of it then, as `--duplicates allow` makes them. Gives false, and
  /// nothing happened, when the two name an object alike.
  ///
  /// URLs of objects that are those of the old name's own become those of the new one's; others
  /// (`--public-base-url`) stay.
  @discardableResult
  static func rename(_ id: Int64, _ old: StoreName, to new: StoreName, in db: Connection) throws -> Bool {
    if let other = try find(new, in: db) {
      guard try !namesAreShared(id, other, in: db) else { return false }
      try readdress(id, old, to: new, in: db)
      try merge(id, into: other, in: db)
    } else {
      try readdress(id, old, to: new, in: db)
      try db.run("UPDATE destination SET name = ? WHERE id = ?", [new.text, id])
    }
    return true
  }

  private static func namesAreShared(_ one: Int64, _ other: Int64, in db: Connection) throws -> Bool {
    try db.number(
      """
      SELECT 1 FROM intent WHERE destination = ?
        AND objectKey IN (SELECT objectKey FROM intent WHERE destination = ?) LIMIT 1
      """, [one, other]) != nil
  }

  private static func merge(_ one: Int64, into other: Int64, in db: Connection) throws {
    try db.run(
      """
      UPDATE intent SET destination = :other, ordinal = ordinal + ifnull(
        (SELECT max(there.ordinal) + 1 FROM intent AS there WHERE there.destination = :other
          AND there.digest = intent.digest AND there.author = intent.author), 0)
      WHERE destination = :one
      """, named: ["one": one, "other": other])
    try db.run("UPDATE checkpoint SET destination = ? WHERE destination = ?", [other, one])
    try db.run(
      """
      UPDATE destination SET posts = destination.posts + gone.posts, bytes = destination.bytes + gone.bytes
      FROM destination AS gone WHERE destination.id = ? AND gone.id = ?
      """, [other, one])
    try db.run("DELETE FROM destination WHERE id = ?", [one])
  }

  private static func readdress(
    _ id: Int64, _ old: StoreName, to new: StoreName, in db: Connection
  ) throws {
    guard let oldBase = old.objectBase, let newBase = new.objectBase else { return }
    // What is not JSON is damage for `reel doctor` to tell, and no reason to stop here.
    try db.run(
      """
      UPDATE post SET document = json_set(document, '$.videoURL', :new || intent.objectKey)
      FROM intent
      WHERE intent.number = post.intent AND intent.destination = :id
        AND CASE WHEN json_valid(document)
          THEN json_extract(document, '$.videoURL') = :old || intent.objectKey ELSE 0 END
      """, named: ["id": id, "old": oldBase, "new": newBase])
  }
}
