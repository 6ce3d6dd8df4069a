import FoundationEssentials
import ReelCore

/// The changes of posts that are not over.
enum ChangeTable {
  /// An SQL condition on `change`: whether the change adds or removes objects in the store where the post is. A move
  /// does so in the other store.
  static let movesObjects =
    "change.kind NOT IN (\(ChangeKind.edit.rawValue), \(ChangeKind.move.rawValue))"

  struct Open: Sendable {
    let number: Int64
    let intent: Int64
    let kind: ChangeKind
    let isDone: Bool
    /// The store that a move goes to, or has left once it is done.
    let destination: Int64?
    /// Of an edit, the keys that changed; of a move, the names that were free at its target. A JSON array.
    let keys: String?
    let owner: Int64?
  }

  private static let columns = "SELECT number, intent, kind, isDone, destination, keys, owner FROM change"

  static func find(intent: Int64, in db: Connection) throws -> Open? {
    try db.row("\(columns) WHERE intent = ?", [intent]) { try Open($0) }
  }

  /// Returns nil if the change is not `owner`'s.
  static func find(_ number: Int64, of owner: Int64, in db: Connection) throws -> Open? {
    try db.row("\(columns) WHERE number = ? AND owner = ?", [number, owner]) { try Open($0) }
  }

  static func all(after number: Int64, limit: Int = .max, in db: Connection) throws -> [Open] {
    try db.rows("\(columns) WHERE number > ? ORDER BY number LIMIT ?", [number, limit]) { try Open($0) }
  }

  /// Whether a post is being moved between these stores. Were they merged, an interrupted move would in the end remove
  /// objects that it has not copied.
  static func isMoving(between one: Int64, and other: Int64, in db: Connection) throws -> Bool {
    try db.number(
      """
      SELECT 1 FROM change JOIN intent ON intent.number = change.intent
      WHERE intent.destination IN (?1, ?2) AND change.destination IN (?1, ?2)
      """, [one, other]) != nil
  }

  static func begin(
    _ kind: ChangeKind, of intent: Int64, destination: Int64? = nil, keys: String? = nil, owner: Int64,
    in db: Connection
  ) throws -> Open {
    try db.run(
      "INSERT INTO change (intent, kind, destination, keys, owner) VALUES (?, ?, ?, ?, ?)",
      [intent, kind.rawValue, destination, keys, owner])
    return Open(
      number: db.lastInsertedRowID, intent: intent, kind: kind, isDone: false, destination: destination,
      keys: keys, owner: owner)
  }

  static func adopt(_ number: Int64, owner: Int64, in db: Connection) throws {
    try db.run("UPDATE change SET owner = ? WHERE number = ?", [owner, number])
  }

  static func release(_ number: Int64, owner: Int64, in db: Connection) throws {
    try db.run("UPDATE change SET owner = NULL WHERE number = ? AND owner = ?", [number, owner])
  }

  static func markDone(_ number: Int64, destination: Int64?, in db: Connection) throws {
    try db.run("UPDATE change SET isDone = 1, destination = ? WHERE number = ?", [destination, number])
  }

  /// Notes `keys` for the change. False if the change is not `owner`'s.
  static func note(_ keys: String?, of number: Int64, owner: Int64, in db: Connection) throws -> Bool {
    try db.run("UPDATE change SET keys = ? WHERE number = ? AND owner = ?", [keys, number, owner])
    return db.changeCount > 0
  }

  static func strikeOut(_ number: Int64, owner: Int64, in db: Connection) throws {
    try db.run("DELETE FROM change WHERE number = ? AND owner = ?", [number, owner])
  }
}

extension ChangeTable.Open {
  fileprivate init(_ row: Row) throws {
    guard let kind = ChangeKind(rawValue: try row["kind"]) else {
      throw SQLiteError(.corrupt, "a change of an unknown kind")
    }
    self.kind = kind
    number = try row["number"]
    intent = try row["intent"]
    isDone = try row["isDone"]
    destination = try row["destination"]
    keys = try row["keys"]
    owner = try row["owner"]
  }
}

/// The steps of a change, in the name of one owner. Each runs inside the caller's transaction.
struct ChangeSteps: Sendable {
  let owners: ProcessRegistry
  let place: CatalogPlace
  let me: Int64

  /// Where a post is, and its publication.
  struct Placed: Sendable {
    let intent: Int64
    let id: PostID
    let destination: Int64
    let digest: [UInt8]
    let author: [UInt8]
    /// Nil if it is not in the feed.
    let post: PostTable.Stored?
    /// Nil if it was not removed.
    let removed: RemovalTable.Stored?
  }

