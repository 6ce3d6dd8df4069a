import FoundationEssentials
import Glibc
import ReelCore

/// Opens the file of a catalog. Everything here blocks.
enum CatalogDatabase {
  /// Opens or makes the catalog, brought up to date.
  ///
  /// - Parameter onWait: told who keeps it to itself when that takes more than 2 s.
  static func open(
    _ library: LibraryFolder, at place: CatalogPlace, busyTimeout: Double,
    onWait: @escaping @Sendable (LockHolder) -> Void = { _ in }
  ) throws(CatalogError) -> Database {
    let path = place.path
    return try CatalogError.mapping(at: path) {
      // A new file's mode cannot be changed while another process is about to use it.
      let alone = try FolderLock(library.path, waitingUpTo: busyTimeout, onWait: onWait)
      defer { alone.end() }
      try Failpoint.catalogFolderLocked.reachInDatabase()
      let isNew = try !CatalogFile.hasContent(path)
      if isNew, CatalogTrace.isThere(in: library) { throw CatalogError.lost(at: path) }
      try CatalogFile.make(path)
      try Failpoint.catalogFileMade.reachInDatabase()
      let holder: @Sendable () -> LockHolder? = { LockHolder.writing(into: path) }
      let writer = try Self.writer(
        at: path, CatalogBusyHandler(longest: busyTimeout, holder: holder, onWait: onWait))
      try Failpoint.catalogOpened.reachInDatabase()
      // A database without tables, where a catalog should be.
      if try !isNew && CatalogSchema.checkedVersion(of: writer, at: path) == 0
        && CatalogTrace.isThere(in: library)
      {
        throw CatalogError.lost(at: path)
      }
      try withoutOlderReel(on: writer, at: path, waitingUpTo: busyTimeout) {
        try CatalogSchema.migrate(writer, at: place)
      }
      try Failpoint.catalogMigrated.reachInDatabase()
      try CatalogTrace.leave(in: library)
      return Database(writer: writer, readers: readerCount) {
        let reader = try Connection(path, .readOnly)
        try CatalogBusyHandler(longest: busyTimeout).install(on: reader)
        return reader
      }
    }
  }

  /// A catalog that ends when nobody uses it any more.
  static func inMemory() throws(CatalogError) -> Database {
    let place = CatalogPlace.inMemory
    return try CatalogError.mapping(at: place.path) {
      let connection = try Connection(place.path)
      try connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
      try CatalogSchema.migrate(connection, at: place)
      return Database(connection)
    }
  }

  /// How many may read at once beside the one that writes.
  static let readerCount = 4

  /// A connection to the database at `path` that writes, with a write-ahead log.
  private static func writer(at path: String, _ wait: CatalogBusyHandler) throws -> Connection {
    let connection = try Connection(path, .readWrite)
    try wait.install(on: connection)
    // Before anything is written: a database that is not ours stays as it is.
    _ = try CatalogSchema.checkedVersion(of: connection, at: path)
    // Only a database without tables, and without a log, can still choose; for any other this does nothing.
    try connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
    try useLog(on: connection, at: path)
    // With less the last commits can be lost with the power.
    try connection.execute("PRAGMA synchronous = FULL")
    return connection
  }

  private static func useLog(on connection: Connection, at path: String) throws {
    guard try connection.value("PRAGMA journal_mode = WAL") == "wal" else {
      throw SQLiteError(.generic, "could not activate WAL Mode at path: \(path)")
    }
  }

  /// Runs `migration`, which raises the version, while nobody else has the catalog open if it was one that a Reel before
  /// ``CatalogSchema/firstWithoutReset`` may have open: such a one would go on with checkpoints of its own beside ours.
  private static func withoutOlderReel(
    on writer: Connection, at path: String, waitingUpTo seconds: Double, _ migration: () throws -> Void
  ) throws {
    let version = try CatalogSchema.checkedVersion(of: writer, at: path)
    guard (1..<CatalogSchema.firstWithoutReset).contains(version) else { return try migration() }
    let end = ContinuousClock.now + .seconds(seconds)
    // Only a connection that is alone can leave the log, and SQLite does not wait to be.
    while true {
      do {
        try writer.run("PRAGMA journal_mode = DELETE")
        break
      } catch let error as SQLiteError where error.code == .busy {
        if ContinuousClock.now > end {
          throw CatalogError.olderReel(at: path, LockHolder.readers(of: path))
        }
        usleep(20_000)
      }
    }
    try migration()
    try useLog(on: writer, at: path)
  }

  /// Opens the catalog for reading, or gives nil when there is none yet. One that an older Reel made is
  /// brought up to date first.
  /// - Throws: `lost` when there is none any more.
  static func openReadOnly(
    _ library: LibraryFolder, at place: CatalogPlace, busyTimeout: Double
  ) throws(CatalogError) -> Database? {
    guard let (database, found) = try existing(library, at: place, busyTimeout: busyTimeout) else {
      return nil
    }
    if found.isUpToDate { return database }
    try close(database, path: place.path)
    do throws(CatalogError) {
      try close(try open(library, at: place, busyTimeout: busyTimeout), path: place.path)
    } catch {
      if mayWrite(library, at: place) { throw error }
      throw CatalogError.needsWriter(at: place.path, library: library.path)
    }
    return try readable(place, busyTimeout: busyTimeout)?.database
  }

