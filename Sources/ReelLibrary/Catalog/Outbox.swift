import ReelCore

/// Posts whose event has not been told yet, each with the owner that is to tell it.
enum Outbox {
  static func queue(_ pageNumber: Int, owner: Int64, in db: Connection) throws {
    try db.run("INSERT INTO outbox (pageNumber, owner) VALUES (?, ?)", [pageNumber, owner])
  }

  /// Makes `owner` tell it.
  static func hand(_ pageNumber: Int, to owner: Int64, in db: Connection) throws {
    try db.run("UPDATE outbox SET owner = ? WHERE pageNumber = ?", [owner, pageNumber])
  }

  /// Strikes out what `owner` has told. What became another's to tell meanwhile stays that one's.
  static func delete(_ post: PostID, owner: Int64, in db: Connection) throws {
    try db.run(
      "DELETE FROM outbox WHERE pageNumber = (SELECT pageNumber FROM post WHERE id = ?) AND owner = ?",
      [post.bytes, owner])
  }
}
