import FoundationEssentials
import ReelCore

enum IntentTable {
  /// An intent that is neither published nor given up.
  struct Unfinished {
    let number: Int64
    let id: PostID
    let key: ObjectKey
    let attempt: Int
    let owner: Int64?
  }

  /// The columns that identify a publication.
  struct PublicationKey {
    let digest: [UInt8]
    let destination: Int64
    let author: [UInt8]

    init(_ publication: Publication, destination: Int64) {
      digest = publication.digest.bytes
      self.destination = destination
      author = IntentTable.author(of: publication)
    }

    var arguments: [any SQLiteValue] { [digest, destination, author] }
  }

  /// Returns "=" and the author's id, or nothing if there is no author.
  static func author(of publication: Publication) -> [UInt8] {
    publication.authorID.map(author) ?? []
  }

  static func author(_ id: String) -> [UInt8] { Array(("=" + id).utf8) }

  static func unfinished(_ key: PublicationKey, in db: Connection) throws -> [Unfinished] {
    try db.rows(
      """
      SELECT number, postID, objectKey, attempt, owner FROM intent
      WHERE digest = ? AND destination = ? AND author = ? AND state = 0 ORDER BY ordinal
      """, key.arguments
    ) { try Unfinished($0) }
  }

  /// Finds unfinished intents of the same destination and author that are for the same file: mended, if `key` is of the
  /// file as it is, or the other way round.
  /// - Parameter arrived: the digest of the file as it came in, if `key` is of a mended one.
  static func related(
    to key: PublicationKey, arrived: ContentDigest?, in db: Connection
  ) throws -> [Unfinished] {
    try db.rows(
      """
      SELECT number, postID, objectKey, attempt, owner FROM intent
      WHERE digest = ?4 AND digest <> ?1 AND destination = ?2 AND author = ?3 AND state = 0
      UNION
      SELECT number, postID, objectKey, attempt, owner FROM arrival
      JOIN intent ON intent.number = arrival.intent
      WHERE arrival.digest IN (?1, ?4) AND intent.digest <> ?1 AND destination = ?2 AND author = ?3 AND state = 0
      """, key.arguments + [arrived?.bytes ?? key.digest]
    ) { try Unfinished($0) }
  }

  /// Remembers the digest of the file from which the intent's object was made.
  static func remember(_ arrived: ContentDigest, of intent: Int64, in db: Connection) throws {
    try db.run("INSERT OR IGNORE INTO arrival (digest, intent) VALUES (?, ?)", [arrived.bytes, intent])
  }

  /// Finds the unfinished intent of that post, and its publication.
  static func unfinished(
    _ id: PostID, at place: CatalogPlace, in db: Connection
  ) throws -> (publication: Publication, intent: Unfinished)? {
    try db.row(
      """
      SELECT number, postID, objectKey, attempt, owner, digest, author, name
      FROM intent JOIN destination ON destination.id = intent.destination WHERE postID = ? AND state = 0
      """, [id.bytes]
    ) { row in
      guard let digest = ContentDigest(sha256: try row["digest"] as [UInt8]) else {
        throw SQLiteError(.corrupt, "an intent without a proper digest")
      }
      let author = String(decoding: try row["author"] as [UInt8], as: UTF8.self)
      let publication = Publication(
        digest: digest, destination: place.destination(named: try row["name"]),
        authorID: author.isEmpty ? nil : String(author.dropFirst()))
      return (publication, try Unfinished(row))
    }
  }

  /// Adds an intent, and returns its number.
  @discardableResult
  static func insert(
    _ request: ClaimRequest, _ key: PublicationKey, owner: Int64, at now: Int64, in db: Connection
  ) throws -> Int64 {
    // The query always gives one row, with NULL if there is no intent.
    let last =
      try db.value(
        "SELECT max(ordinal) FROM intent WHERE digest = ? AND destination = ? AND author = ?", key.arguments,
        as: Int64?.self) ?? nil
    try db.run(
      """
      INSERT INTO intent
        (postID, destination, objectKey, digest, author, ordinal, size, owner, createdAt, changedAt)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
      """,
      [
        request.newID.bytes, key.destination, request.newKey.rawValue, key.digest, key.author,
        last.map { $0.addingClamped(1) } ?? 0, request.size, owner, now, now,
      ])
    return db.lastInsertedRowID
  }

  /// Gives the intent to `owner`, and counts another attempt.
  static func takeOver(_ number: Int64, owner: Int64, at now: Int64, in db: Connection) throws {
    try db.run(
      "UPDATE intent SET attempt = attempt + 1, owner = ?, changedAt = ? WHERE number = ?",
      [owner, now, number])
  }

