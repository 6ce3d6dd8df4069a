import GRDB
import ReelModel
import ReelSystem

/// Opens the file of a catalog. Everything here blocks.
enum CatalogDatabase {
  /// Opens or makes the catalog, brought up to date.
  ///
  /// - Parameter onWait: told who keeps it to itself when that takes more than 2 s.
  static func open(
    _ library: LibraryFolder, at place: CatalogPlace, busyTimeout: Double,
    onWait: @escaping @Sendable (CatalogHold) -> Void = { _ in }
  ) throws(CatalogError) -> DatabasePool {
    let path = place.path
    return try mapping(path) {
      // A new file's mode cannot be changed while another process is about to use it.
      let alone = try FolderLock(library.path, waitingUpTo: busyTimeout, onWait: onWait)
      defer { alone.end() }
      try Failpoint.catalogFolderLocked.reachInDatabase()
      let isNew = try !CatalogFile.hasContent(path)
      if isNew, CatalogTrace.isThere(in: library) { throw CatalogError.lost(at: path) }
      try CatalogFile.make(path)
      try Failpoint.catalogFileMade.reachInDatabase()
      var configuration = configuration(path, busyTimeout)
      let holder: @Sendable () -> CatalogHold? = { CatalogHold.writing(into: path) }
      configuration.busyMode = BusyWait(longest: busyTimeout, holder: holder, onWait: onWait).mode
      // Only a database without tables can still choose; for any other this does nothing.
      configuration.prepareDatabase { db in
        if !db.configuration.readonly { try db.execute(sql: "PRAGMA auto_vacuum = INCREMENTAL") }
      }
      let database = try DatabasePool(path: path, configuration: configuration)
      try Failpoint.catalogOpened.reachInDatabase()
      // GRDB leaves it at NORMAL, where the last commits can be lost with the power.
      try database.writeWithoutTransaction { db in
        try db.execute(sql: "PRAGMA synchronous = FULL")
        // A database without tables, where a catalog should be.
        if try !isNew && CatalogSchema.checkedVersion(of: db, at: path) == 0
          && CatalogTrace.isThere(in: library)
        {
          throw CatalogError.lost(at: path)
        }
        try CatalogSchema.migrate(db, at: place)
      }
      try Failpoint.catalogMigrated.reachInDatabase()
      try CatalogTrace.leave(in: library)
      return database
    }
  }

  /// Opens the catalog for reading, or gives nil when there is none yet. One that an older Reel made is
  /// brought up to date first.
  /// - Throws: `lost` when there is none any more.
  static func openReadOnly(
    _ library: LibraryFolder, at place: CatalogPlace, busyTimeout: Double
  ) throws(CatalogError) -> (any DatabaseReader)? {
    guard let (database, found) = try existing(library, at: place, busyTimeout: busyTimeout) else {
      return nil
    }
    if found.isUpToDate { return database }
    try close(database, path: place.path)
    try close(try open(library, at: place, busyTimeout: busyTimeout), path: place.path)
    return try readable(place, busyTimeout: busyTimeout)?.database
  }

  private typealias Found = (version: Int, isUpToDate: Bool)

  /// Opens the library's catalog, and tells its schema's version; nil when there is none yet.
  private static func existing(
    _ library: LibraryFolder, at place: CatalogPlace, busyTimeout: Double
  ) throws(CatalogError) -> (database: any DatabaseReader, found: Found)? {
    if let catalog = try readable(place, busyTimeout: busyTimeout), catalog.found.version > 0 {
      return catalog
    }
    guard CatalogTrace.isThere(in: library) else { return nil }
    // One that was just being made has left the trace: it is there by now.
    if let catalog = try readable(place, busyTimeout: busyTimeout), catalog.found.version > 0 {
      return catalog
    }
    throw CatalogError.lost(at: place.path)
  }

  /// Whether there is a catalog at `place`, and not only a file that was to become one.
  static func isThere(at place: CatalogPlace, busyTimeout: Double) throws(CatalogError) -> Bool {
    guard let catalog = try readable(place, busyTimeout: busyTimeout) else { return false }
    try close(catalog.database, path: place.path)
    return catalog.found.version > 0
  }

  /// Opens a catalog that is there, and tells its schema's version.
  private static func readable(
    _ place: CatalogPlace, busyTimeout: Double
  ) throws(CatalogError) -> (database: any DatabaseReader, found: Found)? {
    let path = place.path
    return try mapping(path) {
      guard try CatalogFile.hasContent(path) else { return nil }
      do {
        return try look(into: path, of: place, busyTimeout: busyTimeout)
      } catch let error as DatabaseError where error.resultCode == .SQLITE_CANTOPEN {
        // SQLite cannot make its shared memory file: a file system that is mounted read-only. Without a
        // write-ahead log to look into, the database file is all there is.
        if try CatalogFile.hasContent(path + "-wal") { throw error }
        return try look(
          into: "file:" + escaped(path) + "?immutable=1", of: place, busyTimeout: busyTimeout)
      }
    }
  }

  /// The connection may write, though no statement of ours does: only such a one removes the files beside the
  /// database when it is the last to close.
  private static func look(
    into name: String, of place: CatalogPlace, busyTimeout: Double
  ) throws -> (database: any DatabaseReader, found: Found) {
    let database = try DatabaseQueue(path: name, configuration: configuration(place.path, busyTimeout))
    let found = try database.read { db in
      let version = try CatalogSchema.checkedVersion(of: db, at: place.path)
      return (version, try version > 0 && CatalogSchema.isUpToDate(db, at: place))
    }
    return (database, found)
  }

  /// Closes; the last to close brings the write-ahead log home.
  static func close(_ database: any DatabaseReader, path: String) throws(CatalogError) {
    try mapping(path) {
      if let pool = database as? DatabasePool {
        // Its reading connections first: they may not remove the files beside the database.
        pool.releaseMemory()
        // Another process in the middle of it is no reason to fail: the log stays, and nothing is lost.
        try? pool.writeWithoutTransaction { db in _ = try db.checkpoint(.passive) }
        try Failpoint.catalogCheckpointed.reachInDatabase()
      }
      try database.close()
      try Failpoint.catalogClosed.reachInDatabase()
    }
  }

  private static func configuration(_ path: String, _ busyTimeout: Double) -> Configuration {
    var configuration = Configuration()
    configuration.label = "reel.catalog"
    configuration.busyMode = BusyWait(longest: busyTimeout).mode
    configuration.maximumReaderCount = 4
    configuration.prepareDatabase { db in
      // Before anything is written: a database that is not ours stays as it is.
      _ = try CatalogSchema.checkedVersion(of: db, at: path)
    }
    return configuration
  }

  private static func escaped(_ path: String) -> String {
    var escaped = ""
    for scalar in path.unicodeScalars {
      switch scalar {
      case "%", "?", "#": escaped += "%" + String(scalar.value, radix: 16, uppercase: true)
      default: escaped.unicodeScalars.append(scalar)
      }
    }
    return escaped
  }

  private static func mapping<Value>(_ path: String, _ body: () throws -> Value) throws(CatalogError) -> Value
  {
    do {
      return try body()
    } catch {
      throw CatalogError.from(error, at: path)
    }
  }
}
