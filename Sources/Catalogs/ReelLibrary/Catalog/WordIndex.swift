import FoundationEssentials
import ReelCore

/// The words of the posts, in a file beside the catalog. It is built from the catalog: brought up to date by each
/// search, rebuilt if it is damaged, and never in the way of publishing. Everything here blocks.
struct WordIndex {
  private let db: Connection

  /// The version of this file's format. A file of another version is rebuilt.
  private static let version: Int64 = 3
  /// The number of posts that are added in one transaction, and so the most that an interruption loses.
  private static let batch = 10_000

  /// Returns up to `limit` posts before `place` that `filter` admits, the newest first.
  ///
  /// Without an index (in memory, or on a disk that is read-only or full), it examines each post.
  static func posts(
    before place: Int, matching filter: PostFilter, limit: Int, in catalog: Connection,
    at location: CatalogPlace
  ) throws -> [PostTable.Stored] {
    guard let path = location.wordsPath else {
      return try scan(before: place, matching: filter, limit: limit, in: catalog, at: location)
    }
    for isLastTry in [false, true] {
      do {
        let index = try WordIndex(path)
        try index.catchUp(with: catalog)
        return try index.search(before: place, matching: filter, limit: limit, in: catalog, at: location)
      } catch let failure as Failure {
        if !isLastTry, failure.isDamage { remove(path) } else { break }
      }
    }
    return try scan(before: place, matching: filter, limit: limit, in: catalog, at: location)
  }

  /// Opens the index at `path`, or creates an empty one.
  private init(_ path: String) throws {
    db = try Failure.from(opening: true) {
      try CatalogFile.make(path)
      let db = try Connection(path, .readWrite)
      try CatalogBusyHandler(longest: 10).install(on: db)
      try db.transaction(.immediate) {
        if try db.number("PRAGMA user_version") == Self.version { return }
        try db.execute(
          """
          DROP TABLE IF EXISTS words;
          DROP TABLE IF EXISTS newest;
          CREATE VIRTUAL TABLE words USING fts5 (
            caption, music, authorName, sourceName, content = '', tokenize = 'unicode61 remove_diacritics 2'
          );
          -- What is said anew of posts that are there already, and of which post each is. What one said before can't be
          -- taken out of such an index: whoever finds it looks at the post.
          DROP TABLE IF EXISTS rewords;
          DROP TABLE IF EXISTS reworded;
          CREATE VIRTUAL TABLE rewords USING fts5 (
            caption, music, authorName, sourceName, content = '', tokenize = 'unicode61 remove_diacritics 2'
          );
          CREATE TABLE reworded (
            number INTEGER PRIMARY KEY, pageNumber INTEGER NOT NULL, mark INTEGER NOT NULL
          ) STRICT;
          CREATE INDEX rewordedPost ON reworded (pageNumber);
          -- The newest post of which the words are here.
          CREATE TABLE newest (pageNumber INTEGER PRIMARY KEY, id BLOB NOT NULL) STRICT;
          PRAGMA user_version = \(Self.version);
          """)
      }
      return db
    }
  }

  /// Adds the words of posts that are new, reworded or restored since. The catalog may be a
  /// different one than before, such as a backup.
  private func catchUp(with catalog: Connection) throws {
    var (isDone, rebuilds) = (false, 0)
    while !isDone {
      // Only the index is accessed in `Failure.from`: an error of the catalog is no failure of the index.
      let (found, rewording) = try Failure.from { (try newest(), try newestRewording()) }
      var last = found?.pageNumber ?? 0
      let isKnown =
        try catalog.number(
          """
          SELECT 1 FROM post WHERE pageNumber = ?1 AND id = ?2
          UNION ALL SELECT 1 FROM removal JOIN intent ON number = intent WHERE pageNumber = ?1 AND postID = ?2
          """, [last, found?.id]) != nil
        && (rewording == nil
          || catalog.number(
            "SELECT 1 FROM rewording WHERE number = ? AND mark = ?", [rewording?.number, rewording?.mark])
            != nil)
      if !isKnown {
        last = 0
        rebuilds += 1
        // Another process keeps rebuilding the index from a different catalog.
        if rebuilds > 3 { throw Failure(reason: SQLiteError(.busy)) }
      }
      let added = try catalog.rows(
        """
        SELECT pageNumber, id, document FROM post WHERE pageNumber > ? ORDER BY pageNumber LIMIT ?
        """, [last, Self.batch]
      ) { row in (pageNumber: try row[0] as Int, id: try row[1] as [UInt8], document: try row[2] as String) }
      let reworded = try catalog.rows(
        """
        SELECT number, post.pageNumber, mark, document
        FROM rewording JOIN post ON post.pageNumber = rewording.pageNumber WHERE number > ? ORDER BY number LIMIT ?
        """, [isKnown ? rewording?.number ?? 0 : 0, Self.batch]
      ) { row in
        (
          number: try row[0] as Int64, pageNumber: try row[1] as Int, mark: try row[2] as Int64,
          document: try row[3] as String
        )
      }
      isDone = added.count < Self.batch && reworded.count < Self.batch
      if isKnown == (found != nil) && added.isEmpty && reworded.isEmpty { return }
      try Failure.from {
        try db.transaction(.immediate) {
          // Another process may have added the same meanwhile.
          guard try newest().map(\.id) == found?.id, try newestRewording()?.mark == rewording?.mark else {
            return isDone = false
          }
          if !isKnown {
            for table in ["words", "rewords"] {
              try db.run("INSERT INTO \(table) (\(table)) VALUES ('delete-all')")
            }
            try db.run("DELETE FROM reworded")
            try db.run("DELETE FROM newest")
          }
          for post in added { try add(post.document, to: "words", as: Int64(post.pageNumber)) }
          for post in reworded {
            try add(post.document, to: "rewords", as: post.number)
            try db.run("INSERT INTO reworded VALUES (?, ?, ?)", [post.number, post.pageNumber, post.mark])
          }
          if let last = added.last {
            try db.run("DELETE FROM newest")
            try db.run("INSERT INTO newest VALUES (?, ?)", [last.pageNumber, last.id])
          }
        }
      }
    }
  }

