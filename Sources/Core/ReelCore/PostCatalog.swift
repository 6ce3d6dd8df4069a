/// Remembers what was taken in: posts, the intents that lead to them, and what files were seen.
///
/// Every method that writes is durable when it returns, unless it says otherwise.
public protocol PostCatalog: Sendable {
  // MARK: Publishing

  /// T1: the intent to publish, and the name of its poster, written down before a byte goes out.
  func claim(_ request: ClaimRequest) async throws(CatalogError) -> Claim

  /// Gives an intent up for now. The row goes on naming the object, so that the next attempt, or cleaning
  /// up, knows what may be in the store.
  func release(_ intent: Intent, because reason: ReleaseReason) async throws(CatalogError)

  /// Gives an intent up for good, as ``release(_:because:)`` with `keyUnusable` does, and tells whether that is so: then
  /// nobody publishes under its name any more, and what stands there may be removed. False when another attempt has the
  /// intent, or had it and published it.
  func giveUp(_ intent: Intent) async throws(CatalogError) -> Bool

  // MARK: Batches

  /// What is known of the bytes of several files, in their order: one look. Blocks.
  func contents(of questions: [ContentQuestion]) throws(CatalogError) -> [KnownContent]

  /// T1 for several files, and `notes`, in one transaction. Blocks.
  /// - Throws: when nothing could be written; what is wrong with one request alone is its result.
  func claim(
    _ requests: [ClaimRequest], noting notes: [CatalogNote]
  ) throws(CatalogError) -> [Result<Claim, CatalogError>]

  /// T2 for several files, and `notes`, in one transaction: each intent becomes published, its post is inserted with
  /// `draft.poster`, which is stored under the intent's name for it, and its event queued. Blocks.
  /// - Throws: when nothing could be written; what is wrong with one completion alone is its result: `leaseLost` when
  ///   another attempt has taken its intent over.
  func complete(
    _ completions: [Completion], noting notes: [CatalogNote]
  ) throws(CatalogError) -> [Result<Post, CatalogError>]

  // MARK: Reading

  /// The post with this id.
  func post(_ id: PostID) async throws(CatalogError) -> Post?

  /// The posts that `filter` lets through, the newest first: those before `cursor`, or from the newest on when it is
  /// nil.
  func newestPosts(
    matching filter: PostFilter, before cursor: FeedCursor?, limit: Int
  ) async throws(CatalogError) -> FeedPage

  /// The posts of a video with this digest, the oldest first; several where it is in several stores, or was published
  /// by several authors or again.
  func posts(of digest: ContentDigest) async throws(CatalogError) -> [Post]

  /// The posts with `pageNumber` in `from ..< from + count`, in that order.
  func posts(from pageNumber: Int, count: Int) async throws(CatalogError) -> [Post]

  /// Another number than before when posts have changed that were in the feed already: their store has moved, or they
  /// show posters that were made later.
  func feedRevision() async throws(CatalogError) -> Int

  /// What the catalog holds.
  func status() async throws(CatalogError) -> CatalogStatus

  // MARK: Remembering files

  /// What is known of each of `files`, in their order; nil for one that no earlier run has seen in this state. One
  /// look, however many they are.
  /// - Parameter readingPosts: whether the posts are to be given, too. Reading them is most of what a known file costs.
  func recall(_ files: [RecalledFile], readingPosts: Bool) throws(CatalogError) -> [CachedRecord?]

  /// Remembers `notes` soon. Does not block, and does not wait for them to be durable.
  func note(_ notes: [CatalogNote])

  /// What `reader` found in each of `digests`, in their order. One look, however many they are.
  func probeOutcomes(
    of digests: [ContentDigest], by reader: ReaderVersion
  ) throws(CatalogError) -> [ProbeOutcome?]

  /// How much is remembered of files and readings.
  func cacheStatus() async throws(CatalogError) -> CacheStatus

  /// Forgets digests and readings; posts and intents stay. Returns what it held before, and the bytes freed.
  func clearCache() async throws(CatalogError) -> CacheStatus

  /// Waits until everything that was not awaited is durable, and gives up what this process holds.
  func close() async throws(CatalogError)
}

extension PostCatalog {
  /// Gives it up, and says that it may be another's: whoever asks removes nothing then.
  public func giveUp(_ intent: Intent) async throws(CatalogError) -> Bool {
    try await release(intent, because: .keyUnusable)
    return false
  }
}

extension PostCatalog {
  /// The newest posts first: those before `cursor`, or from the newest on when it is nil.
  public func newestPosts(before cursor: FeedCursor?, limit: Int) async throws(CatalogError) -> FeedPage {
    try await newestPosts(matching: PostFilter(), before: cursor, limit: limit)
  }
}

/// What a reader found in some bytes, worth remembering.
public enum ProbeOutcome: Hashable, Sendable, Codable {
  /// The facts.
  case media(ProbeReport)
  /// Only of a code that is about the bytes.
  case failure(ProbeError)
}