  /// Opens the catalog for reading as it is; nil when there is none yet.
  /// - Throws: `unusable` where it would have to be brought up to date first.
  static func openAsItIs(
    _ library: LibraryFolder, at place: CatalogPlace, busyTimeout: Double
  ) throws(CatalogError) -> Database? {
    guard let (database, found) = try existing(library, at: place, busyTimeout: busyTimeout) else {
      return nil
    }
    if found.isUpToDate { return database }
    try close(database, path: place.path)
    throw CatalogError.needsWriter(at: place.path, library: library.path)
  }

  private static func mayWrite(_ library: LibraryFolder, at place: CatalogPlace) -> Bool {
    access(library.path, W_OK) == 0 && access(place.path, W_OK) == 0
  }

  private typealias Found = (version: Int, isUpToDate: Bool)

  /// Opens the library's catalog, and tells its schema's version; nil when there is none yet.
  private static func existing(
    _ library: LibraryFolder, at place: CatalogPlace, busyTimeout: Double
  ) throws(CatalogError) -> (database: Database, found: Found)? {
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
  ) throws(CatalogError) -> (database: Database, found: Found)? {
    let path = place.path
    return try CatalogError.mapping(at: path) {
      guard try CatalogFile.hasContent(path) else { return nil }
      do {
        return try look(into: place, .readWrite, busyTimeout: busyTimeout)
      } catch let error as SQLiteError where CatalogError.from(error, at: path).code == .diskFull {
        try CatalogFile.makeIndexOfLog(of: path)
        return try look(into: place, .withoutRoom, busyTimeout: busyTimeout)
      } catch let error as SQLiteError where error.code == .cannotOpen {
        // SQLite cannot make its shared memory file: a file system that is mounted read-only. Without a
        // write-ahead log to look into, the database file is all there is.
        if try CatalogFile.hasContent(path + "-wal") { throw error }
        return try look(into: place, .immutable, busyTimeout: busyTimeout)
      }
    }
  }

  /// The connection may write, though no statement of ours does: only such a one removes the files beside the
  /// database when it is the last to close.
  private static func look(
    into place: CatalogPlace, _ access: Connection.Access, busyTimeout: Double
  ) throws -> (database: Database, found: Found) {
    let connection = try Connection(place.path, access)
    try CatalogBusyHandler(longest: busyTimeout).install(on: connection)
    try connection.execute("PRAGMA query_only = ON")
    let found = try connection.transaction(.deferred) {
      let version = try CatalogSchema.checkedVersion(of: connection, at: place.path)
      return (version, try version > 0 && CatalogSchema.isUpToDate(connection, at: place))
    }
    return (Database(connection), found)
  }

  /// Closes; the last to close brings the write-ahead log home.
  static func close(_ database: Database, path: String) throws(CatalogError) {
    try CatalogError.mapping(at: path) {
      if database.hasReaders {
        // Another process in the middle of it is no reason to fail: the log stays, and nothing is lost.
        try? database.write { db in try db.checkpoint(.passive) }
        try Failpoint.catalogCheckpointed.reachInDatabase()
      }
      try database.close()
      try Failpoint.catalogClosed.reachInDatabase()
    }
  }
}

/// What shows that a library had a catalog: a file that says so, or objects in its own store. A library that has such a
/// trace and no catalog has lost it, and with a new one everything would be published again. Everything here blocks.
enum CatalogTrace {
  /// Beside the catalog.
  static let fileName = "catalog.made"

  private static let text = """
    Reel made catalog.sqlite in this folder. Should it be gone or empty, put a backup in its place, or run
    reel doctor --rebuild, which makes one of the stored objects.

    """

  static func isThere(in library: LibraryFolder) -> Bool {
    var facts = stat()
    if lstat(path(in: library), &facts) == 0 { return true }
    // Without the file: made by an older Reel.
    let names = try? FileManager.default.contentsOfDirectory(atPath: library.mediaPath)
    return names?.contains(where: ObjectKey.isDrawn) ?? false
  }

  /// Leaves the file, durably, unless it is there. The catalog must be durable before: who finds the file and no catalog
  /// takes it for lost.
  static func leave(in library: LibraryFolder) throws(CatalogError) {
    var facts = stat()
    if lstat(path(in: library), &facts) == 0 { return }
    do throws(SystemError) {
      let raw = open(path(in: library), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
      if raw < 0, errno == EEXIST { return }
      guard raw >= 0 else { throw SystemError.last("open") }
      let file = Descriptor(adopting: raw)
      try file.write(all: text.utf8)
      try file.sync()
      try Failpoint.catalogTraceWritten.reach()
      try syncFolder(library.path)
    } catch {
      let isFull = error.code == ENOSPC || error.code == EDQUOT
      throw CatalogError(
        isFull ? .diskFull : .unusable,
        "cannot write \(path(in: library)) (\(error.reason)): "
          + (isFull ? "free some space, and try again" : CatalogError.advice(error.code)))
    }
  }

  /// Makes the names in the folder at `path` durable.
  static func syncFolder(_ path: String) throws(SystemError) {
    try Descriptor(opening: path, O_RDONLY | O_DIRECTORY).syncFolder()
  }

  private static func path(in library: LibraryFolder) -> String { library.path + "/" + fileName }
}
