import FoundationEssentials
import Glibc
import ReelCatalogCopy
import ReelCore

/// The catalog of a library folder that is to be copied. No other process has it open for writing meanwhile.
package struct LibraryCopySource: CatalogCopySource {
  package var name: String { library.path }
  private let library: LibraryFolder
  private let host: String
  private let busyTimeout = 10.0

  /// - Parameter host: names this machine, to which the remembered digests and failures of files belong.
  package init(_ library: LibraryFolder, host: String) {
    (self.library, self.host) = (library, host)
  }

  package func read<Value: Sendable>(_ body: @Sendable (any CatalogRows) throws -> Value) throws -> Value {
    let alone = try FolderLock(library.path, waitingUpTo: busyTimeout)
    defer { alone.end() }
    let place = CatalogPlace(library)
    guard
      let database = try CatalogDatabase.openAsItIs(library, at: place, busyTimeout: busyTimeout)
    else { throw CatalogError(.unusable, "there is no catalog in \(library.path) yet: name another library") }
    defer { try? CatalogDatabase.close(database, path: place.path) }
    let owners = ProcessRegistry(
      library: library, clock: SystemWallClock(), host: HostIdentity.current(), lease: .zero)
    return try CatalogError.mapping(at: place.path) {
      try database.read { db in
        guard try owners.examined(in: db).allSatisfy({ $0.life == .dead }) else {
          throw CatalogError(
            .locked,
            "a process is at work on the library \(library.path): wait until it is done, or end it, and try again"
          )
        }
        if let first = try DamageQuery.damage(in: db).first {
          throw CatalogError(
            .corrupt,
            "the catalog \(place.path) is damaged (\(first)), so it was not copied: repair it first")
        }
        return try body(LibraryRows(db: db, place: place, host: host))
      }
    }
  }
}

/// The library folder into which a catalog is copied.
package struct LibraryCopyTarget: CatalogCopyTarget {
  /// The folder, which need not exist.
  package let name: String
  private let host: String
  private let busyTimeout: Double

  /// - Parameter host: names this machine. What is remembered of other machines' files is not copied.
  package init(_ path: String, host: String, busyTimeout: Duration = .seconds(10)) {
    (name, self.host, self.busyTimeout) = (path, host, busyTimeout / .seconds(1))
  }

  package func fill<Value>(_ body: (any CatalogFilling) throws -> Value) throws -> Value {
    let library = try LibraryFolder.prepareNow(at: name)
    let alone = try FolderLock(library.path, waitingUpTo: busyTimeout)
    defer { alone.end() }
    if try CatalogDatabase.isThere(at: CatalogPlace(library), busyTimeout: busyTimeout) {
      throw CatalogError(
        .unusable,
        "there is a catalog in \(library.path), and a copy never replaces one: name another folder, which need not be there yet"
      )
    }
    if UnfinishedCatalog.isInUse(library) {
      throw CatalogError(
        .locked,
        "another process is at work on the library \(library.path): wait until it is done, or end it, and try again"
      )
    }
    do {
      let unfinished = try UnfinishedCatalog(in: library)
      let db = try unfinished.connect()
      let value = try db.transaction(.immediate) {
        try body(LibraryRows(db: db, place: unfinished.place, host: host))
      }
      try db.close()
      try unfinished.finish()
      return value
    } catch let error as SystemError {
      throw CatalogError(
        error.code == ENOSPC || error.code == EDQUOT ? .diskFull : .unusable,
        "the copy in \(library.path) can't be written (\(error.reason)): \(CatalogError.advice(error.code))")
    } catch {
      throw CatalogError.from(error, at: library.catalogPath + ".unfinished")
    }
  }
}

/// The rows of a library's catalog. Stores and objects have their present addresses, those of the library's own, too.
private struct LibraryRows: CatalogFilling {
  private static let batch = 500
  /// The owner of rows that belong to no process; no owner has this number.
  private static let nobody: Int64 = 0

  let db: Connection
  let place: CatalogPlace
  let host: String

  let sections = CatalogSection.common

  func each(of section: CatalogSection, _ body: ([CatalogRow]) throws -> Void) throws {
    let count = section.columns.count
    var batch: [CatalogRow] = []
    batch.reserveCapacity(Self.batch)
    try CatalogError.mapping(at: place.path) {
      _ = try db.row(Self.selection(section)) { row -> Never? in
        batch.append(try told(try (0..<count).map { try row[$0] }, of: section))
        if batch.count == Self.batch {
          try body(batch)
          batch.removeAll(keepingCapacity: true)
        }
        return nil
      }
    }
    if !batch.isEmpty { try body(batch) }
  }

