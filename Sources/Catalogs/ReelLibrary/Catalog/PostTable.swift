import FoundationEssentials
import ReelCore

/// Posts as rows. Place and time are columns; the rest is the post's JSON.
enum PostTable {
  /// A row that has not been decoded into a post yet: that is done off the database's thread.
  struct Stored: Sendable {
    let pageNumber: Int
    let createdAt: Int64
    let document: String

    /// The intent that became this post.
    func intent(in db: Connection) throws -> Int64 {
      guard
        let intent = try db.number("SELECT intent FROM post WHERE pageNumber = ?", [Int64(pageNumber)])
      else { throw SQLiteError(.corrupt, "a post that is gone") }
      return intent
    }
  }

  /// Returns the post's JSON, without what the columns hold.
  static func document(
    of post: Post, in destination: Destination, at place: CatalogPlace
  ) throws(CatalogError) -> String {
    var kept = post
    if place.name(of: destination) == .own {
      kept.videoURL = place.kept(post.videoURL)
      kept.posterURL = post.posterURL.map(place.kept)
    }
    do {
      return try kept.document()
    } catch {
      throw CatalogError(
        .unusable, "post \(post.id) cannot be written into the catalog \(place.path): \(error)")
    }
  }

  /// Gives the post the next place in the feed, and returns that place.
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

  /// Gives `post`, whose object is stored, the next place in the feed, as if it had
  /// been published and its event delivered.
  static func add(
    _ post: Post, of intent: Intent, size: Int64, at place: CatalogPlace, _ moment: Int64, in db: Connection
  ) throws {
    // No process works on it, so any number will do for its owner.
    let (publication, nobody) = (intent.publication, Int64(0))
    let request = ClaimRequest(
      publication: publication, duplicates: .allow, size: size, newID: intent.id, newKey: intent.key)
    let key = IntentTable.PublicationKey(
      publication, destination: try DestinationTable.id(of: place.name(of: publication.destination), in: db))
    try IntentTable.insert(request, key, owner: nobody, at: moment, in: db)
    guard let finished = try IntentTable.finish(intent, owner: nobody, at: moment, in: db) else {
      throw SQLiteError(.generic, "the intent of \(intent.key) is not there")
    }
    let document = try document(of: post, in: publication.destination, at: place)
    _ = try insert(intent.id, document: document, intent: finished.number, at: moment, in: db)
    try DestinationTable.count(bytes: size, in: finished.destination, db: db)
  }

  /// Makes the document say that the post shows `poster`.
  static func show(_ poster: PostPoster, url: String, by id: PostID, in db: Connection) throws {
    try db.run(
      """
      UPDATE post SET document = json_set(document, '$.poster', ?, '$.posterURL', ?, '$.posterWidth', ?,
        '$.posterHeight', ?, '$.blurHash', ?) WHERE id = ?
      """,
      [poster.key.rawValue, url, poster.width, poster.height, poster.blurHash, id.bytes])
  }

  static func find(_ id: PostID, in db: Connection) throws -> Stored? {
    try db.row("SELECT pageNumber, createdAt, document FROM post WHERE id = ?", [id.bytes]) { try Stored($0) }
  }

  /// Finds the first post of `publication`, or of what a file with its digest was mended to, and the owner that is to
  /// deliver its event if that is still undelivered.
  static func find(
    _ publication: Publication, in store: StoreName, db: Connection
  ) throws -> (post: Stored, teller: Int64?)? {
    let values: [any SQLiteValue] = [
      store.text, publication.digest.bytes, IntentTable.author(of: publication),
    ]
    let columns = "SELECT post.pageNumber, post.createdAt, post.document, outbox.owner AS teller"
    let post =
      "JOIN post ON post.intent = intent.number LEFT JOIN outbox ON outbox.pageNumber = post.pageNumber"
    let found = try db.row(
      """
      \(columns)
      FROM destination
      JOIN intent ON intent.destination = destination.id
      \(post)
      WHERE destination.name = ? AND intent.digest = ? AND intent.author = ?
        AND intent.state = 1 AND intent.ordinal IS NOT NULL
      ORDER BY intent.ordinal LIMIT 1
      """, values
    ) { row in (try Stored(row), try row["teller"] as Int64?) }
    return try found
      ?? db.row(
        """
        \(columns)
        FROM arrival
        CROSS JOIN intent ON intent.number = arrival.intent
        JOIN destination ON destination.id = intent.destination
        \(post)
        WHERE destination.name = ? AND arrival.digest = ? AND intent.author = ? AND intent.state = 1
        ORDER BY arrival.intent LIMIT 1
        """, values
      ) { row in (try Stored(row), try row["teller"] as Int64?) }
  }

