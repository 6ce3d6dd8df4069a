import FoundationEssentials

/// Remembers what was taken in: posts, the intents that lead to them, and what files were seen.
///
/// Every method that writes is durable when it returns, unless it says otherwise.
public protocol PostCatalog: Sendable {
  // MARK: Publishing

  /// T1: the intent to publish, and the name of its poster, written down before a byte goes out.
  func claim(_ request: ClaimRequest) async throws(CatalogError) -> Claim

  /// T2: in one transaction the intent becomes published, the post is inserted with `draft.poster`, which is stored
  /// under the intent's name for it, and its event queued.
  /// - Throws: `leaseLost` when another attempt has taken the intent over; nothing is written then.
  func complete(_ intent: Intent, draft: PostDraft, stored: StoredObject) async throws(CatalogError) -> Post

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

  /// T2 for several files, and `notes`, in one transaction. Blocks.
  /// - Throws: when nothing could be written; what is wrong with one completion alone is its result.
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

/// What must be unique: at most one post for each.
///
/// A video that was mended before it was stored has two digests: that of what is stored is its publication's. A catalog
/// finds its post by the other one, too (``ClaimRequest/arrived``).
public struct Publication: Hashable, Sendable, Codable {
  /// What the bytes are: the same video under another file name is the same publication.
  public let digest: ContentDigest
  /// Where it is stored: the same video may be a post in each destination.
  public let destination: Destination
  /// Who publishes it; nil is an author, too, so that "nobody" publishes a video once.
  public let authorID: String?

  /// A publication from its three parts.
  public init(digest: ContentDigest, destination: Destination, authorID: String?) {
    self.digest = digest
    self.destination = destination
    self.authorID = authorID
  }
}

/// A post found by its publication.
public struct PublishedPost: Hashable, Sendable {
  /// The post as it was recorded.
  public let post: Post
  /// Whether its `post.published` has been told. False only when the process that published it died in
  /// between, so that the next one that meets it tells it.
  public let announced: Bool

  /// A post, and whether it has been told.
  public init(post: Post, announced: Bool) {
    self.post = post
    self.announced = announced
  }
}

/// What to do when the same video is a post already.
public enum DuplicateHandling: String, Codable, Sendable, CaseIterable {
  /// Say so, and name the post.
  case skip
  /// Make a post of its own.
  case allow
}

/// Asks for the right to publish.
public struct ClaimRequest: Sendable {
  /// What is to be published, where and by whom.
  public let publication: Publication
  /// What to do when that is a post already.
  public let duplicates: DuplicateHandling
  /// Bytes.
  public let size: Int64
  /// Used when the intent is new; an unfinished one keeps its own.
  public let newID: PostID
  /// Used when the intent is new; an unfinished one keeps its own.
  public let newKey: ObjectKey
  /// The poster that the post is to have; nil for none.
  public let poster: PosterRequest?
  /// What the file was when it came in, where it was mended before it is published: its digest is remembered, so that the
  /// same file is found to be a post when it comes again. Nil for one that is published as it came in.
  public let arrived: ContentDigest?

  /// A request; `newID` and `newKey` are drawn by the caller, so that a test can fix them.
  public init(
    publication: Publication, duplicates: DuplicateHandling, size: Int64, newID: PostID, newKey: ObjectKey,
    poster: PosterRequest? = nil, arrived: ContentDigest? = nil
  ) {
    self.publication = publication
    self.duplicates = duplicates
    self.size = size
    self.newID = newID
    self.newKey = newKey
    self.poster = poster
    self.arrived = arrived
  }
}

/// Asks for a name for a poster.
public struct PosterRequest: Hashable, Sendable {
  /// Of the JPEG.
  public let digest: ContentDigest
  /// Bytes.
  public let size: Int64
  /// Used unless an earlier attempt has named a poster of these very bytes for the same post.
  public let newKey: ObjectKey

  /// A request; `newKey` is drawn by the caller.
  public init(digest: ContentDigest, size: Int64, newKey: ObjectKey) {
    self.digest = digest
    self.size = size
    self.newKey = newKey
  }
}

/// The answer to a claim.
public enum Claim: Sendable {
  /// The intent is ours.
  case granted(Intent)
  /// It is a post already.
  case published(PublishedPost)
  /// Somebody alive is at it: ask again in a moment.
  case held
}

/// A durable intent to publish, held by this process.
public struct Intent: Hashable, Sendable {
  /// The id that the post will have.
  public let id: PostID
  /// The name under which the object is, or will be, stored.
  public let key: ObjectKey
  /// What it is an intent for.
  public let publication: Publication
  /// Counted from 1; the fence against an owner that was thought dead.
  public let attempt: Int
  /// The name under which the post's poster is, or will be, stored; nil when none was asked for.
  public let poster: ObjectKey?
  /// Whether an earlier attempt may have stored the object and the poster: look before uploading.
  public var mayBeStored: Bool { attempt > 1 }

