import FoundationEssentials
import ReelCore

/// A catalog that lasts no longer than its object, for tests and for runs that write nothing.
///
/// It is ``SQLiteCatalog`` over a database in memory, and behaves like it. ``another()`` plays a second process on the
/// same library, ``die()`` a process that is killed. Calls that block wait for the other owners, never for a disk. If
/// SQLite can't create such a database, every call throws the reason.
public final class MemoryCatalog: PostCatalog, Sendable {
  private let library: Result<Library, CatalogError>
  private let opened: Result<SQLiteCatalog, CatalogError>
  private let clock: any WallClock

  /// What several owners share.
  private struct Library {
    let database: Database
    let locks = LocksInMemory()
  }

  /// Creates an empty catalog, and its first owner.
  public convenience init(clock: any WallClock = SystemWallClock()) {
    self.init(
      Result { () throws(CatalogError) in Library(database: try CatalogDatabase.inMemory()) }, clock)
  }

  private init(_ library: Result<Library, CatalogError>, _ clock: any WallClock) {
    self.library = library
    self.clock = clock
    opened = library.flatMap { library in
      Result { () throws(CatalogError) in
        try SQLiteCatalog(inMemory: library.database, library.locks, clock: clock)
      }
    }
  }

  /// Returns the catalog as a second process sees it that opens the same library.
  public func another() -> MemoryCatalog { MemoryCatalog(library, clock) }

  /// Ends as a process that is killed does: what it holds may be taken over, and this object continues unaware of that.
  public func die() { try? catalog.abandon() }

  /// Adds posts as if they had been published to `destination` one after the other, and their events
  /// delivered. Each gets the next place in the feed, and its video is a duplicate from now on. A post whose
  /// id or video is already there is skipped.
  public func add(_ posts: [Post], to destination: Destination = Destination("memory:store")) {
    try? catalog.add(posts, to: destination)
  }

  private var catalog: SQLiteCatalog { get throws(CatalogError) { try opened.get() } }
}

extension SQLiteCatalog {
  fileprivate func add(_ posts: [Post], to destination: Destination) throws(CatalogError) {
    let now = clock.now()
    try writable().writer.write { [place] db in
      for post in posts {
        // A post without a digest gets an intent with one that no video has, and that no caller is shown.
        let digest = post.digest ?? ContentDigest(digest: post.id.bytes + post.id.bytes)
        let intent = Intent(
          id: post.id, key: post.video,
          publication: Publication(digest: digest, destination: destination, authorID: post.authorID),
          attempt: 1)
        try? db.savepoint {
          try PostTable.add(
            post, of: intent, size: max(0, post.size ?? 0), at: place, (post.createdAt ?? now).milliseconds,
            in: db)
        }
      }
    }
  }
}

// Each method forwards to the SQLite catalog.

extension MemoryCatalog {
  /// Claims an intent (T1). It is cancelled only if the task was cancelled before the call.
  public func claim(_ request: ClaimRequest) async throws(CatalogError) -> Claim {
    try await catalog.claim(request)
  }

  /// Claims an intent for each request (T1), in one transaction.
  public func claim(
    _ requests: [ClaimRequest], noting notes: [CatalogNote]
  ) throws(CatalogError) -> [Result<Claim, CatalogError>] {
    try catalog.claim(requests, noting: notes)
  }

  /// Publishes the posts of these intents (T2) in one transaction, also in a cancelled task.
  public func complete(
    _ completions: [Completion], noting notes: [CatalogNote]
  ) throws(CatalogError) -> [Result<Post, CatalogError>] {
    try catalog.complete(completions, noting: notes)
  }

  /// Releases the intent, also in a cancelled task.
  public func release(_ intent: Intent, because reason: ReleaseReason) async throws(CatalogError) {
    try await catalog.release(intent, because: reason)
  }

  /// Gives the intent up for good, also in a cancelled task.
  public func giveUp(_ intent: Intent) async throws(CatalogError) -> Bool { try await catalog.giveUp(intent) }

  /// Returns the post with this id.
  public func post(_ id: PostID) async throws(CatalogError) -> Post? { try await catalog.post(id) }

  /// Returns one page, the newest posts first.
  public func newestPosts(
    matching filter: PostFilter, before cursor: FeedCursor?, limit: Int
  ) async throws(CatalogError) -> FeedPage {
    try await catalog.newestPosts(matching: filter, before: cursor, limit: limit)
  }

