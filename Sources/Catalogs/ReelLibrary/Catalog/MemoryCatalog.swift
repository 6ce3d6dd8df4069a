import FoundationEssentials
import ReelCore
import Synchronization

/// A catalog that keeps nothing longer than it lives: for tests and for runs that write nothing.
///
/// It does what ``SQLiteCatalog`` does, and the same checks run over both. ``another()`` plays a second process
/// on the same library, ``die()`` a process that is killed.
public final class MemoryCatalog: PostCatalog, Sendable {
  private let shared: Shared
  let me: Int
  let clock: any WallClock

  /// What several owners hold together.
  private final class Shared: Sendable {
    let library = Mutex(MemoryLibrary())
  }

  /// An empty catalog, and its first owner.
  public convenience init(clock: any WallClock = SystemWallClock()) {
    self.init(Shared(), clock)
  }

  private init(_ shared: Shared, _ clock: any WallClock) {
    self.shared = shared
    self.clock = clock
    me = shared.library.withLock { $0.register() }
  }

  /// What a second process sees that opens the same library.
  public func another() -> MemoryCatalog {
    MemoryCatalog(shared, clock)
  }

  /// Ends as a process does that is killed: what it holds may be taken over, and it goes on unaware.
  public func die() {
    shared.library.withLock { library in _ = library.alive.remove(me) }
  }

  /// Adds posts as if they had been published to `destination` one after the other, and told: each gets the next place in
  /// the feed, and its video is a duplicate from now on. One that is there already is passed over.
  public func add(_ posts: [Post], to destination: Destination = Destination("memory:store")) {
    shared.library.withLock { library in
      for post in posts { library.add(post, to: destination) }
    }
  }

  // MARK: Publishing

  /// T1. Cancelled only if the task was cancelled before the call.
  public func claim(_ request: ClaimRequest) async throws(CatalogError) -> Claim {
    try look { library throws(CatalogError) in try library.claim(request, by: me) }
  }

  /// T2, also in a cancelled task.
  public func complete(
    _ intent: Intent, draft: PostDraft, stored: StoredObject
  ) async throws(CatalogError) -> Post {
    let completion = Completion(intent: intent, draft: draft, stored: stored)
    return try open { library throws(CatalogError) in try complete(completion, in: &library) }
  }

  func complete(_ one: Completion, in library: inout MemoryLibrary) throws(CatalogError) -> Post {
    let place = try library.finish(one.intent, showing: one.draft.poster?.key, by: me)
    let post = Post(
      draft: one.draft, intent: one.intent, stored: one.stored, pageNumber: place,
      createdAt: clock.now().wholeMilliseconds)
    library.append(post, of: one.intent.publication, bytes: one.stored.size, by: me)
    return post
  }

  /// Gives the intent up, also in a cancelled task.
  public func release(_ intent: Intent, because reason: ReleaseReason) async throws(CatalogError) {
    try open { $0.release(intent, because: reason, by: me) }
  }

  /// Also in a cancelled task.
  public func giveUp(_ intent: Intent) async throws(CatalogError) -> Bool {
    try open { library in
      library.release(intent, because: .keyUnusable, by: me)
      return library.isGivenUp(intent)
    }
  }

  // MARK: Reading

  /// The post with this id.
  public func post(_ id: PostID) async throws(CatalogError) -> Post? {
    try look { $0.post(id) }
  }

  /// One page, the newest posts first.
  public func newestPosts(
    matching filter: PostFilter, before cursor: FeedCursor?, limit: Int
  ) async throws(CatalogError) -> FeedPage {
    try look { library in
      let all = library.posts.prefix(min(max(1, cursor?.pageNumber ?? .max) - 1, library.posts.count))
      let older = filter == PostFilter() ? Array(all) : all.filter(filter.admits)
      let shown = older.suffix(max(0, limit))
      let hasMore = !shown.isEmpty && shown.count < older.count
      return FeedPage(
        posts: shown.reversed(),
        next: hasMore ? shown.first?.pageNumber.map(FeedCursor.init(pageNumber:)) : nil)
    }
  }

  /// The posts with `pageNumber` in `from ..< from + count`.
  public func posts(from pageNumber: Int, count: Int) async throws(CatalogError) -> [Post] {
    let end = pageNumber.addingReportingOverflow(max(0, count))
    return try look { library in
      library.posts.filter { post in
        guard let place = post.pageNumber else { return false }
        return place >= pageNumber && place < (end.overflow ? .max : end.partialValue)
      }
    }
  }