  /// An intent as a catalog grants it. `attempt` is counted from 1.
  public init(
    id: PostID, key: ObjectKey, publication: Publication, attempt: Int, poster: ObjectKey? = nil
  ) {
    self.id = id
    self.key = key
    self.publication = publication
    self.attempt = attempt
    self.poster = poster
  }
}

/// Why an intent is given up.
public enum ReleaseReason: Sendable {
  /// To be tried again, by this or another run, under the same key.
  case retryLater
  /// The key is taken by an object that is not ours: the next claim draws another.
  case keyUnusable
  /// The poster's name is: the next attempt, under the same key, draws another for it.
  case posterUnusable
}

extension PostCatalog {
  /// The newest posts first: those before `cursor`, or from the newest on when it is nil.
  public func newestPosts(before cursor: FeedCursor?, limit: Int) async throws(CatalogError) -> FeedPage {
    try await newestPosts(matching: PostFilter(), before: cursor, limit: limit)
  }
}

/// A place in the feed, as `reel feed` prints it and takes it.
public struct FeedCursor: Hashable, Sendable, Codable {
  /// The page number of the last post that was shown; the next page holds smaller ones.
  public let pageNumber: Int

  /// The place right behind the post with this page number, towards older ones.
  public init(pageNumber: Int) { self.pageNumber = pageNumber }

  /// Nil when `text` is not a cursor.
  public init?(_ text: String) {
    guard let pageNumber = Int(text), pageNumber > 0 else { return nil }
    self.pageNumber = pageNumber
  }

  /// The cursor as `reel feed` prints it: the page number in decimal digits. ``init(_:)`` reads it again.
  public var text: String { String(pageNumber) }
}

/// One page of the feed.
public struct FeedPage: Hashable, Sendable {
  /// The newest first; empty when there is nothing before the cursor.
  public let posts: [Post]
  /// Where the next page begins, or nil when this was the last.
  public let next: FeedCursor?

  /// A page; `next` is nil when nothing older is left.
  public init(posts: [Post], next: FeedCursor?) {
    self.posts = posts
    self.next = next
  }
}

/// What a reader found in some bytes, worth remembering.
public enum ProbeOutcome: Hashable, Sendable, Codable {
  /// The facts.
  case media(ProbeReport)
  /// Only of a code that is about the bytes.
  case failure(ProbeError)
}

/// A file that was not published, and why.
public struct FailureRecord: Hashable, Sendable, Codable {
  /// The code of the event.
  public let code: String
  /// What went wrong and what to do, without the file's path; one sentence for people.
  public let message: String
  /// Whether it was refused by policy, not failed.
  public let refused: Bool
  /// When that was.
  public let at: Date

  /// A record of one file's latest end.
  public init(code: String, message: String, refused: Bool, at: Date) {
    self.code = code
    self.message = message
    self.refused = refused
    self.at = at
  }
}

/// What the catalog holds.
public struct CatalogStatus: Sendable {
  /// Posts in all, over every destination.
  public var posts: Int
  /// Bytes of all published objects.
  public var bytes: Int64
  /// How many posts each destination has; only destinations that have one.
  public var destinations: [(destination: Destination, posts: Int)]
  /// Intents that are neither published nor given up for good.
  public var unfinished: Int
  /// The newest failures first, at most 1000.
  public var failures: [(path: SourcePath, failure: FailureRecord)]
  /// Files whose latest end was a failure or a refusal; `failures` may show fewer.
  public var failureCount: Int
  /// The version of the catalog's tables (`PRAGMA user_version`), counted from 1.
  public var schemaVersion: Int

  /// A status from its parts.
  public init(
    posts: Int, bytes: Int64, destinations: [(destination: Destination, posts: Int)], unfinished: Int,
    failures: [(path: SourcePath, failure: FailureRecord)], failureCount: Int, schemaVersion: Int
  ) {
    self.posts = posts
    self.bytes = bytes
    self.destinations = destinations
    self.unfinished = unfinished
    self.failures = failures
    self.failureCount = failureCount
    self.schemaVersion = schemaVersion
  }
}

/// How much is remembered of files and readings.
public struct CacheStatus: Hashable, Sendable, Codable {
  /// File states whose digest is known.
  public let files: Int
  /// Readings by content.
  public let readings: Int
  /// Bytes that they take, about.
  public let bytes: Int64

  /// Counts of what is remembered, and about how many bytes that takes.
  public init(files: Int, readings: Int, bytes: Int64) {
    self.files = files
    self.readings = readings
    self.bytes = bytes
  }
}

/// Why the catalog could not answer.
public struct CatalogError: ReelError, Hashable, Sendable {
  /// For programs.
  public enum Code: String, Codable, Sendable, CaseIterable {
    /// Made by a newer Reel.
    case newerSchema
    /// Damaged, or no catalog at all.
    case corrupt
    /// Gone or empty, in a library that had one.
    case lost
    /// Another process kept it locked for too long.
    case locked
    /// No space left on its disk.
    case diskFull
    /// Cannot be opened or written.
    case unusable
    /// Belongs to somebody else, or others may write to it.
    case notOurs
    /// Another attempt took the intent over.
    case leaseLost
    /// The task was cancelled.
    case cancelled
  }
  /// What it is, for programs.
  public let code: Code
  /// What went wrong, with which catalog, and what to do; one sentence for people.
  public let text: ErrorMessage
  /// ``text``, with settings in backquotes.
  public var message: String { text.description }

  /// An error. `message` is shown to people as it stands.
  public init(_ code: Code, _ message: ErrorMessage) {
    self.code = code
    text = message
  }

  /// An error with a message that is text and names no setting.
  @_disfavoredOverload
  public init(_ code: Code, _ message: String) {
    self.init(code, ErrorMessage(message))
  }
}