  /// Finds the first post of `publication` in `store`.
  /// - Parameter orMoved: whether a post that has moved out of the store counts.
  static func find(
    _ publication: Publication, in store: StoreName, orMoved: Bool, db: Connection
  ) throws -> (post: Stored, teller: Int64?)? {
    try find(publication, in: store, db: db) ?? (orMoved ? moved(publication, from: store, db: db) : nil)
  }

  /// Finds the first post of `publication`, or of what a file with its digest was
  /// mended to, that has moved out of `store`.
  private static func moved(
    _ publication: Publication, from store: StoreName, db: Connection
  ) throws -> (post: Stored, teller: Int64?)? {
    let ways = [
      "JOIN intent ON intent.digest = ?2",
      "JOIN arrival ON arrival.digest = ?2 CROSS JOIN intent ON intent.number = arrival.intent",
    ]
    for way in ways {
      let found = try db.row(
        """
        SELECT post.pageNumber, post.createdAt, post.document, outbox.owner AS teller
        FROM destination CROSS \(way) AND intent.author = ?3
        CROSS JOIN departure ON departure.intent = intent.number AND departure.destination = destination.id
        JOIN post ON post.intent = intent.number LEFT JOIN outbox ON outbox.pageNumber = post.pageNumber
        WHERE destination.name = ?1 LIMIT 1
        """, [store.text, publication.digest.bytes, IntentTable.author(of: publication)]
      ) { row in (try Stored(row), try row["teller"] as Int64?) }
      if let found { return found }
    }
    return nil
  }

  /// Returns up to `limit` posts before `place` that `filter` admits, its text aside, the newest first.
  /// - Parameter places: the page numbers to choose from; nil for all.
  static func before(
    _ place: Int, matching filter: PostFilter = PostFilter(), among places: [Int]? = nil, limit: Int,
    in db: Connection
  ) throws -> [Stored] {
    var (conditions, values) = (["pageNumber < ?"], [place] as [any SQLiteValue])
    if let author = filter.authorID {
      let forms = author.canonicalForms
      let places = forms.map { _ in "?" }.joined(separator: ", ")
      conditions.append(
        "intent IN (SELECT number FROM intent WHERE author IN (\(places)) AND author <> x'' AND state = 1)")
      values += forms.map { IntentTable.author($0) as any SQLiteValue }
    }
    if let since = filter.since {
      // The clock may have been set back in between, so both conditions are needed.
      conditions += ["createdAt >= ?", "pageNumber >= ?"]
      values += [since.milliseconds, try first(since: since, in: db)]
    }
    if let places {
      conditions.append("pageNumber IN (SELECT value FROM json_each(?))")
      values.append("[\(places.map(String.init).joined(separator: ","))]")
    }
    return try db.rows(
      """
      SELECT pageNumber, createdAt, document FROM post
      WHERE \(conditions.joined(separator: " AND ")) ORDER BY pageNumber DESC LIMIT ?
      """, values + [limit]
    ) { try Stored($0) }
  }