  /// An answer whose post has not been decoded yet.
  enum Answer: Sendable {
    case begun(Begun)
    case unfinished(Begun)
    case busy
    case nothing(PostTable.Stored)
    case removed(RemovalTable.Stored)
    case unknown
    case taken(PostTable.Stored)
  }

  struct Begun: Sendable {
    let open: ChangeTable.Open
    let post: PostTable.Stored
    let removal: Removal?
    let destination: String
    /// Of a move: its target, or its origin once it is done.
    let other: String?
    let objects: [ExaminedObject]
  }

  // MARK: Step 1: begin

  func begin(_ change: PostChange, in db: Connection) throws -> Answer {
    guard let found = try find(change.post, in: db) else { return .unknown }
    let open = try ChangeTable.find(intent: found.intent, in: db)
    let target: Int64? =
      if case .move(let other) = change.kind {
        try DestinationTable.id(of: place.name(of: other), in: db)
      } else {
        nil
      }
    let kind = change.kind.sort
    let decision = try ChangeDecision.decide(
      kind, of: found.where, open: open?.kind, isHeld: try isHeld(open, in: db),
      isSame: kind != .edit && open?.isDone == false && open?.destination == target
        && (kind != .removal || change.kind.keeps == found.removed?.removal.keeps),
      isInPlace: target == found.destination)
    switch decision {
    case .unknown: return .unknown
    case .busy: return .busy
    case .nothing:
      if let post = found.post ?? found.removed?.post { return .nothing(post) }
      return .unknown
    case .removed:
      if let removed = found.removed { return .removed(removed) }
      return .unknown
    case .resume, .finishOther:
      guard let open else { return .busy }
      try ChangeTable.adopt(open.number, owner: me, in: db)
      let begun = try begun(open, found, in: db)
      return decision == .resume ? .begun(begun) : .unfinished(begun)
    case .begin: return try begin(change.kind, found, target, in: db)
    }
  }

  private func begin(
    _ kind: PostChange.Kind, _ found: Placed, _ target: Int64?, in db: Connection
  ) throws -> Answer {
    // A post that can't be read could not be changed, and would block the changes behind it.
    _ = try found.post?.post(at: place) ?? found.removed?.post.post(at: place)
    var keys: String?
    switch kind {
    case .removal(let removal): try RemovalTable.insert(removal, of: found.intent, in: db)
    case .purge: break
    case .restoration:
      if let taken = try successor(of: found, in: db) { return .taken(taken) }
      if try isAboutToCome(found, to: found.destination, db: db) { return .busy }
      try RemovalTable.setStored(true, found.intent, in: db)
    case .edit(let edit):
      guard let stored = found.post else { return .unknown }
      var post = try stored.post(at: place)
      let changed = edit.apply(to: &post)
      if changed.isEmpty { return .nothing(stored) }
      keys = PostEdit.document(ofKeys: changed)
      try write(post, found, in: db)
      if changed.contains(where: PostEdit.wordKeys.contains) {
        try db.run("INSERT INTO rewording (pageNumber) VALUES (?)", [stored.pageNumber])
      }
    case .move:
      guard let target else { return .unknown }
      if let taken = try post(of: found, in: target, db: db) { return .taken(taken) }
      if try isAboutToCome(found, to: target, db: db) { return .busy }
    }
    let open = try ChangeTable.begin(
      kind.sort, of: found.intent, destination: target, keys: keys, owner: me, in: db)
    try Failpoint.changeWritten.reachInDatabase()
    guard let now = try find(found.id, in: db) else { return .unknown }
    return .begun(try begun(open, now, in: db))
  }

  private func write(_ post: Post, _ found: Placed, in db: Connection) throws {
    guard let name = try name(of: found.destination, in: db) else { return }
    let document = try PostTable.document(of: post, in: place.destination(named: name), at: place)
    try db.run("UPDATE post SET document = ? WHERE intent = ?", [document, found.intent])
  }

  // MARK: Step 2: finish

  /// Completes the change, and returns its post. Nil if this owner no longer has the change, or if its place is taken.
  func finish(_ change: OpenChange, in db: Connection) throws -> PostTable.Stored? {
    guard let open = try ChangeTable.find(change.number, of: me, in: db) else { return nil }
    if try !open.isDone && isTaken(open, change.post.id, in: db) { return nil }
    switch open.kind {
    case .removal, .purge:
      guard let removed = try RemovalTable.find(intent: open.intent, in: db) else { return nil }
      if open.kind == .purge || removed.removal.keptUntil == nil {
        try RemovalTable.setStored(false, open.intent, in: db)
      }
      try ChangeTable.markDone(open.number, destination: nil, in: db)
      try Failpoint.changeFinished.reachInDatabase()
      return removed.post
    case .restoration:
      if !open.isDone {
        try RemovalTable.takeBack(
          open.intent, document: try document(change.post, of: open.intent, db: db), in: db)
        try ChangeTable.markDone(open.number, destination: nil, in: db)
      }
    case .edit: try ChangeTable.markDone(open.number, destination: nil, in: db)
    case .move: try move(open, change.post, in: db)
    }
    try Failpoint.changeFinished.reachInDatabase()
    return try PostTable.find(change.post.id, in: db)
  }

