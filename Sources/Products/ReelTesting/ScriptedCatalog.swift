import ReelCore

/// A catalog that wraps another one, with a closure that may fail before each call.
public struct ScriptedCatalog: PostCatalog {
  /// What the call is about to do.
  public enum Call: Hashable, Sendable {
    /// To claim an intent.
    case claim
    /// To write the posts of these intents.
    case complete([Intent])
    /// To give up an intent.
    case release
    /// To read posts.
    case posts
    /// To read what is known of files, or the catalog's state.
    case recall
  }
  private let base: any PostCatalog
  private let onCall: @Sendable (Call) throws(CatalogError) -> Void

  /// - Parameters:
  ///   - base: does the work, such as a `MemoryCatalog`.
  ///   - onCall: called before each call is forwarded; may fail.
  public init(
    base: any PostCatalog, onCall: @escaping @Sendable (Call) throws(CatalogError) -> Void
  ) {
    (self.base, self.onCall) = (base, onCall)
  }
}

// Each method calls the closure, then the other catalog.

extension ScriptedCatalog {
  /// Calls the closure with ``Call/claim``, then the other catalog.
  public func claim(_ request: ClaimRequest) async throws(CatalogError) -> Claim {
    try onCall(.claim)
    return try await base.claim(request)
  }

  /// Calls the closure with ``Call/claim``, then the other catalog.
  public func claim(
    _ requests: [ClaimRequest], noting notes: [CatalogNote]
  ) throws(CatalogError) -> [Result<Claim, CatalogError>] {
    try onCall(.claim)
    return try base.claim(requests, noting: notes)
  }

  /// Calls the closure with ``Call/complete(_:)`` unless there are only notes, then the other catalog.
  public func complete(
    _ completions: [Completion], noting notes: [CatalogNote]
  ) throws(CatalogError) -> [Result<Post, CatalogError>] {
    if !completions.isEmpty { try onCall(.complete(completions.map(\.intent))) }
    return try base.complete(completions, noting: notes)
  }

  /// Calls the closure with ``Call/release``, then the other catalog.
  public func release(_ intent: Intent, because reason: ReleaseReason) async throws(CatalogError) {
    try onCall(.release)
    try await base.release(intent, because: reason)
  }

  /// Calls the closure with ``Call/release``, then the other catalog.
  public func giveUp(_ intent: Intent) async throws(CatalogError) -> Bool {
    try onCall(.release)
    return try await base.giveUp(intent)
  }

  /// Calls the closure with ``Call/posts``, then the other catalog.
  public func post(_ id: PostID) async throws(CatalogError) -> Post? {
    try onCall(.posts)
    return try await base.post(id)
  }

  /// Calls the closure with ``Call/posts``, then the other catalog.
  public func newestPosts(
    matching filter: PostFilter, before cursor: FeedCursor?, limit: Int
  ) async throws(CatalogError) -> FeedPage {
    try onCall(.posts)
    return try await base.newestPosts(matching: filter, before: cursor, limit: limit)
  }

  /// Calls the closure with ``Call/posts``, then the other catalog.
  public func posts(of digest: ContentDigest) async throws(CatalogError) -> [Post] {
    try onCall(.posts)
    return try await base.posts(of: digest)
  }

  /// Calls the closure with ``Call/posts``, then the other catalog.
  public func posts(from pageNumber: Int, count: Int) async throws(CatalogError) -> [Post] {
    try onCall(.posts)
    return try await base.posts(from: pageNumber, count: count)
  }

  /// Calls the closure with ``Call/posts``, then the other catalog.
  public func feedRevision() async throws(CatalogError) -> Int {
    try onCall(.posts)
    return try await base.feedRevision()
  }

  /// Calls the closure with ``Call/recall``, then the other catalog.
  public func contents(of questions: [ContentQuestion]) throws(CatalogError) -> [KnownContent] {
    try onCall(.recall)
    return try base.contents(of: questions)
  }

  /// Calls the closure with ``Call/recall``, then the other catalog.
  public func recall(_ files: [RecalledFile], readingPosts: Bool) throws(CatalogError) -> [CachedRecord?] {
    try onCall(.recall)
    return try base.recall(files, readingPosts: readingPosts)
  }

  /// Calls the closure with ``Call/recall``, then the other catalog.
  public func probeOutcomes(
    of digests: [ContentDigest], by reader: ReaderVersion
  ) throws(CatalogError) -> [ProbeOutcome?] {
    try onCall(.recall)
    return try base.probeOutcomes(of: digests, by: reader)
  }

  /// Calls the closure with ``Call/recall``, then the other catalog.
  public func status() async throws(CatalogError) -> CatalogStatus {
    try onCall(.recall)
    return try await base.status()
  }

  /// Calls the closure with ``Call/recall``, then the other catalog.
  public func cacheStatus() async throws(CatalogError) -> CacheStatus {
    try onCall(.recall)
    return try await base.cacheStatus()
  }

  /// Calls the closure with ``Call/recall``, then the other catalog.
  public func clearCache() async throws(CatalogError) -> CacheStatus {
    try onCall(.recall)
    return try await base.clearCache()
  }

  /// Forwards the notes; never fails.
  public func note(_ notes: [CatalogNote]) { base.note(notes) }

  /// Closes the other catalog.
  public func close() async throws(CatalogError) { try await base.close() }
}