  /// Returns the first place of a post that was published at `time` or later; one beyond all if there is none.
  static func first(since time: Date, in db: Connection) throws -> Int {
    let first = try db.number(
      "SELECT ifnull(min(pageNumber), ?) FROM post WHERE createdAt >= ?", [Int.max, time.milliseconds])
    return first.flatMap(Int.init(exactly:)) ?? .max
  }

  /// Returns the posts of a video, found by the digest of what is stored or of what came in, the oldest first.
  static func all(of digest: ContentDigest, in db: Connection) throws -> [Stored] {
    try db.rows(
      """
      SELECT pageNumber, createdAt, document FROM post WHERE intent IN (
        SELECT number FROM intent WHERE digest = ?1 UNION SELECT intent FROM arrival WHERE digest = ?1
      ) ORDER BY pageNumber
      """, [digest.bytes]
    ) { try Stored($0) }
  }

  /// Returns the posts with a place in `places`, in that order.
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

  /// Decodes the post in this row.
  func post(at place: CatalogPlace) throws(CatalogError) -> Post {
    do {
      var post = try Post(document: document, pageNumber: pageNumber, createdAt: createdAt)
      post.videoURL = place.told(post.videoURL)
      post.posterURL = post.posterURL.map(place.told)
      return post
    } catch {
      throw CatalogError(
        .corrupt,
        "post \(pageNumber) in the catalog \(place.path) is damaged (\(error)): restore a backup")
    }
  }
}

/// Stores by their names in the tables, and how much each holds.
enum DestinationTable {
  /// Returns the store's id, adding a row for the store if there is none.
  static func id(of store: StoreName, in db: Connection) throws -> Int64 {
    if let known = try find(store, in: db) { return known }
    try db.run("INSERT INTO destination (name, madeBy) VALUES (?, ?)", [store.text, CatalogSchema.version])
    return db.lastInsertedRowID
  }

  /// Returns nil if nothing was ever claimed in the store.
  static func find(_ store: StoreName, in db: Connection) throws -> Int64? {
    try db.number("SELECT id FROM destination WHERE name = ?", [store.text])
  }

  /// The number of videos and posters of posts that it holds.
  static func objects(in destination: Int64, db: Connection) throws -> Int {
    let posters = """
      SELECT count(*) FROM poster WHERE poster.destination = destination.id AND state = 1
        AND NOT EXISTS (SELECT 1 FROM removal WHERE removal.intent = poster.intent)
      """
    return Int(
      try db.number("SELECT posts + (\(posters)) FROM destination WHERE id = ?", [destination]) ?? 0)
  }

  /// The number of publications that are published in both stores.
  static func publicationsShared(_ one: Int64, _ other: Int64, in db: Connection) throws -> Int {
    let count = try db.number(
      """
      SELECT count(*) FROM (
        SELECT digest, author FROM intent JOIN post ON post.intent = number WHERE destination = ?
        INTERSECT SELECT digest, author FROM intent JOIN post ON post.intent = number WHERE destination = ?)
      """, [one, other])
    return Int(count ?? 0)
  }

  /// Counts one more post, of `bytes`.
  static func count(bytes: Int64, in destination: Int64, db: Connection) throws {
    try db.run(
      "UPDATE destination SET posts = posts + 1, bytes = bytes + ? WHERE id = ?", [bytes, destination])
  }

  /// Moves the intent, its poster and its post's bytes to the store `target`. A poster that is still being stored is
  /// given up; its row continues to name what may come into the old store.
  static func transfer(_ intent: Int64, to target: Int64, in db: Connection) throws {
    try count(-1, intent, in: db)
    try db.run(
      "INSERT OR IGNORE INTO departure (intent, destination) SELECT number, destination FROM intent WHERE number = ?",
      [intent])
    try db.run("DELETE FROM departure WHERE intent = ? AND destination = ?", [intent, target])
    try db.run(
      """
      UPDATE intent SET destination = ?2, ordinal = (
        SELECT ifnull(max(there.ordinal) + 1, 0) FROM intent AS there
        WHERE there.destination = ?2 AND there.digest = intent.digest AND there.author = intent.author)
      WHERE number = ?1
      """, [intent, target])
    try db.run("UPDATE poster SET state = 2, owner = NULL WHERE intent = ? AND state = 0", [intent])
    try db.run("UPDATE poster SET destination = ?2 WHERE intent = ?1 AND state = 1", [intent, target])
    try count(1, intent, in: db)
  }

