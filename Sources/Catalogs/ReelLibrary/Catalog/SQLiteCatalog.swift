import FoundationEssentials
import ReelCore

/// The catalog of a library folder, in SQLite.
///
/// Several processes may have the same catalog open, each as its own owner. Durable writes are committed in groups
/// (write-ahead log, `synchronous=FULL`). No asynchronous call blocks a thread of Swift's cooperative pool.
///
/// Cancellation: reads throw `cancelled`; so does ``claim(_:)`` if the task is cancelled before the call. A write that
/// was handed in is carried out, and its caller gets the result, cancelled or not, so that every granted intent reaches
/// a caller that can release it. ``complete(_:noting:)``, ``release(_:because:)`` and ``close()`` also work in a
/// cancelled task, because they are how it ends.
///
/// A catalog that is released without ``close()`` counts as a dead process.
public final class SQLiteCatalog: PostCatalog, Sendable {
  let connection: CatalogConnection
  let place: CatalogPlace
  let clock: any WallClock
  let registry: ProcessRegistry
  /// Nil if it was opened for reading only.
  private let writing: CatalogWriting?

  private init(
    _ connection: CatalogConnection, _ place: CatalogPlace, _ clock: any WallClock,
    _ registry: ProcessRegistry, writing: CatalogWriting?
  ) {
    self.connection = connection
    self.place = place
    self.clock = clock
    self.registry = registry
    self.writing = writing
  }

  /// Opens the catalog of `library`, creating it if there is none, and registers an owner.
  ///
  /// - Parameters:
  ///   - clock: for leases and recorded times.
  ///   - randomness: for the name of this owner.
  ///   - lease: how long others leave this owner's intents alone if they can't tell
  ///     whether it is alive; nil for a minute.
  ///   - heartbeat: how often the lease is renewed; nil for six times during its length.
  ///   - busyTimeout: how long to wait for another process's transaction if that process can't be seen. One that is
  ///     seen to be alive is waited for, up to ten minutes.
  ///   - host: names the running kernel; nil for this one. Tests use it to play another machine.
  ///   - onWait: told, on any thread, which process holds the catalog if a wait for it lasts more than 2 s.
  /// - Throws: ``CatalogError``: `lost` if there was a catalog, `newerSchema`, `corrupt`,
  ///   `locked`, `diskFull` or `unusable`.
  public static func open(
    library: LibraryFolder, clock: any WallClock = SystemWallClock(),
    randomness: some Randomness = SystemRandomness(), lease: Duration? = nil,
    heartbeat: Duration? = nil, busyTimeout: Duration = .seconds(10), host: String? = nil,
    onWait: @escaping @Sendable (LockHolder) -> Void = { _ in }
  ) async throws(CatalogError) -> SQLiteCatalog {
    let timeout = busyTimeout / .seconds(1)
    let lease = lease ?? LeaseTerms.library
    let name = LockFiles.prefix + randomness.name(length: 16)
    return try await BlockingQueue(label: "reel.catalog.open", width: 1).run { () throws(CatalogError) in
      let place = CatalogPlace(library)
      let database = try CatalogDatabase.open(library, at: place, busyTimeout: timeout, onWait: onWait)
      let lock = try LockFiles(library).take(name)
      let connection = CatalogConnection(database, path: place.path)
      let owners = ProcessRegistry(
        library: library, clock: clock, host: host ?? HostIdentity.current(), lease: lease)
      let writing = try CatalogWriting(
        writer: CatalogWriter(database: database, connection: connection), owners: owners, place: place,
        lock: lock, heartbeatEvery: heartbeat ?? lease / 6)
      return SQLiteCatalog(connection, place, clock, owners, writing: writing)
    }
  }

  /// Creates another owner of a catalog in memory, which other owners share.
  init(inMemory database: Database, _ locks: LocksInMemory, clock: any WallClock) throws(CatalogError) {
    place = .inMemory
    self.clock = clock
    connection = CatalogConnection(database, path: place.path, isShared: true)
    registry = ProcessRegistry(locks, clock: clock)
    writing = try CatalogWriting(
      writer: CatalogWriter(database: database, connection: connection), owners: registry, place: place,
      lock: locks.take(), heartbeatEvery: nil)
  }

  /// Opens the catalog of `library` for reading, or returns nil if there is none yet; creates nothing.
  ///
  /// Methods that write throw `unusable`; those that remember something do nothing.
  /// - Parameter host: names the running kernel; nil for this one. Tests use it to play another machine.
  /// - Throws: ``CatalogError``: `lost` if there was a catalog, `newerSchema`, `corrupt`, `locked` or `unusable`.
  public static func openReadOnly(
    library: LibraryFolder, clock: any WallClock = SystemWallClock(),
    busyTimeout: Duration = .seconds(10), host: String? = nil
  ) async throws(CatalogError) -> SQLiteCatalog? {
    let timeout = busyTimeout / .seconds(1)
    let (database, place) = try await BlockingQueue(label: "reel.catalog.open", width: 1).run {
      () throws(CatalogError) in
      let place = CatalogPlace(library)
      return (try CatalogDatabase.openReadOnly(library, at: place, busyTimeout: timeout), place)
    }
    guard let database else { return nil }
    let owners = ProcessRegistry(
      library: library, clock: clock, host: host ?? HostIdentity.current(), lease: .zero)
    return SQLiteCatalog(
      CatalogConnection(database, path: place.path), place, clock, owners, writing: nil)
  }