  /// Marks the intent published, if this attempt still holds it and the poster that its post is to show is named.
  /// Returns its number and destination; nil if it did not.
  static func finish(
    _ intent: Intent, showing poster: ObjectKey? = nil, owner: Int64, at now: Int64, in db: Connection
  ) throws -> (number: Int64, destination: Int64)? {
    let isNamed =
      "AND EXISTS (SELECT 1 FROM poster WHERE poster.intent = intent.number AND poster.objectKey = ? AND poster.state = 0)"
    return try db.row(
      """
      UPDATE intent SET state = 1, owner = NULL, changedAt = ?
      WHERE postID = ? AND attempt = ? AND owner = ? AND state = 0 \(poster == nil ? "" : isNamed)
      RETURNING number, destination
      """,
      [now, intent.id.bytes, intent.attempt, owner] + (poster.map { [$0.rawValue] } ?? [])
    ) { row in (try row["number"], try row["destination"]) }
  }

  /// Gives an unfinished intent up for good, whichever process had it.
  static func giveUp(_ number: Int64, at now: Int64, in db: Connection) throws {
    try db.run(
      "UPDATE intent SET owner = NULL, state = 2, ordinal = NULL, changedAt = ? WHERE number = ? AND state = 0",
      [now, number])
  }

  static func isGivenUp(_ id: PostID, in db: Connection) throws -> Bool {
    try db.number("SELECT 1 FROM intent WHERE postID = ? AND state = 2", [id.bytes]) != nil
  }

  /// Releases the intent, or gives it up for good if its key is unusable; only if this attempt still holds it.
  static func release(
    _ intent: Intent, because reason: ReleaseReason, owner: Int64, at now: Int64, in db: Connection
  ) throws {
    if case .posterUnusable = reason, let poster = intent.poster {
      try PosterTable.giveUp(poster, of: intent, owner: owner, in: db)
    }
    let change =
      switch reason {
      case .retryLater, .posterUnusable: "owner = NULL"
      case .keyUnusable: "owner = NULL, state = 2, ordinal = NULL"
      }
    try db.run(
      """
      UPDATE intent SET \(change), changedAt = ?
      WHERE postID = ? AND attempt = ? AND owner = ? AND state = 0
      """, [now, intent.id.bytes, intent.attempt, owner])
  }
}

extension IntentTable.Unfinished {
  fileprivate init(_ row: Row) throws {
    guard let key = ObjectKey(try row["objectKey"]), let id = PostID(bytes: try row["postID"]) else {
      throw SQLiteError(.corrupt, "an intent without a proper key")
    }
    number = try row["number"]
    self.id = id
    self.key = key
    attempt = try row["attempt"]
    owner = try row["owner"]
  }
}

/// Upload checkpoints by object.
enum CheckpointTable {
  static func find(
    _ key: ObjectKey, in store: StoreName, db: Connection
  ) throws -> UploadCheckpoint? {
    try db.row(
      """
      SELECT digest, secret FROM checkpoint
      WHERE destination = (SELECT id FROM destination WHERE name = ?) AND objectKey = ?
      """, [store.text, key.rawValue]
    ) { row in
      // An invalid checkpoint counts as none, and the upload starts again.
      let (digest, secret) = (try row["digest"] as [UInt8], try row["secret"] as String)
      return ContentDigest(sha256: digest).flatMap { UploadCheckpoint(secret, of: $0) }
    }
  }

  static func put(
    _ checkpoint: UploadCheckpoint, of key: ObjectKey, in store: StoreName, at now: Int64,
    db: Connection
  ) throws {
    try db.run(
      """
      INSERT OR REPLACE INTO checkpoint (destination, objectKey, digest, secret, changedAt)
      VALUES (?, ?, ?, ?, ?)
      """,
      [
        try DestinationTable.id(of: store, in: db), key.rawValue, checkpoint.digest.bytes,
        checkpoint.secret, now,
      ])
  }

  static func remove(
    _ checkpoint: UploadCheckpoint, of key: ObjectKey, in store: StoreName, db: Connection
  ) throws {
    try db.run(
      """
      DELETE FROM checkpoint
      WHERE destination = (SELECT id FROM destination WHERE name = ?) AND objectKey = ?
        AND secret = ? AND digest = ?
      """, [store.text, key.rawValue, checkpoint.secret, checkpoint.digest.bytes])
  }

  static func keys(
    in store: StoreName, after key: ObjectKey?, limit: Int, db: Connection
  ) throws -> [ObjectKey] {
    try db.values(
      """
      SELECT objectKey FROM checkpoint
      WHERE destination = (SELECT id FROM destination WHERE name = ?) AND objectKey > ?
      ORDER BY objectKey LIMIT ?
      """, [store.text, key?.rawValue ?? "", max(0, limit)]
    ).compactMap(ObjectKey.init)
  }
}