  /// Whether the video has become a post, or is about to, where this one was to come. Then
  /// a restoration is struck out, and a move is released.
  private func isTaken(_ open: ChangeTable.Open, _ id: PostID, in db: Connection) throws -> Bool {
    guard let found = try find(id, in: db) else { return false }
    switch open.kind {
    case .removal, .purge, .edit: return false
    case .restoration:
      guard
        try successor(of: found, in: db) != nil || isBeingPublished(found, in: found.destination, db: db)
      else { return false }
      // The objects that it has stored are removed once the removal no longer keeps them.
      try ChangeTable.strikeOut(open.number, owner: me, in: db)
    case .move:
      guard let target = open.destination,
        try post(of: found, in: target, db: db) != nil || isBeingPublished(found, in: target, db: db)
      else { return false }
      try ChangeTable.release(open.number, owner: me, in: db)
    }
    return true
  }

  /// Finds the post that the video of a removed post has become in the same store since.
  private func successor(of found: Placed, in db: Connection) throws -> PostTable.Stored? {
    guard let removed = found.removed else { return nil }
    let id = try db.value(
      """
      SELECT post.id FROM intent JOIN post ON post.intent = intent.number
      WHERE digest = ? AND destination = ? AND author = ? AND post.createdAt >= ? LIMIT 1
      """, [found.digest, found.destination, found.author, removed.removal.at.milliseconds], as: [UInt8].self)
    return try id.flatMap(PostID.init(bytes:)).flatMap { try PostTable.find($0, in: db) }
  }

  /// Returns the post's JSON, which names a poster only if that is stored.
  private func document(
    _ post: Post, of intent: Int64, in destination: Int64? = nil, db: Connection
  ) throws -> String {
    var post = post
    let shown = try db.number("SELECT 1 FROM poster WHERE intent = ? AND state = 1", [intent])
    if shown == nil { post.show(nil) }
    let store = try destination ?? db.number("SELECT destination FROM intent WHERE number = ?", [intent])
    guard let store, let name = try name(of: store, in: db) else {
      throw SQLiteError(.corrupt, "a post of no store")
    }
    return try PostTable.document(of: post, in: place.destination(named: name), at: place)
  }

  private func move(_ open: ChangeTable.Open, _ post: Post, in db: Connection) throws {
    guard !open.isDone, let target = open.destination else { return }
    let old = try db.number("SELECT destination FROM intent WHERE number = ?", [open.intent])
    let document = try document(post, of: open.intent, in: target, db: db)
    try DestinationTable.transfer(open.intent, to: target, in: db)
    try db.run("UPDATE post SET document = ? WHERE intent = ?", [document, open.intent])
    try ChangeTable.markDone(open.number, destination: old, in: db)
  }

  // MARK: Step 3: strike out

  func strikeOut(_ change: OpenChange, in db: Connection) throws {
    try ChangeTable.strikeOut(change.number, owner: me, in: db)
    try Failpoint.changeStruckOut.reachInDatabase()
  }

  func isHeld(_ change: OpenChange, in db: Connection) throws -> Bool {
    try ChangeTable.find(change.number, of: me, in: db) != nil
  }

  // MARK: Changes that dead processes left

  func adopt(after number: Int64, limit: Int, in db: Connection) throws -> [Begun] {
    var (adopted, last) = ([Begun](), number)
    while adopted.count < limit {
      let changes = try ChangeTable.all(after: last, limit: limit, in: db)
      for open in changes where adopted.count < limit {
        if try isHeld(open, in: db) { continue }
        guard
          let id = try db.value(
            "SELECT postID FROM intent WHERE number = ?", [open.intent], as: [UInt8].self),
          let id = PostID(bytes: id), let found = try find(id, in: db)
        else { continue }
        try ChangeTable.adopt(open.number, owner: me, in: db)
        adopted.append(try begun(open, found, in: db))
      }
      guard changes.count == limit, let end = changes.last else { break }
      last = end.number
    }
    return adopted
  }

  // MARK: Queries