  /// The posts of a video, the oldest first.
  public func posts(of digest: ContentDigest) async throws(CatalogError) -> [Post] {
    try look { library in library.posts(of: digest) }
  }

  /// Posts in memory do not change.
  public func feedRevision() async throws(CatalogError) -> Int { 0 }

  /// What the catalog holds.
  public func status() async throws(CatalogError) -> CatalogStatus {
    try look { $0.status() }
  }

  // MARK: The end

  /// Gives up what this owner holds. What was completed and not announced is told by whoever meets it next.
  public func close() async throws(CatalogError) {
    shared.library.withLock { $0.retire(me) }
  }

  // MARK: Access

  func open<Value: Sendable>(
    _ body: (inout MemoryLibrary) throws(CatalogError) -> Value
  ) throws(CatalogError) -> Value {
    try shared.library.withLock { library throws(CatalogError) in
      if library.closed.contains(me) { throw CatalogError.closed(at: MemoryLibrary.path) }
      return try body(&library)
    }
  }

  /// As SQLite answers a cancelled task.
  func look<Value: Sendable>(
    _ body: (inout MemoryLibrary) throws(CatalogError) -> Value
  ) throws(CatalogError) -> Value {
    if Task.isCancelled { throw CatalogError.cancelled(at: MemoryLibrary.path) }
    return try open(body)
  }
}

extension MemoryCatalog {
  /// What is known of each of these.
  /// The posts cost nothing here, and are given in any case.
  public func recall(
    _ files: [RecalledFile], readingPosts: Bool
  ) throws(CatalogError) -> [CachedRecord?] {
    try open { library in files.map { library.recall($0, by: me) } }
  }

  /// Remembers these. A file's state is remembered when it has been left alone for 2 s.
  public func note(_ notes: [CatalogNote]) { try? open { write(notes, into: &$0) } }

  func write(_ notes: [CatalogNote], into library: inout MemoryLibrary) {
    let now = clock.now()
    for note in notes where note.isKept(at: now) {
      switch note {
      case .digest(let digest, let identity): library.remember(digest, of: identity)
      case .outcome(let outcome, let digest, let reader):
        library.readings[MemoryLibrary.ProbeResultKey(digest: digest, reader: reader)] = outcome
      case .failure(let failure, let path): library.remember(failure, at: path)
      case .announced(let posts):
        for post in posts where library.untold[post] == me { library.untold[post] = nil }
      }
    }
  }

  /// Each by its digest, and by the publication that it would be.
  public func contents(of questions: [ContentQuestion]) throws(CatalogError) -> [KnownContent] {
    try open { library in
      questions.map { question in
        KnownContent(
          post: question.publication.flatMap { library.published($0, by: me) },
          readings: library.readings(of: question.digest))
      }
    }
  }

  /// Each as ``claim(_:)``.
  public func claim(
    _ requests: [ClaimRequest], noting notes: [CatalogNote]
  ) throws(CatalogError) -> [Result<Claim, CatalogError>] {
    try open { library in
      write(notes, into: &library)
      return requests.map { request in
        Result { () throws(CatalogError) in try library.claim(request, by: me) }
      }
    }
  }

  /// Each as ``complete(_:draft:stored:)``.
  public func complete(
    _ completions: [Completion], noting notes: [CatalogNote]
  ) throws(CatalogError) -> [Result<Post, CatalogError>] {
    try open { library in
      write(notes, into: &library)
      return completions.map { one in
        Result { () throws(CatalogError) in try complete(one, in: &library) }
      }
    }
  }

  /// How much is remembered.
  public func cacheStatus() async throws(CatalogError) -> CacheStatus {
    try look { $0.cacheStatus }
  }

  /// Forgets digests and readings.
  public func clearCache() async throws(CatalogError) -> CacheStatus {
    try look { $0.clearCache() }
  }

  /// What was read, one after the other.
  public func probeOutcomes(
    of digests: [ContentDigest], by reader: ReaderVersion
  ) throws(CatalogError) -> [ProbeOutcome?] {
    try open { library in
      digests.map { library.readings[MemoryLibrary.ProbeResultKey(digest: $0, reader: reader)] }
    }
  }
}
