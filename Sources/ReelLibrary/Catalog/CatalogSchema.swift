import ReelCore

/// The tables, and how an older catalog becomes one of today.
///
/// Versions are counted in `PRAGMA user_version`. A version that was released never changes: what comes
/// later is appended to ``migrations``.
enum CatalogSchema {
  /// "Reel" in ASCII; what SQLite's header names as the program the file belongs to.
  static let applicationID = 0x5265_656C

  /// The statements that make version `n + 1` of version `n`.
  static let migrations = [CatalogSchema.version1, CatalogSchema.version2, CatalogSchema.version3]

  /// The version that this build writes and reads.
  static var version: Int { migrations.count }

  /// The version of the catalog in `db`; 0 when nothing is in it yet.
  ///
  /// Only reads.
  /// - Throws: ``CatalogError`` (`newerSchema`, or `corrupt` for another program's database).
  static func checkedVersion(of db: Connection, at path: String) throws -> Int {
    let application = try db.value("PRAGMA application_id") ?? 0
    let found = try db.value("PRAGMA user_version") ?? 0
    if application == applicationID {
      if found > version { throw CatalogError.newerSchema(found, known: version, at: path) }
      return found
    }
    let isEmpty = try db.value("SELECT NOT EXISTS (SELECT 1 FROM sqlite_schema)") ?? false
    guard application == 0, found == 0, isEmpty else { throw CatalogError.notACatalog(at: path) }
    return 0
  }

  /// Whether the catalog in `db` is as this build writes it; see ``migrate(_:at:through:)``.
  static func isUpToDate(_ db: Connection, at place: CatalogPlace) throws -> Bool {
    let found = try checkedVersion(of: db, at: place.path)
    return try found == version && !OwnStore(place: place).isNamedByPath(in: db)
  }

  /// Brings the catalog up to date with `migrations`, and the name of the library's own store with where the library
  /// is; in one transaction, however many processes try at once.
  static func migrate(
    _ db: Connection, at place: CatalogPlace, through migrations: [String] = Self.migrations
  ) throws {
    try db.transaction(.immediate) {
      let found = try checkedVersion(of: db, at: place.path)
      let own = OwnStore(place: place)
      if try found >= migrations.count && !own.isNamedByPath(in: db) { return }
      for statements in migrations.dropFirst(found) {
        try db.execute(statements)
      }
      try own.adopt(in: db, from: found)
      try db.execute("PRAGMA application_id = \(applicationID)")
      try db.execute("PRAGMA user_version = \(migrations.count)")
      try Failpoint.catalogSchemaWritten.reachInDatabase()
    }
  }
}