  private func isHeld(_ open: ChangeTable.Open?, in db: Connection) throws -> Bool {
    try open.map { try owners.holding($0.owner, for: me, in: db) == .held } ?? false
  }

  private func find(_ id: PostID, in db: Connection) throws -> Placed? {
    let row = try db.row(
      "SELECT number, destination, digest, author FROM intent WHERE postID = ? AND state = 1", [id.bytes]
    ) { row in
      (
        intent: try row["number"] as Int64, destination: try row["destination"] as Int64,
        digest: try row["digest"] as [UInt8], author: try row["author"] as [UInt8]
      )
    }
    guard let row else { return nil }
    let post = try PostTable.find(id, in: db)
    return Placed(
      intent: row.intent, id: id, destination: row.destination, digest: row.digest, author: row.author,
      post: post, removed: post == nil ? try RemovalTable.find(intent: row.intent, in: db) : nil)
  }

  private func post(of found: Placed, in target: Int64, db: Connection) throws -> PostTable.Stored? {
    guard let digest = ContentDigest(sha256: found.digest), let name = try name(of: target, in: db) else {
      return nil
    }
    let author = String(decoding: found.author, as: UTF8.self)
    let destination = place.destination(named: name)
    let publication = Publication(
      digest: digest, destination: destination, authorID: author.isEmpty ? nil : String(author.dropFirst()))
    return try PostTable.find(publication, in: place.name(of: destination), db: db)?.post
  }

  /// Whether a living process is about to bring another post of the publication into that store.
  private func isAboutToCome(_ found: Placed, to target: Int64, db: Connection) throws -> Bool {
    if try isBeingPublished(found, in: target, db: db) { return true }
    let holders: [Int64] = try db.values(
      """
      SELECT change.owner FROM intent CROSS JOIN change ON change.intent = intent.number
      WHERE digest = ?1 AND author = ?2 AND intent.number <> ?3 AND isDone = 0 AND change.owner IS NOT NULL
        AND (kind = \(ChangeKind.move.rawValue) AND change.destination = ?4
          OR kind = \(ChangeKind.restoration.rawValue) AND intent.destination = ?4)
      """, [found.digest, found.author, found.intent, target])
    return try holders.contains { try owners.holding($0, for: me, in: db) == .held }
  }

  private func isBeingPublished(_ found: Placed, in target: Int64, db: Connection) throws -> Bool {
    let holders: [Int64] = try db.values(
      """
      SELECT owner FROM intent
      WHERE digest = ? AND destination = ? AND author = ? AND state = 0 AND owner IS NOT NULL
      """, [found.digest, target, found.author])
    return try holders.contains { try owners.holding($0, for: me, in: db) == .held }
  }

  private func name(of destination: Int64, in db: Connection) throws -> String? {
    try db.value("SELECT name FROM destination WHERE id = ?", [destination], as: String.self)
  }

  private func begun(_ open: ChangeTable.Open, _ found: Placed, in db: Connection) throws -> Begun {
    guard let post = found.post ?? found.removed?.post,
      let name = try name(of: found.destination, in: db)
    else { throw SQLiteError(.corrupt, "a change of no post") }
    return Begun(
      open: open, post: post, removal: found.removed?.removal, destination: name,
      other: try open.destination.flatMap { try self.name(of: $0, in: db) },
      objects: try objects(of: found.intent, in: db))
  }

  private func objects(of intent: Int64, in db: Connection) throws -> [ExaminedObject] {
    try db.rows(
      """
      SELECT postID, objectKey, size, digest, state, owner, changedAt, NULL AS posterState, NULL AS change, NULL AS isStored
      FROM intent WHERE number = ?1
      UNION ALL
      SELECT postID, poster.objectKey, poster.size, poster.digest, intent.state, NULL, poster.changedAt, poster.state, NULL, NULL
      FROM poster JOIN intent ON intent.number = poster.intent WHERE poster.intent = ?1 AND poster.state < 2
      """, [intent]
    ) { try ExaminedObject($0, owners, in: db) }
  }
}

extension ChangeSteps.Placed {
  var `where`: ChangeDecision.Place {
    if post != nil { return .feed }
    guard let removed else { return .nowhere }
    return removed.isStored ? .kept : .gone
  }
}

extension ChangeSteps.Begun {
  func change(at place: CatalogPlace) throws(CatalogError) -> OpenChange {
    OpenChange(
      number: open.number, open.kind, isDone: open.isDone, post: try post.post(at: place), removal: removal,
      at: place.destination(named: destination), other: other.map { place.destination(named: $0) },
      keys: open.keys, objects: objects)
  }
}
