import FoundationEssentials
import ReelCore

extension SQLiteCatalog: PostChanging {
  package func begin(_ changes: [PostChange]) throws(CatalogError) -> [ChangeAnswer] {
    let writing = try writable()
    let answers = try writing.writer.write { db in try changes.map { try writing.changes.begin($0, in: db) } }
    for _ in answers { Failpoint.changeCommitted.pass() }
    return try answers.map { answer throws(CatalogError) in
      switch answer {
      case .begun(let begun): .begun(try begun.change(at: place))
      case .unfinished(let begun): .unfinished(try begun.change(at: place))
      case .busy: .busy
      case .nothing(let post): .nothing(try post.post(at: place))
      case .removed(let removed): .removed(try removed.post(at: place))
      case .unknown: .unknown
      case .taken(let post): .taken(try post.post(at: place))
      }
    }
  }

  package func noteFreeNames(of change: OpenChange) throws(CatalogError) -> Bool {
    let writing = try writable()
    let isHeld = try writing.writer.write { db in
      try ChangeTable.note(
        change.freeNamesDocument, of: change.number, owner: writing.changes.me, in: db)
    }
    Failpoint.changeNoted.pass()
    return isHeld
  }

  package func finish(_ changes: [OpenChange]) throws(CatalogError) -> [Post?] {
    let writing = try writable()
    let posts = try writing.writer.write { db in try changes.map { try writing.changes.finish($0, in: db) } }
    for _ in posts { Failpoint.changeFinishedCommitted.pass() }
    return try posts.map { post throws(CatalogError) in try post?.post(at: place) }
  }

  package func strikeOut(_ changes: [OpenChange]) throws(CatalogError) {
    let writing = try writable()
    try writing.writer.write { db in
      for change in changes { try writing.changes.strikeOut(change, in: db) }
    }
  }

  package func areHeld(_ changes: [OpenChange]) throws(CatalogError) -> [Bool] {
    let writing = try writable()
    return try connection.readNow { db in try changes.map { try writing.changes.isHeld($0, in: db) } }
  }

  package func release(_ changes: [OpenChange]) throws(CatalogError) {
    let writing = try writable()
    let (numbers, me) = (changes.map(\.number), writing.changes.me)
    try writing.writer.writeOrOwe { db in
      for number in numbers { try ChangeTable.release(number, owner: me, in: db) }
    }
  }

  package func unfinishedChanges(after number: Int64, limit: Int) throws(CatalogError) -> [OpenChange] {
    let writing = try writable()
    let adopted = try writing.writer.write { db in
      try writing.changes.adopt(after: number, limit: limit, in: db)
    }
    return try adopted.map { begun throws(CatalogError) in try begun.change(at: place) }
  }

  package func abandonedChanges() throws(CatalogError) -> [(post: PostID, kind: ChangeKind)] {
    try connection.readNow { [registry] db in
      try ChangeTable.all(after: 0, in: db).compactMap { open in
        if let owner = open.owner, try registry.isAlive(owner, in: db) { return nil }
        let id = try db.value("SELECT postID FROM intent WHERE number = ?", [open.intent], as: [UInt8].self)
        return id.flatMap(PostID.init(bytes:)).map { (post: $0, kind: open.kind) }
      }
    }
  }

  package func removedPost(_ id: PostID) throws(CatalogError) -> RemovedPost? {
    try connection.readNow { db in try RemovalTable.find(id, in: db) }?.post(at: place)
  }

  package func removedPosts(of digest: ContentDigest) throws(CatalogError) -> [RemovedPost] {
    let rows = try connection.readNow { db in try RemovalTable.all(of: digest, in: db) }
    return try rows.map { row throws(CatalogError) in try row.post(at: place) }
  }

  package func readings(besides reel: String) throws(CatalogError) -> Int {
    try connection.readNow { db in
      Int(try db.number("SELECT count(*) FROM reading WHERE reel <> ?", [reel]) ?? 0)
    }
  }

  package func forgetReadings(besides reel: String, atMost limit: Int) throws(CatalogError) -> Int {
    try writable().writer.write { db in
      try db.run(
        """
        DELETE FROM reading WHERE (digest, reel, ffmpeg) IN (
          SELECT digest, reel, ffmpeg FROM reading WHERE reel <> ? LIMIT ?)
        """, [reel, limit])
      return db.changeCount
    }
  }

  package func forgetFailures() throws(CatalogError) -> Int {
    try writable().writer.write { db in try FailureTable.clear(in: db) }
  }

  package func expiredPosts(
    at moment: Date, after pageNumber: Int, limit: Int
  ) throws(CatalogError) -> [RemovedPost] {
    let rows = try connection.readNow { db in
      try RemovalTable.expired(at: moment.milliseconds, after: pageNumber, limit: limit, in: db)
    }
    return try rows.map { row throws(CatalogError) in try row.post(at: place) }
  }
}