  private func add(_ document: String, to table: String, as row: Int64) throws {
    guard let said = Said(document) else { return }
    try db.run(
      "INSERT INTO \(table) (rowid, caption, music, authorName, sourceName) VALUES (?, ?, ?, ?, ?)",
      [
        row, said.caption?.composed, said.music?.composed, said.autherName?.composed,
        said.sourceName?.composed,
      ])
  }

  /// The newest rewording in the index.
  private func newestRewording() throws -> (number: Int64, mark: Int64)? {
    try db.row("SELECT number, mark FROM reworded ORDER BY number DESC LIMIT 1") { row in
      (try row[0], try row[1])
    }
  }

  private func newest() throws -> (pageNumber: Int, id: [UInt8])? {
    try db.row("SELECT pageNumber, id FROM newest") { row in (try row[0], try row[1]) }
  }

  private func search(
    before place: Int, matching filter: PostFilter, limit: Int, in catalog: Connection,
    at location: CatalogPlace
  ) throws -> [PostTable.Stored] {
    let phrases = (filter.phrases ?? []).map { "\"\($0.joined(separator: " ").composed)\"*" }
    guard !phrases.isEmpty else { return [] }
    let first = try filter.since.map { try PostTable.first(since: $0, in: catalog) } ?? 0
    var (found, place, count) = ([PostTable.Stored](), place, max(limit, 16))
    while found.count < limit {
      let places = try Failure.from {
        try db.values(
          """
          SELECT * FROM (
            SELECT rowid FROM words WHERE words MATCH ?1 AND rowid < ?2 AND rowid >= ?3 ORDER BY rowid DESC LIMIT ?4)
          UNION SELECT * FROM (
            SELECT pageNumber FROM rewords JOIN reworded ON reworded.number = rewords.rowid
            WHERE rewords MATCH ?1 AND pageNumber < ?2 AND pageNumber >= ?3 ORDER BY pageNumber DESC LIMIT ?4)
          ORDER BY 1 DESC LIMIT ?4
          """, [phrases.joined(separator: " "), place, first, count], as: Int.self)
      }
      guard let last = places.last else { break }
      let unsaid = try stale(places, filter, in: catalog, at: location)
      found += try PostTable.before(
        place, matching: filter, among: places.filter { !unsaid.contains($0) }, limit: limit - found.count,
        in: catalog)
      place = last
      // Few posts with these words pass the filter. Fetch more at a time, since each query merges all matches again.
      count = min(count, 1 << 20) * 8
    }
    return found
  }

  /// Those of `places` whose posts had these words once, but have been reworded.
  private func stale(
    _ places: [Int], _ filter: PostFilter, in catalog: Connection, at location: CatalogPlace
  ) throws -> Set<Int> {
    let list = "[\(places.map(String.init).joined(separator: ","))]"
    let reworded = try Failure.from {
      try db.values(
        "SELECT DISTINCT pageNumber FROM reworded WHERE pageNumber IN (SELECT value FROM json_each(?))",
        [list],
        as: Int.self)
    }
    guard !reworded.isEmpty else { return [] }
    let posts = try PostTable.before(.max, among: reworded, limit: reworded.count, in: catalog)
    return Set(posts.filter { !((try? $0.post(at: location)).map(filter.admits) ?? false) }.map(\.pageNumber))
  }

  private static func scan(
    before place: Int, matching filter: PostFilter, limit: Int, in catalog: Connection,
    at location: CatalogPlace
  ) throws -> [PostTable.Stored] {
    var (found, place) = ([PostTable.Stored](), place)
    while found.count < limit {
      let posts = try PostTable.before(place, matching: filter, limit: 1000, in: catalog)
      guard let last = posts.last else { break }
      // A damaged post has no words; `reel doctor` reports it.
      let wanted = posts.filter { (try? $0.post(at: location)).map(filter.admits) ?? false }
      found += wanted.prefix(limit - found.count)
      place = last.pageNumber
    }
    return found
  }

  private static func remove(_ path: String) {
    for ending in ["-journal", ""] { try? FileManager.default.removeItem(atPath: path + ending) }
  }

  /// The searched parts of a post, by their names in JSON.
  private struct Said: Decodable {
    var caption: String?
    var music: String?
    var autherName: String?
    var sourceName: String?

    init?(_ document: String) {
      guard let said = try? JSONDecoder().decode(Self.self, from: Data(document.utf8)) else { return nil }
      self = said
    }
  }

  /// An error that prevents the use of the index, whatever state the catalog is in.
  private struct Failure: Error {
    let reason: any Error
    /// Whether it happened while opening. An SQLite without this kind of index fails
    /// there, and a new file would not help.
    var isOfOpening = false

    /// Whether the file has to be rebuilt.
    var isDamage: Bool {
      let code = (reason as? SQLiteError)?.code
      return code == .corrupt || code == .notADatabase || code == .mismatch
        || code == .generic && !isOfOpening
    }

    static func from<Value>(opening: Bool = false, _ body: () throws -> Value) throws(Failure) -> Value {
      try rethrowing(as: { Failure(reason: $0, isOfOpening: opening) }, body)
    }
  }
}