  private static func selection(_ section: CatalogSection) -> String {
    switch section {
    case .destinations: "SELECT id, name, posts, bytes FROM destination ORDER BY id"
    case .intents:
      """
      SELECT number, postID, destination, objectKey, digest, author, ordinal, size, state,
        CASE WHEN state <> 2 THEN attempt END, intent.createdAt,
        coalesce(post.createdAt, removal.createdAt, changedAt)
      FROM intent LEFT JOIN post ON post.intent = intent.number LEFT JOIN removal ON removal.intent = intent.number
      ORDER BY number
      """
    case .arrivals: "SELECT digest, intent FROM arrival ORDER BY digest, intent"
    case .posters:
      "SELECT number, intent, destination, objectKey, digest, size, state, changedAt FROM poster ORDER BY number"
    case .feed: "SELECT lastPageNumber, revision FROM feed"
    case .posts:
      """
      SELECT pageNumber, intent, attempt, post.createdAt, document
      FROM post JOIN intent ON intent.number = post.intent ORDER BY pageNumber
      """
    case .removals:
      """
      SELECT intent, pageNumber, attempt, removal.createdAt, document, isStored, reason, removedBy, removedAt, keptUntil
      FROM removal JOIN intent ON intent.number = removal.intent ORDER BY intent
      """
    case .departures: "SELECT intent, destination FROM departure ORDER BY intent, destination"
    case .changes: "SELECT number, intent, kind, isDone, destination, keys FROM change ORDER BY number"
    case .events: "SELECT pageNumber FROM outbox ORDER BY pageNumber"
    case .checkpoints:
      "SELECT destination, objectKey, digest, secret, changedAt FROM checkpoint ORDER BY destination, objectKey"
    case .readings: "SELECT digest, reel, ffmpeg, outcome FROM reading ORDER BY digest, reel, ffmpeg"
    case .files:
      """
      SELECT '', device, inode, size, modifiedAt, changedAt, digest FROM knownFile ORDER BY device, inode
      """
    case .failures: "SELECT path, '', code, message, refused, at FROM failure ORDER BY path"
    case .lanes, .policies, .throttles, .items, .work, .happenings, .workers: "SELECT NULL WHERE false"
    }
  }

  /// Returns the row as it is known outside this library.
  private func told(_ row: CatalogRow, of section: CatalogSection) throws -> CatalogRow {
    var row = row
    switch section {
    case .destinations: row[1] = row[1].mapText { place.destination(named: $0).name }
    case .posts, .removals:
      row[4] = row[4].mapText { PostDocument.moving($0, from: .own, to: place.ownStore) }
    case .files: row[0] = .text(host)
    case .failures: row[1] = .text(isAddress(row) ? "" : host)
    default: break
    }
    // PostgreSQL can't hold a NUL in a text.
    return row.map { value in
      value.mapText { $0.utf8.contains(0) ? $0.replacing("\0", with: "\u{FFFD}") : $0 }
    }
  }

  /// Whether the failure is that of an address, which is the same on every machine.
  private func isAddress(_ failure: CatalogRow) -> Bool {
    SourcePath(bytes: failure[0].bytes ?? []).isAddress
  }

  // MARK: Filling

  func takes(_ row: CatalogRow, of section: CatalogSection) -> Bool {
    switch section {
    case .files: row[0] == .text(host)
    case .failures: row[1] == .text(isAddress(row) ? "" : host)
    default: true
    }
  }

  func add(_ rows: [CatalogRow], to section: CatalogSection) throws {
    try CatalogError.mapping(at: place.path) { for row in rows { try add(row, to: section) } }
  }