  /// Counts the post of `intent` in its store.
  /// - Parameter sign: 1, or -1 if the post is no longer there.
  static func count(_ sign: Int64, _ intent: Int64, in db: Connection) throws {
    try db.run(
      """
      UPDATE destination SET posts = max(0, posts + ?1), bytes = max(0, bytes + ?1 * intent.size)
      FROM intent WHERE intent.number = ?2 AND destination.id = intent.destination
      """, [sign, intent])
  }

  /// Renames a store, with all that is recorded of it. If there is a store of the new name, the two become one; a
  /// publication that is a post in both then has two posts in it, as with `--duplicates allow`. Returns false, and
  /// changes nothing, if both have an object of the same name.
  ///
  /// The URLs of objects that begin with the old store's address are changed to the new one's; others
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
    try ["intent", "poster"].contains { table in
      try db.number(
        """
        SELECT 1 FROM \(table) WHERE destination = ?
          AND objectKey IN (SELECT objectKey FROM \(table) WHERE destination = ?) LIMIT 1
        """, [one, other]) != nil
    }
  }

  private static func merge(_ one: Int64, into other: Int64, in db: Connection) throws {
    try db.run(
      """
      UPDATE intent SET destination = :other, ordinal = ordinal + ifnull(
        (SELECT max(there.ordinal) + 1 FROM intent AS there WHERE there.destination = :other
          AND there.digest = intent.digest AND there.author = intent.author), 0)
      WHERE destination = :one
      """, named: ["one": one, "other": other])
    for table in ["poster", "checkpoint", "change"] {
      try db.run("UPDATE \(table) SET destination = ? WHERE destination = ?", [other, one])
    }
    try db.run("UPDATE OR IGNORE departure SET destination = ? WHERE destination = ?", [other, one])
    try db.run("DELETE FROM departure WHERE destination = ?", [one])
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
    // Skip what is not JSON: that is damage, which `reel doctor` reports, and no reason to stop here. Include removed
    // posts, which may be restored.
    for table in ["post", "removal"] {
      for (url, key) in [("$.videoURL", "intent.objectKey"), ("$.posterURL", "poster.objectKey")] {
        try db.run(
          """
          UPDATE \(table) SET document = json_set(document, '\(url)', :new || \(key))
          FROM intent LEFT JOIN poster ON poster.intent = intent.number AND poster.state = 1
          WHERE intent.number = \(table).intent AND intent.destination = :id
            AND CASE WHEN json_valid(document)
              THEN json_extract(document, '\(url)') = :old || \(key) ELSE 0 END
          """, named: ["id": id, "old": oldBase, "new": newBase])
      }
    }
  }
}

/// Posts whose event is still undelivered, each with the owner that is to deliver it.
enum Outbox {
  static func queue(_ pageNumber: Int, owner: Int64, in db: Connection) throws {
    try db.run("INSERT INTO outbox (pageNumber, owner) VALUES (?, ?)", [pageNumber, owner])
  }

  /// Makes `owner` deliver the event.
  static func hand(_ pageNumber: Int, to owner: Int64, in db: Connection) throws {
    try db.run("UPDATE outbox SET owner = ? WHERE pageNumber = ?", [owner, pageNumber])
  }

  /// Removes an event that `owner` has delivered. One that has become another owner's meanwhile stays with that owner.
  static func delete(_ post: PostID, owner: Int64, in db: Connection) throws {
    try db.run(
      "DELETE FROM outbox WHERE pageNumber = (SELECT pageNumber FROM post WHERE id = ?) AND owner = ?",
      [post.bytes, owner])
  }
}
