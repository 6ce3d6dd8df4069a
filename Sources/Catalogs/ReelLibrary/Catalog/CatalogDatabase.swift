import FoundationEssentials
import Glibc
import ReelCore

/// Opens the database of a catalog. Everything here blocks.
enum CatalogDatabase {
  /// Opens the catalog, or creates it, and brings it up to date.
  ///
  /// - Parameter onWait: told which process holds the catalog if a wait for it takes more than 2 s.
  static func open(
    _ library: LibraryFolder, at place: CatalogPlace, busyTimeout: Double,
    onWait: @escaping @Sendable (LockHolder) -> Void = { _ in }
  ) throws(CatalogError) -> Database {
    let path = place.path
    return try CatalogError.mapping(at: path) {
      // Once another process may use a new file, its mode can't be changed any more.
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
      // A database without tables where a catalog should be.
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

  /// Creates a catalog in memory, which ends with its last user.
  static func inMemory() throws(CatalogError) -> Database {
    let place = CatalogPlace.inMemory
    return try CatalogError.mapping(at: place.path) {
      let connection = try Connection(place.path)
      try connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
      try CatalogSchema.migrate(connection, at: place)
      return Database(connection)
    }
  }

  /// How many connections may read at once beside the one that writes.
  static let readerCount = 4

  /// Opens a connection for writing to the database at `path`, with a write-ahead log.
  private static func writer(at path: String, _ wait: CatalogBusyHandler) throws -> Connection {
    let connection = try Connection(path, .readWrite)
    try wait.install(on: connection)
    // Checked before anything is written, so that another program's database stays as it is.
    _ = try CatalogSchema.checkedVersion(of: connection, at: path)
    // Takes effect only in a database without tables and without a log; any other ignores it.
    try connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
    try useLog(on: connection, at: path)
    // With a lower setting, a power failure could undo the last commits.
    try connection.execute("PRAGMA synchronous = FULL")
    return connection
  }

  private static func useLog(on connection: Connection, at path: String) throws {
    guard try connection.value("PRAGMA journal_mode = WAL") == "wal" else {
      throw SQLiteError(.generic, "could not activate WAL Mode at path: \(path)")
    }
  }

  /// Runs `migration`, which raises the version. If a Reel before ``CatalogSchema/firstWithoutReset`` can open the present
  /// version, it first waits until no other process has the catalog open: an older Reel would continue to make its own
  /// checkpoints beside ours.
  private static func withoutOlderReel(
    on writer: Connection, at path: String, waitingUpTo seconds: Double, _ migration: () throws -> Void
  ) throws {
    let version = try CatalogSchema.checkedVersion(of: writer, at: path)
    guard (1..<CatalogSchema.firstWithoutReset).contains(version) else { return try migration() }
    let end = ContinuousClock.now + .seconds(seconds)
    // Only a connection that is alone can leave WAL mode, and SQLite does not wait until it is.
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

  /// Opens the catalog for reading; nil if there is none yet. A catalog that an older
  /// Reel made is brought up to date first.
  /// - Throws: `lost` if the library has lost its catalog.
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

  /// Opens the catalog for reading as it is; nil if there is none yet.
  /// - Throws: `unusable` if it would have to be brought up to date first.
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

  /// Opens the library's catalog, and reads its schema's version; nil if there is none yet.
  private static func existing(
    _ library: LibraryFolder, at place: CatalogPlace, busyTimeout: Double
  ) throws(CatalogError) -> (database: Database, found: Found)? {
    if let catalog = try readable(place, busyTimeout: busyTimeout), catalog.found.version > 0 {
      return catalog
    }
    guard CatalogTrace.isThere(in: library) else { return nil }
    // A process that was just creating the catalog may have left the trace; then the catalog is there by now.
    if let catalog = try readable(place, busyTimeout: busyTimeout), catalog.found.version > 0 {
      return catalog
    }
    throw CatalogError.lost(at: place.path)
  }

  /// Whether there is a catalog at `place`, and not merely a file that was to become one.
  static func isThere(at place: CatalogPlace, busyTimeout: Double) throws(CatalogError) -> Bool {
    guard let catalog = try readable(place, busyTimeout: busyTimeout) else { return false }
    try close(catalog.database, path: place.path)
    return catalog.found.version > 0
  }

  /// Opens an existing catalog, and reads its schema's version; nil if there is no file, or an empty one.
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
        // SQLite cannot create its shared-memory file: the file system is mounted read-only. If there is no write-ahead
        // log to read, the database file is all there is.
        if try CatalogFile.hasContent(path + "-wal") { throw error }
        return try look(into: place, .immutable, busyTimeout: busyTimeout)
      }
    }
  }

  /// Opens the catalog and reads its schema's version. A connection with `.readWrite` is not used to write: only such a
  /// connection removes the files beside the database if it is the last to close.
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

  /// Closes the database. The last process to close it checkpoints the write-ahead log.
  static func close(_ database: Database, path: String) throws(CatalogError) {
    try CatalogError.mapping(at: path) {
      if database.hasReaders {
        // It is no error if another process is in the middle of a commit: the log stays, and nothing is lost.
        try? database.write { db in try db.checkpoint(.passive) }
        try Failpoint.catalogCheckpointed.reachInDatabase()
      }
      try database.close()
      try Failpoint.catalogClosed.reachInDatabase()
    }
  }
}

/// The evidence that a library had a catalog: a file that says so, or objects in its own store. A
/// library with such a trace and no catalog has lost it, and with a new catalog everything would be
/// published again. Everything here blocks.
enum CatalogTrace {
  /// The name of that file, which is beside the catalog.
  static let fileName = "catalog.made"

  private static let text = """
    Reel made catalog.sqlite in this folder. If it is missing or empty, restore a backup, or run
    reel doctor --rebuild, which rebuilds it from the stored objects.

    """

  static func isThere(in library: LibraryFolder) -> Bool {
    var facts = stat()
    if lstat(path(in: library), &facts) == 0 { return true }
    // A catalog that an older Reel made has no such file.
    let names = try? FileManager.default.contentsOfDirectory(atPath: library.mediaPath)
    return names?.contains(where: ObjectKey.isDrawn) ?? false
  }

  /// Writes the file durably unless it is there. The catalog must be durable before: a process that finds the file and
  /// no catalog takes the catalog for lost.
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