  /// Returns the posts with `pageNumber` in `from ..< from + count`.
  public func posts(from pageNumber: Int, count: Int) async throws(CatalogError) -> [Post] {
    try await catalog.posts(from: pageNumber, count: count)
  }

  /// Returns the posts of a video, the oldest first.
  public func posts(of digest: ContentDigest) async throws(CatalogError) -> [Post] {
    try await catalog.posts(of: digest)
  }

  /// Returns a number that changes whenever posts that are already in the feed change.
  public func feedRevision() async throws(CatalogError) -> Int { try await catalog.feedRevision() }

  /// Returns what the catalog holds.
  public func status() async throws(CatalogError) -> CatalogStatus { try await catalog.status() }

  /// Looks up each by its digest, and by the publication that it would become.
  public func contents(of questions: [ContentQuestion]) throws(CatalogError) -> [KnownContent] {
    try catalog.contents(of: questions)
  }

  /// Returns what is known of each of these files.
  public func recall(_ files: [RecalledFile], readingPosts: Bool) throws(CatalogError) -> [CachedRecord?] {
    try catalog.recall(files, readingPosts: readingPosts)
  }

  /// Remembers these soon. The digest of a file is remembered only if the file has been left alone for 2 s.
  public func note(_ notes: [CatalogNote]) { try? catalog.note(notes) }

  /// Returns what `reader` found in each of these, in their order.
  public func probeOutcomes(
    of digests: [ContentDigest], by reader: ReaderVersion
  ) throws(CatalogError) -> [ProbeOutcome?] {
    try catalog.probeOutcomes(of: digests, by: reader)
  }

  /// Returns the size of the caches.
  public func cacheStatus() async throws(CatalogError) -> CacheStatus { try await catalog.cacheStatus() }

  /// Forgets digests and readings.
  public func clearCache() async throws(CatalogError) -> CacheStatus { try await catalog.clearCache() }

  /// Releases what this owner holds, and closes. The event of a post that was completed but not announced is left to
  /// the next owner that comes across the post.
  public func close() async throws(CatalogError) { try await catalog.close() }
}

extension MemoryCatalog: PostChanging {
  package func begin(_ changes: [PostChange]) throws(CatalogError) -> [ChangeAnswer] {
    try catalog.begin(changes)
  }

  package func noteFreeNames(of change: OpenChange) throws(CatalogError) -> Bool {
    try catalog.noteFreeNames(of: change)
  }

  package func finish(_ changes: [OpenChange]) throws(CatalogError) -> [Post?] { try catalog.finish(changes) }

  package func strikeOut(_ changes: [OpenChange]) throws(CatalogError) { try catalog.strikeOut(changes) }

  package func areHeld(_ changes: [OpenChange]) throws(CatalogError) -> [Bool] {
    try catalog.areHeld(changes)
  }

  package func release(_ changes: [OpenChange]) throws(CatalogError) { try catalog.release(changes) }

  package func unfinishedChanges(after number: Int64, limit: Int) throws(CatalogError) -> [OpenChange] {
    try catalog.unfinishedChanges(after: number, limit: limit)
  }

  package func abandonedChanges() throws(CatalogError) -> [(post: PostID, kind: ChangeKind)] {
    try catalog.abandonedChanges()
  }

  package func removedPost(_ id: PostID) throws(CatalogError) -> RemovedPost? { try catalog.removedPost(id) }

  package func removedPosts(of digest: ContentDigest) throws(CatalogError) -> [RemovedPost] {
    try catalog.removedPosts(of: digest)
  }

  package func expiredPosts(
    at moment: Date, after pageNumber: Int, limit: Int
  ) throws(CatalogError) -> [RemovedPost] {
    try catalog.expiredPosts(at: moment, after: pageNumber, limit: limit)
  }

  package func readings(besides reel: String) throws(CatalogError) -> Int {
    try catalog.readings(besides: reel)
  }

  package func forgetReadings(besides reel: String, atMost limit: Int) throws(CatalogError) -> Int {
    try catalog.forgetReadings(besides: reel, atMost: limit)
  }

  package func forgetFailures() throws(CatalogError) -> Int { try catalog.forgetFailures() }
}
