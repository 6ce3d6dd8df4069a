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

// Each method calls the closure with the documented call, then the other catalog.

extension ScriptedCatalog {
  /// ``Call/claim``.
  public func claim(_ request: ClaimRequest) async throws(CatalogError) -> Claim {
    try onCall(.claim)
    return try await base.claim(request)
  }

  /// ``Call/claim``.
  public func claim(
    _ requests: [ClaimRequest], noting notes: [CatalogNote]
  ) throws(CatalogError) -> [Result<Claim, CatalogError>] {
    try onCall(.claim)
    return try base.claim(requests, noting: notes)
  }

  /// ``Call/complete(_:)``, unless there are only notes.
  public func complete(
    _ completions: [Completion], noting notes: [CatalogNote]
  ) throws(CatalogError) -> [Result<Post, CatalogError>] {
    if !completions.isEmpty { try onCall(.complete(completions.map(\.intent))) }
    return try base.complete(completions, noting: notes)
  }

  /// ``Call/release``.
  public func release(_ intent: Intent, because reason: ReleaseReason) async throws(CatalogError) {
    try onCall(.release)
    try await base.release(intent, because: reason)
  }

  /// ``Call/release``.
  public func giveUp(_ intent: Intent) async throws(CatalogError) -> Bool {
    try onCall(.release)
    return try await base.giveUp(intent)
  }

  /// ``Call/posts``.
  public func post(_ id: PostID) async throws(CatalogError) -> Post? {
    try onCall(.posts)
    return try await base.post(id)
  }

  /// ``Call/posts``.
  public func newestPosts(
    matching filter: PostFilter, before cursor: FeedCursor?, limit: Int
  ) async throws(CatalogError) -> FeedPage {
    try onCall(.posts)
    return try await base.newestPosts(matching: filter, before: cursor, limit: limit)
  }

  /// ``Call/posts``.
  public func posts(of digest: ContentDigest) async throws(CatalogError) -> [Post] {
    try onCall(.posts)
    return try await base.posts(of: digest)
  }

  /// ``Call/posts``.
  public func posts(from pageNumber: Int, count: Int) async throws(CatalogError) -> [Post] {
    try onCall(.posts)
    return try await base.posts(from: pageNumber, count: count)
  }

  /// ``Call/posts``.
  public func feedRevision() async throws(CatalogError) -> Int {
    try onCall(.posts)
    return try await base.feedRevision()
  }

  /// ``Call/recall``.
  public func contents(of questions: [ContentQuestion]) throws(CatalogError) -> [KnownContent] {
    try onCall(.recall)
    return try base.contents(of: questions)
  }

  /// ``Call/recall``.
  public func recall(_ files: [RecalledFile], readingPosts: Bool) throws(CatalogError) -> [CachedRecord?] {
    try onCall(.recall)
    return try base.recall(files, readingPosts: readingPosts)
  }

  /// ``Call/recall``.
  public func probeOutcomes(
    of digests: [ContentDigest], by reader: ReaderVersion
  ) throws(CatalogError) -> [ProbeOutcome?] {
    try onCall(.recall)
    return try base.probeOutcomes(of: digests, by: reader)
  }

  /// ``Call/recall``.
  public func status() async throws(CatalogError) -> CatalogStatus {
    try onCall(.recall)
    return try await base.status()
  }

  /// ``Call/recall``.
  public func cacheStatus() async throws(CatalogError) -> CacheStatus {
    try onCall(.recall)
    return try await base.cacheStatus()
  }

  /// ``Call/recall``.
  public func clearCache() async throws(CatalogError) -> CacheStatus {
    try onCall(.recall)
    return try await base.clearCache()
  }

  /// Forwards the notes; never fails.
  public func note(_ notes: [CatalogNote]) { base.note(notes) }

  /// Closes the other catalog.
  public func close() async throws(CatalogError) { try await base.close() }
}
