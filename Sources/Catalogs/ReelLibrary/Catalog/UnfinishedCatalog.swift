import FoundationEssentials
import Glibc
import ReelCore

/// A catalog that is built under a temporary name, and renamed in one step when it is complete. If the process dies
/// halfway, the library is left without a catalog. No other process opens the library meanwhile, because the builder
/// holds its ``FolderLock``. Everything here blocks.
struct UnfinishedCatalog: Sendable {
  let library: LibraryFolder
  /// Where it is built.
  let place: CatalogPlace
  let database: Database

  /// Creates an empty catalog, in place of what a process that died has left.
  init(in library: LibraryFolder) throws {
    self.library = library
    place = Self.place(in: library)
    for ending in ["", "-journal"] { unlink(place.path + ending) }
    try CatalogFile.make(place.path)
    let connection = try Connection(place.path, .readWrite)
    try connection.execute("PRAGMA auto_vacuum = INCREMENTAL; \(Self.unsynced)")
    try CatalogSchema.migrate(connection, at: place)
    database = Database(connection)
  }

  /// The file is synced as a whole before it gets its name.
  private static let unsynced = "PRAGMA synchronous = OFF"

  /// Opens another connection to it.
  func connect() throws -> Connection {
    let connection = try Connection(place.path, .readWrite)
    try connection.execute(Self.unsynced)
    return connection
  }

  static func place(in library: LibraryFolder) -> CatalogPlace {
    CatalogPlace(
      path: library.catalogPath + ".unfinished", media: CanonicalPath(resolving: library.mediaPath))
  }

  /// Puts it in its place. What was left of a lost catalog is kept beside it, as `catalog.lost-….sqlite`.
  func finish() throws {
    try database.close()
    try Descriptor(opening: place.path, O_RDWR).sync()
    try putRemainsAside()
    try renameWithoutReplacing(place.path, to: library.catalogPath)
    try CatalogTrace.syncFolder(library.path)
    try CatalogTrace.leave(in: library)
  }

  /// Moves the files of the lost catalog away: the write-ahead log of another database would destroy the new one.
  private func putRemainsAside() throws(SystemError) {
    let aside = library.path + "/catalog.lost-\(Date().milliseconds).sqlite"
    for ending in ["-wal", "-journal", "-shm", ""] {
      let path = library.catalogPath + ending
      var facts = stat()
      guard lstat(path, &facts) == 0 else { continue }
      if facts.st_size == 0 || ending == "-shm" {
        _ = try retryingInterrupts("unlink") { unlink(path) }
      } else {
        _ = try retryingInterrupts("rename") { rename(path, aside + ending) }
      }
    }
  }

  /// Whether a process has the library open. As the caller has found no catalog, that process works with a lost one.
  static func isInUse(_ library: LibraryFolder) -> Bool {
    let locks = LockFiles(library)
    return locks.names().contains(where: locks.isHeld)
  }
}