  private func add(_ row: CatalogRow, to section: CatalogSection) throws {
    switch section {
    case .destinations:
      let name = place.name(of: Destination(row[1].text ?? "")).text
      try db.run(
        "INSERT INTO destination (id, name, posts, bytes, madeBy) VALUES (?, ?, ?, ?, ?)",
        [row[0], name, row[2], row[3], CatalogSchema.version])
    case .intents:
      try db.run(
        """
        INSERT INTO intent (number, postID, destination, objectKey, digest, author, ordinal, size, state, attempt,
          createdAt, changedAt) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ifnull(?, 1), ?, ?)
        """, row)
    case .arrivals: try db.run("INSERT INTO arrival (digest, intent) VALUES (?, ?)", row)
    case .posters:
      try db.run(
        """
        INSERT INTO poster (number, intent, destination, objectKey, digest, size, state, changedAt)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?)
        """, row)
    case .feed: try db.run("UPDATE feed SET lastPageNumber = ?, revision = ? WHERE id = 1", row)
    case .posts:
      let document = row[4].mapText { PostDocument.moving($0, from: place.ownStore, to: .own) }
      try db.run(
        """
        INSERT INTO post (pageNumber, id, intent, createdAt, document)
        SELECT ?, postID, number, ?, ? FROM intent WHERE number = ?
        """, [row[0], row[3], document, row[1]])
    case .removals:
      let document = row[4].mapText { PostDocument.moving($0, from: place.ownStore, to: .own) }
      try db.run(
        """
        INSERT INTO removal (intent, pageNumber, createdAt, document, isStored, reason, removedBy, removedAt, keptUntil)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
        """, [row[0], row[1], row[3], document] + row[5...])
    case .departures: try db.run("INSERT INTO departure (intent, destination) VALUES (?, ?)", row)
    case .changes:
      try db.run(
        "INSERT INTO change (number, intent, kind, isDone, destination, keys) VALUES (?, ?, ?, ?, ?, ?)", row)
    case .events: try db.run("INSERT INTO outbox (pageNumber, owner) VALUES (?, ?)", [row[0], Self.nobody])
    case .checkpoints:
      try db.run(
        "INSERT INTO checkpoint (destination, objectKey, digest, secret, changedAt) VALUES (?, ?, ?, ?, ?)",
        row)
    case .readings:
      try db.run("INSERT INTO reading (digest, reel, ffmpeg, outcome) VALUES (?, ?, ?, ?)", row)
    case .files:
      try db.run(
        """
        INSERT INTO knownFile (device, inode, size, modifiedAt, changedAt, digest) VALUES (?, ?, ?, ?, ?, ?)
        """, Array(row.dropFirst()))
    case .failures:
      try db.run(
        "INSERT INTO failure (path, code, message, refused, at) VALUES (?, ?, ?, ?, ?)",
        [row[0], row[2], row[3], row[4], row[5]])
    case .lanes, .policies, .throttles, .items, .work, .happenings, .workers: break
    }
  }

  func settle() throws {
    if let first = try DamageQuery.damage(in: db).first {
      throw CatalogError(
        .corrupt, "the copy in \(place.path) would be inconsistent (\(first)), so it was abandoned")
    }
  }
}

/// A post's JSON, as a catalog holds it.
enum PostDocument {
  private static let keys = ["\"videoURL\"", "\"posterURL\""].map { Array($0.utf8) }

  /// Replaces the URLs of objects in the store `old` by those in `new`; every other byte stays as it is.
  static func moving(_ document: String, from old: StoreName, to new: StoreName) -> String {
    guard let oldBase = old.objectBase, let newBase = new.objectBase, document.contains(oldBase) else {
      return document
    }
    let (bytes, old, new) = (Array(document.utf8), Array(oldBase.utf8), Array(newBase.utf8))
    var moved: [UInt8] = []
    moved.reserveCapacity(bytes.count + 2 * new.count)
    var place = 0
    while place < bytes.count {
      // Within a string a backslash precedes each quote, so no caption looks like a key with its colon.
      guard bytes[place] == UInt8(ascii: "\""),
        let key = keys.first(where: { bytes[place...].starts(with: $0) }),
        let value = value(behind: place + key.count, in: bytes), bytes[value...].starts(with: old)
      else {
        moved.append(bytes[place])
        place += 1
        continue
      }
      moved += bytes[place..<value]
      moved += new
      place = value + old.count
    }
    return String(decoding: moved, as: UTF8.self)
  }

  /// Returns where the text begins behind `:` and `"`; nil if there is none.
  private static func value(behind key: Int, in bytes: [UInt8]) -> Int? {
    var place = key
    for wanted in [UInt8(ascii: ":"), UInt8(ascii: "\"")] {
      while place < bytes.count, [0x20, 0x09, 0x0A, 0x0D].contains(bytes[place]) { place += 1 }
      guard place < bytes.count, bytes[place] == wanted else { return nil }
      place += 1
    }
    return place
  }
}

extension CatalogValue {
  fileprivate func mapText(_ change: (String) -> String) -> CatalogValue {
    if case .text(let text) = self { .text(change(text)) } else { self }
  }
}

extension CatalogValue: SQLiteValue {
  package func bind(to statement: OpaquePointer, at index: Int32) -> Int32 {
    switch self {
    case .null: Int64?.none.bind(to: statement, at: index)
    case .int(let value): value.bind(to: statement, at: index)
    case .text(let value): value.bind(to: statement, at: index)
    case .bytes(let value): value.bind(to: statement, at: index)
    }
  }

  package static func column(_ index: Int32, of statement: OpaquePointer) -> CatalogValue? {
    if let value = Int64.column(index, of: statement) { return .int(value) }
    if let value = String.column(index, of: statement) { return .text(value) }
    if let value = [UInt8].column(index, of: statement) { return .bytes(value) }
    return Int64?.column(index, of: statement) == nil ? nil : .null
  }
}
