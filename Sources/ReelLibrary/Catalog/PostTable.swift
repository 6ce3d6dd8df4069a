import FoundationEssentials
import ReelCore

/// Posts as rows. Place and time are columns; the rest is the post's own JSON.
enum PostTable {
  /// A row, not yet read as a post: that is done off the database's thread.
  struct Stored: Sendable {
    let pageNumber: Int
    let createdAt: Int64
    let document: String
  }

  /// The post without what the columns say.
  static func document(
    of post: Post, in destination: Destination, at place: CatalogPlace
  ) throws(CatalogError) -> String {
    var bare = post
    bare.pageNumber = nil
    bare.createdAt = nil
    if place.name(of: destination) == .own { bare.videoURL = place.kept(post.videoURL) }
    let encoder = JSONEncoder()
    encoder.outputFormatting = .withoutEscapingSlashes
    do {
      return String(decoding: try encoder.encode(bare), as: UTF8.self)
    } catch {
      throw CatalogError(
        .unusable, "post \(post.id) cannot be written into the catalog \(place.path): \(error)")
    }
  }

  /// Gives the post the next place in the feed.
  static func insert(
    _ id: PostID, document: String, intent: Int64, at now: Int64, in db: Connection
  ) throws -> Int {
    let place = try db.number(
      "UPDATE feed SET lastPageNumber = lastPageNumber + 1 WHERE id = 1 RETURNING lastPageNumber")
    guard let place else {
      throw SQLiteError(.corrupt, "the feed's counter is missing")
    }
    try db.run(
      "INSERT INTO post (pageNumber, id, intent, createdAt, document) VALUES (?, ?, ?, ?, ?)",
      [place, id.bytes, intent, now, document])
    return Int(place)
  }

  static func find(_ id: PostID, in db: Connection) throws -> Stored? {
    try db.row("SELECT pageNumber, createdAt, document FROM post WHERE id = ?", [id.bytes]) { try Stored($0) }
  }

  /// The first post of `publication`, and the owner that is to tell its event, if it has not been told.
  static func find(
    _ publication: Publication, in store: StoreName, db: Connection
  ) throws -> (post: Stored, teller: Int64?)? {
    try db.row(
      """
      SELECT post.pageNumber, post.createdAt, post.document, outbox.owner AS teller
      FROM destination
      JOIN intent ON intent.destination = destination.id
      JOIN post ON post.intent = intent.number
      LEFT JOIN outbox ON outbox.pageNumber = post.pageNumber
      WHERE destination.name = ? AND intent.digest = ? AND intent.author = ?
        AND intent.state = 1 AND intent.ordinal IS NOT NULL
      ORDER BY intent.ordinal LIMIT 1
      """,
      [store.text, publication.digest.bytes, IntentTable.author(of: publication)]
    ) { row in (try Stored(row), try row["teller"]) }
  }

  /// The `limit` posts before `place`, the newest first.
  static func before(_ place: Int, limit: Int, in db: Connection) throws -> [Stored] {
    try db.rows(
      """
      SELECT pageNumber, createdAt, document FROM post
      WHERE pageNumber < ? ORDER BY pageNumber DESC LIMIT ?
      """, [place, limit]
    ) { try Stored($0) }
  }

  /// The posts with a place in `places`, in that order.
  static func at(_ places: Range<Int>, in db: Connection) throws -> [Stored] {
    try db.rows(
      """
      SELECT pageNumber, createdAt, document FROM post
      WHERE pageNumber >= ? AND pageNumber < ? ORDER BY pageNumber
      """, [places.lowerBound, places.upperBound]
    ) { try Stored($0) }
  }
}

extension PostTable.Stored {
  fileprivate init(_ row: Row) throws {
    pageNumber = try row["pageNumber"]
    createdAt = try row["createdAt"]
    document = try row["document"]
  }

  /// The post in this row.
  func post(at place: CatalogPlace) throws(CatalogError) -> Post {
    do {
      var post = try JSONDecoder().decode(Post.self, from: Data(document.utf8))
      post.videoURL = place.told(post.videoURL)
      post.pageNumber = pageNumber
      post.createdAt = Date(milliseconds: createdAt)
      return post
    } catch {
      throw CatalogError(
        .corrupt,
        "post \(pageNumber) in the catalog \(place.path) is damaged (\(error)): put a backup in its place")
    }
  }
}