  /// Commits what is pending, releases what this owner holds, and closes, also in a cancelled task. The event of a post
  /// that was completed but not announced is left to the next owner that comes across the post.
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
    SQLiteLibrary.ofThisProcess.version
  }

  /// Ends without a trace in the database, as a process that is killed does; for tests.
  func abandon() {
    writing?.abandon()
  }

  // MARK: For the extensions

  /// The path, for messages.
  var path: String { connection.path }

  /// Returns what is needed to write.
  /// - Throws: `unusable` if this was opened for reading only.
  func writable() throws(CatalogError) -> CatalogWriting {
    guard let writing else { throw CatalogError.readOnly(at: path) }
    return writing
  }

  /// What is needed to write, or nil if this was opened for reading only.
  var writableIfAny: CatalogWriting? { writing }
}

extension SQLiteCatalog {
  /// Returns the post with this id.
  public func post(_ id: PostID) async throws(CatalogError) -> Post? {
    try await connection.look { db in try PostTable.find(id, in: db) }?.post(at: place)
  }

  /// Returns one page, the newest posts first. It is found by index, however far down the feed it is.
  public func newestPosts(
    matching filter: PostFilter, before cursor: FeedCursor?, limit: Int
  ) async throws(CatalogError) -> FeedPage {
    guard limit > 0 else { return FeedPage(posts: [], next: nil) }
    let (start, count) = (cursor?.pageNumber ?? .max, limit == .max ? limit : limit + 1)
    let found = try await connection.look { [place] db in
      filter.text == nil
        ? try PostTable.before(start, matching: filter, limit: count, in: db)
        : try WordIndex.posts(before: start, matching: filter, limit: count, in: db, at: place)
    }
    let shown = try posts(in: Array(found.prefix(limit)))
    let next = found.count > limit ? found[limit - 1].pageNumber : nil
    return FeedPage(posts: shown, next: next.map(FeedCursor.init(pageNumber:)))
  }

  /// Returns the posts with `pageNumber` in `from ..< from + count`.
  public func posts(from pageNumber: Int, count: Int) async throws(CatalogError) -> [Post] {
    guard count > 0 else { return [] }
    let end = pageNumber.addingReportingOverflow(count)
    let places = pageNumber..<(end.overflow ? .max : end.partialValue)
    return try posts(in: try await connection.look { db in try PostTable.at(places, in: db) })
  }

  /// Returns the posts of a video, the oldest first.
  public func posts(of digest: ContentDigest) async throws(CatalogError) -> [Post] {
    try posts(in: try await connection.look { db in try PostTable.all(of: digest, in: db) })
  }

  /// Returns a number that changes whenever posts that are already in the feed change.
  public func feedRevision() async throws(CatalogError) -> Int {
    try await connection.look { db in Int(try db.number("SELECT revision FROM feed") ?? 0) }
  }

  private func posts(in rows: [PostTable.Stored]) throws(CatalogError) -> [Post] {
    var posts: [Post] = []
    for row in rows { posts.append(try row.post(at: place)) }
    return posts
  }

  /// Returns what the catalog holds, after all that was handed in before.
  public func status() async throws(CatalogError) -> CatalogStatus {
    try await writableIfAny?.writer.flush()
    return try await connection.read { [place] db in try StatusQuery.status(at: place, in: db) }
  }
}

extension SQLiteCatalog: CatalogRepair {
  /// Releases what dead owners hold, in one transaction. An owner that is, or may be, alive keeps what it has.
  public func releaseWhatTheDeadHold() async throws(CatalogError) {
    let writing = try writable()
    try await writing.writer.commit { db in try writing.steps.owners.reap(in: db) }
  }

  /// Gives up the unfinished intent of that post. The next claim for the same video draws another key.
  public func giveUp(_ id: PostID) async throws(CatalogError) -> Bool {
    let writing = try writable()
    let isGivenUp = try await writing.writer.commit { db in try writing.steps.giveUp(id, in: db) }
    if isGivenUp { Failpoint.giveUpCommitted.pass() }
    return isGivenUp
  }

  /// Gives up a poster. Its row continues to name the object.
  public func giveUpPoster(
    _ key: ObjectKey, in destination: Destination
  ) async throws(CatalogError) -> Bool {
    let writing = try writable()
    let (steps, store) = (writing.steps, place.name(of: destination))
    let isGivenUp = try await writing.writer.commit { db in
      let owner = try PosterTable.owner(of: key, in: store, db: db)
      if try steps.owners.isAnothers(owner, than: steps.me, in: db) { return false }
      return try PosterTable.giveUp(key, in: store, db: db)
    }
    if isGivenUp { Failpoint.giveUpCommitted.pass() }
    return isGivenUp
  }
}

extension SQLiteCatalog: StoreRelocating {
  package func relocate(
    _ old: Destination, to new: Destination, holding objects: Int, duplicates: DuplicateHandling
  ) async throws(CatalogError) {
    let writing = try writable()
    try await writing.writer.commit { [place] db in
      let steps = writing.steps
      guard let from = try DestinationTable.find(place.name(of: old), in: db) else {
        throw CatalogError.neverStored(in: old, at: place.path)
      }
      let found = try DestinationTable.find(place.name(of: new), in: db)
      for store in [from, found].compactMap(\.self) where try steps.isInUse(store, in: db) {
        throw CatalogError.storing(in: old, or: new)
      }
      if let found, try ChangeTable.isMoving(between: from, and: found, in: db) {
        throw CatalogError.moving(between: old, and: new)
      }
      guard try DestinationTable.objects(in: from, db: db) == objects else {
        throw CatalogError.publishedMeanwhile(in: old)
      }
      if let found, duplicates == .skip {
        let both = try DestinationTable.publicationsShared(from, found, in: db)
        guard both == 0 else { throw CatalogError.postsInBoth(both, old, new) }
      }
      guard try DestinationTable.rename(from, place.name(of: old), to: place.name(of: new), in: db) else {
        throw CatalogError.sameNames(in: old, and: new, at: place.path)
      }
    }
  }
}
