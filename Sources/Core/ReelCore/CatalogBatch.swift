import FoundationEssentials

/// What a batch of files asks of a catalog, and writes into it, on threads that may block.

/// Asks what is known of some bytes.
public struct ContentQuestion: Hashable, Sendable {
  /// The bytes.
  public let digest: ContentDigest
  /// The publication whose post is looked for; nil when no post is.
  public let publication: Publication?
  /// Whether a post that has moved from that destination is no answer.
  public let again: Bool

  /// A question about one file's bytes.
  public init(digest: ContentDigest, publication: Publication?, again: Bool = false) {
    self.digest = digest
    self.publication = publication
    self.again = again
  }
}

/// An intent that is to become a post: its object is stored and verified.
public struct Completion: Sendable {
  /// Held by this process.
  public let intent: Intent
  /// What the post will say.
  public let draft: PostDraft
  /// The intent's object.
  public let stored: StoredObject

  /// A completion of `intent`.
  public init(intent: Intent, draft: PostDraft, stored: StoredObject) {
    self.intent = intent
    self.draft = draft
    self.stored = stored
  }
}

/// Something worth remembering that nobody waits for: it is committed with the next batch. A catalog may forget it.
public enum CatalogNote: Sendable {
  /// The digest of a file in this state.
  case digest(ContentDigest, of: FileIdentity)
  /// What a reader found in these bytes; of failures only those that are about the bytes.
  case outcome(ProbeOutcome, of: ContentDigest, by: ReaderVersion)
  /// Why a file was not published, in place of what was noted before; nil when it was.
  case failure(FailureRecord?, at: SourcePath)
  /// The events of these posts have been told.
  case announced([PostID])
}

/// A file that was found, and what is to be known of it before anybody opens it.
public struct RecalledFile: Hashable, Sendable {
  /// The state that it was found in.
  public let identity: FileIdentity
  /// Where failures of it are remembered.
  public let path: SourcePath
  /// Where it would be stored.
  public let destination: Destination
  /// Who would publish it.
  public let authorID: String?

  /// A question about one file.
  public init(identity: FileIdentity, path: SourcePath, destination: Destination, authorID: String?) {
    self.identity = identity
    self.path = path
    self.destination = destination
    self.authorID = authorID
  }
}

/// What an earlier run has left about a file in the very state that it is in now.
public struct CachedRecord: Hashable, Sendable {
  /// The digest of its bytes.
  public let digest: ContentDigest
  /// Whether it is a post already, in that destination and of that author, whose event has been told.
  public let isPublished: Bool
  /// That post, where posts were asked for.
  public let post: Post?
  /// The code of its failure or refusal, where that was its latest end.
  public let failureCode: String?

  /// What is known; `post` and `failureCode` are nil when there is none.
  public init(digest: ContentDigest, isPublished: Bool, post: Post?, failureCode: String?) {
    self.digest = digest
    self.isPublished = isPublished
    self.post = post
    self.failureCode = failureCode
  }
}

/// What is known of some bytes.
public struct KnownContent: Hashable, Sendable {
  /// The post that they are already, in that destination and of that author, or that has moved from there.
  public let post: PublishedPost?
  /// The post that they were, where that was removed and there is none since; only where a publication was asked for.
  public let removed: RemovedPost?
  /// What was found in them, and by whom.
  public let readings: [ReaderVersion: ProbeOutcome]

  /// What is known; nil and none when nothing is.
  public init(
    post: PublishedPost? = nil, removed: RemovedPost? = nil, readings: [ReaderVersion: ProbeOutcome] = [:]
  ) {
    self.post = post
    self.removed = removed
    self.readings = readings
  }
}
