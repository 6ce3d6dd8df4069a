import FoundationEssentials

/// What a batch of files asks of a catalog and writes to it, on threads that may block.

/// A question about what is known of some bytes.
public struct ContentQuestion: Hashable, Sendable {
  /// The digest of the bytes.
  public let digest: ContentDigest
  /// The publication whose post to look up; nil to look up none.
  public let publication: Publication?
  /// Whether to ignore a post that has moved away from that destination.
  public let again: Bool

  /// Creates a question about one file's bytes.
  public init(digest: ContentDigest, publication: Publication?, again: Bool = false) {
    self.digest = digest
    self.publication = publication
    self.again = again
  }
}

/// An intent whose object is stored and verified, and which is to become a post.
public struct Completion: Sendable {
  /// The intent, held by this process.
  public let intent: Intent
  /// What the post will say.
  public let draft: PostDraft
  /// The intent's object.
  public let stored: StoredObject

  /// Creates a completion of `intent`.
  public init(intent: Intent, draft: PostDraft, stored: StoredObject) {
    self.intent = intent
    self.draft = draft
    self.stored = stored
  }
}

/// Something worth remembering that nobody waits for. It is committed with the next batch, and a catalog may forget
/// it.
public enum CatalogNote: Sendable {
  /// The digest of a file in this state.
  case digest(ContentDigest, of: FileIdentity)
  /// What a reader found in these bytes. Of failures, only those that are about the bytes.
  case outcome(ProbeOutcome, of: ContentDigest, by: ReaderVersion)
  /// Why a file was not published, replacing any earlier note; nil if it was published.
  case failure(FailureRecord?, at: SourcePath)
  /// The events of these posts have been delivered.
  case announced([PostID])
}

/// A file that was found, and what to look up about it before it is opened.
public struct RecalledFile: Hashable, Sendable {
  /// The state in which it was found.
  public let identity: FileIdentity
  /// The path under which its failures are remembered.
  public let path: SourcePath
  /// The store for which it is intended.
  public let destination: Destination
  /// The author who would publish it.
  public let authorID: String?

  /// Creates a question about one file.
  public init(identity: FileIdentity, path: SourcePath, destination: Destination, authorID: String?) {
    self.identity = identity
    self.path = path
    self.destination = destination
    self.authorID = authorID
  }
}

/// What an earlier run recorded about a file that is still in the same state.
public struct CachedRecord: Hashable, Sendable {
  /// The digest of its bytes.
  public let digest: ContentDigest
  /// Whether it is already a post by that author in that destination, whose event has been delivered.
  public let isPublished: Bool
  /// That post, if posts were requested.
  public let post: Post?
  /// The code of its failure or refusal, if that was its latest outcome.
  public let failureCode: String?

  /// Creates a record; `post` and `failureCode` are nil if there is none.
  public init(digest: ContentDigest, isPublished: Bool, post: Post?, failureCode: String?) {
    self.digest = digest
    self.isPublished = isPublished
    self.post = post
    self.failureCode = failureCode
  }
}

/// What is known about some bytes.
public struct KnownContent: Hashable, Sendable {
  /// The existing post of these bytes, by that author in that destination, or moved away from it.
  public let post: PublishedPost?
  /// Their removed post, if there has been none since; only if a publication was given.
  public let removed: RemovedPost?
  /// What each reader found in them.
  public let readings: [ReaderVersion: ProbeOutcome]

  /// Creates a record of what is known; nil or empty where nothing is.
  public init(
    post: PublishedPost? = nil, removed: RemovedPost? = nil, readings: [ReaderVersion: ProbeOutcome] = [:]
  ) {
    self.post = post
    self.removed = removed
    self.readings = readings
  }
}
