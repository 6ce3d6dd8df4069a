import FoundationEssentials
import ReelCore

/// Digests by a file's identity and state.
enum KnownFileTable {
  static func find(_ identity: FileIdentity, in db: Connection) throws -> ContentDigest? {
    let digest: [UInt8]? = try db.value(
      """
      SELECT digest FROM knownFile
      WHERE device = ? AND inode = ? AND size = ? AND modifiedAt = ? AND changedAt = ?
      """, arguments(identity))
    return digest.flatMap { ContentDigest(sha256: $0) }
  }

  /// Remembers this state of the inode in place of an older one.
  static func put(_ digest: ContentDigest, of identity: FileIdentity, in db: Connection) throws {
    try db.run(
      """
      INSERT OR REPLACE INTO knownFile (device, inode, size, modifiedAt, changedAt, digest)
      VALUES (?, ?, ?, ?, ?, ?)
      """, arguments(identity) + [digest.bytes])
  }

  static func clear(in db: Connection) throws {
    try db.run("DELETE FROM knownFile")
  }

  private static func arguments(_ identity: FileIdentity) -> [any SQLiteValue] {
    [
      Int64(bitPattern: identity.device), Int64(bitPattern: identity.inode), identity.size,
      identity.modifiedAt, identity.changedAt,
    ]
  }
}

/// What readers of each version found in a file's bytes, as JSON.
enum ProbeResultTable {
  static func find(_ digest: ContentDigest, by reader: ReaderVersion, in db: Connection) throws -> String? {
    try db.value(
      "SELECT outcome FROM reading WHERE digest = ? AND reel = ? AND ffmpeg = ?",
      [digest.bytes, reader.reel, reader.ffmpeg])
  }

  /// Returns what readers of all versions found.
  static func all(of digest: ContentDigest, in db: Connection) throws -> [(ReaderVersion, String)] {
    try db.rows("SELECT reel, ffmpeg, outcome FROM reading WHERE digest = ?", [digest.bytes]) { row in
      (ReaderVersion(reel: try row["reel"], ffmpeg: try row["ffmpeg"]), try row["outcome"])
    }
  }

  static func put(
    _ outcome: String, of digest: ContentDigest, by reader: ReaderVersion, in db: Connection
  ) throws {
    try db.run(
      "INSERT OR REPLACE INTO reading (digest, reel, ffmpeg, outcome) VALUES (?, ?, ?, ?)",
      [digest.bytes, reader.reel, reader.ffmpeg, outcome])
  }

  static func clear(in db: Connection) throws {
    try db.run("DELETE FROM reading")
  }
}

/// Files that were not published, by path.
enum FailureTable {
  /// Remembers a failure for the path in place of an older one, or forgets it (nil).
  static func put(_ failure: FailureRecord?, at path: SourcePath, in db: Connection) throws {
    guard let failure else {
      try db.run("DELETE FROM failure WHERE path = ?", [path.bytes])
      return
    }
    try db.run(
      "INSERT OR REPLACE INTO failure (path, code, message, refused, at) VALUES (?, ?, ?, ?, ?)",
      [path.bytes, failure.code, failure.message, failure.refused, failure.at.milliseconds])
  }

  /// Forgets all failures, and returns how many there were.
  static func clear(in db: Connection) throws -> Int {
    try db.run("DELETE FROM failure")
    return db.changeCount
  }

  /// Returns the code of the path's failure, if one is remembered.
  static func code(at path: SourcePath, in db: Connection) throws -> String? {
    try db.value("SELECT code FROM failure WHERE path = ?", [path.bytes])
  }

  static func newest(_ limit: Int, in db: Connection) throws -> [(path: SourcePath, failure: FailureRecord)] {
    try db.rows(
      "SELECT path, code, message, refused, at FROM failure ORDER BY at DESC, path LIMIT ?", [limit]
    ) { row in
      let failure = FailureRecord(
        code: try row["code"], message: try row["message"], refused: try row["refused"],
        at: Date(milliseconds: try row["at"]))
      return (path: SourcePath(bytes: try row["path"] as [UInt8]), failure: failure)
    }
  }
}

/// Finds all that is known of a file that has not been opened yet.
enum RecallQuery {
  /// What was found. Its post has not been decoded yet, which is done off the database's thread.
  struct Found: Sendable {
    let digest: ContentDigest
    let post: PostTable.Stored?
    let failureCode: String?
  }

  /// - Parameter steps: those of the owner who asks; nil for a caller that only reads, and never delivers an event.
  static func find(
    _ file: RecalledFile, _ steps: PublishingSteps?, at place: CatalogPlace, in db: Connection
  ) throws -> Found? {
    guard let digest = try KnownFileTable.find(file.identity, in: db) else { return nil }
    let publication = Publication(digest: digest, destination: file.destination, authorID: file.authorID)
    let post =
      if let steps {
        // A post that has moved out of this store is looked up later, with the content.
        try steps.look(for: publication, again: true, in: db).flatMap { $0.announced ? $0.stored : nil }
      } else {
        try PostTable.find(publication, in: place.name(of: file.destination), db: db)?.post
      }
    return Found(
      digest: digest, post: post,
      failureCode: try FailureTable.code(at: file.path, in: db))
  }
}

extension RecallQuery.Found {
  func recollection(readingPost: Bool, at place: CatalogPlace) throws(CatalogError) -> CachedRecord {
    CachedRecord(
      digest: digest, isPublished: post != nil, post: readingPost ? try post?.post(at: place) : nil,
      failureCode: failureCode)
  }
}

/// The size of the caches, and how it is given back to the disk.
enum CacheQuery {
  /// The bytes of a known file's row: the headers of eight columns, five numbers, and a digest.
  private static let knownFileBytes: Int64 = 80
  /// The bytes of a reading's row without its JSON.
  private static let readingBytes: Int64 = 64

  static func status(in db: Connection) throws -> CacheStatus {
    let files = try StatusQuery.count("knownFile", in: db)
    let readings = try StatusQuery.count("reading", in: db)
    let documents = try db.value("SELECT total(length(outcome)) FROM reading", as: Double.self) ?? 0
    return CacheStatus(
      files: files, readings: readings,
      bytes: Int64(files) * knownFileBytes + Int64(readings) * readingBytes + Int64(documents))
  }

  /// Returns free pages to the file system, a few megabytes at a time so that other processes can commit in between.
  /// Returns the number of bytes by which the file has shrunk.
  static func giveBackFreePages(of db: Connection) throws -> Int64 {
    let before = try number("page_count", db)
    while try number("freelist_count", db) > 0 {
      let left = try number("page_count", db)
      try db.execute("PRAGMA incremental_vacuum(1000)")
      if try number("page_count", db) >= left { break }
    }
    try db.checkpoint(.truncate)
    return (before - (try number("page_count", db))) * (try number("page_size", db))
  }

  private static func number(_ pragma: String, _ db: Connection) throws -> Int64 {
    try db.value("PRAGMA \(pragma)") ?? 0
  }
}
