/// Remembers what was ingested: posts, the intents that lead to them, and the files that were seen.
///
/// Every method that writes is durable when it returns, unless it says otherwise.
public protocol PostCatalog: Sendable {
  // MARK: Publishing

  /// T1: records the intent to publish, and the name of its poster, before any byte is sent.
  func claim(_ request: ClaimRequest) async throws(CatalogError) -> Claim

  /// Gives an intent up for now. Its row keeps naming the object, so that the next attempt, or a cleanup, knows
  /// what may be in the store.
  func release(_ intent: Intent, because reason: ReleaseReason) async throws(CatalogError)

  /// Gives an intent up for good, as ``release(_:because:)`` with `keyUnusable` does.
  /// - Returns: True if it was given up: nothing will be published under its name, and whatever is stored there may
  ///   be removed. False if another attempt holds the intent, or has published it.
  func giveUp(_ intent: Intent) async throws(CatalogError) -> Bool

  // MARK: Batches

  /// Looks up what is known about the bytes of several files, in their order, with one query. Blocks.
  func contents(of questions: [ContentQuestion]) throws(CatalogError) -> [KnownContent]

  /// T1 for several files, and `notes`, in one transaction. Blocks.
  /// - Throws: If nothing could be written. A problem with a single request is returned as its result.
  func claim(
    _ requests: [ClaimRequest], noting notes: [CatalogNote]
  ) throws(CatalogError) -> [Result<Claim, CatalogError>]

  /// T2 for several files, and `notes`, in one transaction: each intent becomes published, its post is inserted
  /// with `draft.poster`, which is stored under the intent's name for it, and its event is queued. Blocks.
  /// - Throws: If nothing could be written. A problem with a single completion is returned as its result:
  ///   `leaseLost` if another attempt has taken over its intent.
  func complete(
    _ completions: [Completion], noting notes: [CatalogNote]
  ) throws(CatalogError) -> [Result<Post, CatalogError>]

  // MARK: Reading

  /// The post with this id.
  func post(_ id: PostID) async throws(CatalogError) -> Post?

  /// The posts that `filter` admits, newest first: those before `cursor`, or from the newest on if it is nil.
  func newestPosts(
    matching filter: PostFilter, before cursor: FeedCursor?, limit: Int
  ) async throws(CatalogError) -> FeedPage

  /// The posts of a video with this digest, oldest first. There are several if it is in several stores, or was
  /// published by several authors or more than once.
  func posts(of digest: ContentDigest) async throws(CatalogError) -> [Post]

  /// The posts with `pageNumber` in `from ..< from + count`, in that order.
  func posts(from pageNumber: Int, count: Int) async throws(CatalogError) -> [Post]

  /// A number that changes whenever posts already in the feed have changed: because their store moved, or because
  /// posters were added to them later.
  func feedRevision() async throws(CatalogError) -> Int

  /// What the catalog holds.
  func status() async throws(CatalogError) -> CatalogStatus

  // MARK: Remembering files

  /// Looks up what is known about each of `files`, in their order, with one query for all; nil for a file that no
  /// earlier run has seen in this state.
  /// - Parameter readingPosts: Whether to include the posts. Reading them is most of the cost of a known file.
  func recall(_ files: [RecalledFile], readingPosts: Bool) throws(CatalogError) -> [CachedRecord?]

  /// Schedules `notes` to be remembered. Does not block or wait until they are durable.
  func note(_ notes: [CatalogNote])

  /// What `reader` found in each of `digests`, in their order, with one query for all.
  func probeOutcomes(
    of digests: [ContentDigest], by reader: ReaderVersion
  ) throws(CatalogError) -> [ProbeOutcome?]

  /// How much is remembered about files and readings.
  func cacheStatus() async throws(CatalogError) -> CacheStatus

  /// Forgets digests and readings; posts and intents stay.
  /// - Returns: What the cache held before, and the bytes freed.
  func clearCache() async throws(CatalogError) -> CacheStatus

  /// Waits until everything that was not awaited is durable, and gives up what this process holds.
  func close() async throws(CatalogError)
}

extension PostCatalog {
  /// Releases the intent, and returns false, as if another attempt might hold it, so that the caller removes
  /// nothing.
  public func giveUp(_ intent: Intent) async throws(CatalogError) -> Bool {
    try await release(intent, because: .keyUnusable)
    return false
  }
}

extension PostCatalog {
  /// The newest posts: those before `cursor`, or from the newest on if it is nil.
  public func newestPosts(before cursor: FeedCursor?, limit: Int) async throws(CatalogError) -> FeedPage {
    try await newestPosts(matching: PostFilter(), before: cursor, limit: limit)
  }
}

/// What a reader found in some bytes, as worth remembering.
public enum ProbeOutcome: Hashable, Sendable, Codable {
  /// The facts.
  case media(ProbeReport)
  /// The failure, only with a code that is about the bytes.
  case failure(ProbeError)
}
