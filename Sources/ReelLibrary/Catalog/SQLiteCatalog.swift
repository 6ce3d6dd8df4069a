import ReelCore

/// The catalog of a library folder, in SQLite.
///
/// Several processes may have the same catalog open, each as an owner of its own. What is written durably is
/// committed in groups (write-ahead log, `synchronous=FULL`). No call blocks a thread of Swift's cooperative
/// pool.
///
/// Cancellation: reading gives `cancelled`; so does ``claim(_:)`` when the task is cancelled before it is
/// called. A write that was handed in is carried out, and its caller gets its result, cancelled or not: so
/// every grant reaches somebody who can release it. ``complete(_:draft:stored:)``,
/// ``release(_:because:)`` and ``close()`` do their work in a cancelled task too: they are how it ends.
///
/// A catalog that is let go of without ``close()`` counts as a dead process.
public final class SQLiteCatalog: PostCatalog, Sendable {
  let connection: CatalogConnection
  let place: CatalogPlace
  let clock: any WallClock
  /// Nil when it was opened for reading only.
  private let writing: CatalogWriting?

  private init(
    connection: CatalogConnection, place: CatalogPlace, clock: any WallClock, writing: CatalogWriting?
  ) {
    self.connection = connection
    self.place = place
    self.clock = clock
    self.writing = writing
  }

  /// Opens the catalog of `library`, makes it when there is none, and takes a place among its owners.
  ///
  /// - Parameters:
  ///   - clock: for leases and for the times that are written down.
  ///   - randomness: for the name of this owner.
  ///   - lease: how long others leave this owner's intents alone when they can't tell whether it lives.
  ///   - heartbeat: how often the lease is renewed.
  ///   - busyTimeout: how long to wait for another process's transaction when it can't be seen whose that is. One
  ///     that lives is waited for, up to ten minutes.
  ///   - host: names the running kernel; nil for this one. Tests play another machine with it.
  ///   - onWait: told, on any thread, who keeps the catalog to itself when a wait for it lasts more than 2 s.
  /// - Throws: ``CatalogError``: `lost` when there was a catalog, `newerSchema`, `corrupt`, `locked`, `diskFull` or
  ///   `unusable`.
  public static func open(
    library: LibraryFolder, clock: any WallClock = SystemWallClock(),
    randomness: some Randomness = SystemRandomness(), lease: Duration = .seconds(60),
    heartbeat: Duration = .seconds(10), busyTimeout: Duration = .seconds(10), host: String? = nil,
    onWait: @escaping @Sendable (LockHolder) -> Void = { _ in }
  ) async throws(CatalogError) -> SQLiteCatalog {
    let timeout = busyTimeout / .seconds(1)
    let name = ProcessRegistry.prefix + randomness.name(length: 16)
    let (database, place, lock) = try await BlockingQueue(label: "reel.catalog.open", width: 1).run {
      () throws(CatalogError) in
      let place = CatalogPlace(library)
      let database = try CatalogDatabase.open(library, at: place, busyTimeout: timeout, onWait: onWait)
      return (database, place, try ProcessRegistry.lock(name, in: library))
    }
    let connection = CatalogConnection(database, path: place.path)
    let owners = ProcessRegistry(
      library: library, clock: clock, host: host ?? HostIdentity.current(), lease: lease)
    let writing = try await CatalogWriting(
      writer: CatalogWriter(database: database, connection: connection), owners: owners, place: place,
      lock: lock, heartbeatEvery: heartbeat)
    return SQLiteCatalog(connection: connection, place: place, clock: clock, writing: writing)
  }

  /// Opens the catalog of `library` for reading, or gives nil when there is none yet; makes nothing.
  ///
  /// Methods that write throw `unusable`, those that remember do nothing.
  /// - Throws: ``CatalogError``: `lost` when there was a catalog, `newerSchema`, `corrupt`, `locked` or `unusable`.
  public static func openReadOnly(
    library: LibraryFolder, clock: any WallClock = SystemWallClock(), busyTimeout: Duration = .seconds(10)
  ) async throws(CatalogError) -> SQLiteCatalog? {
    let timeout = busyTimeout / .seconds(1)
    let (database, place) = try await BlockingQueue(label: "reel.catalog.open", width: 1).run {
      () throws(CatalogError) in
      let place = CatalogPlace(library)
      return (try CatalogDatabase.openReadOnly(library, at: place, busyTimeout: timeout), place)
    }
    return database.map { database in
      SQLiteCatalog(
        connection: CatalogConnection(database, path: place.path), place: place, clock: clock, writing: nil)
    }
  }

  /// Commits what is pending, gives up what this owner holds, and closes, also in a cancelled task. What was
  /// completed and not announced is told by whoever meets it next.
  public func close() async throws(CatalogError) {
    var failure: CatalogError?
    do {
      try await writing?.retire()
    } catch {
      failure = error
    }
    try await connection.close()
    if let failure { throw failure }
  }

  /// The version of the SQLite library that this process runs with, such as `3.40.1`.
  public static func sqliteVersion() -> String {
    Connection.libraryVersion
  }

  /// Stops living without a word, as a process does that is killed: for tests.
  func abandon() {
    writing?.abandon()
  }

  // MARK: For the extensions

  /// Named in messages.
  var path: String { connection.path }

  /// What is needed to write.
  /// - Throws: `unusable` when this was opened for reading only.
  func writable() throws(CatalogError) -> CatalogWriting {
    guard let writing else { throw CatalogError.readOnly(at: path) }
    return writing
  }

  /// What is needed to write, or nil when this was opened for reading only.
  var writableIfAny: CatalogWriting? { writing }
}
