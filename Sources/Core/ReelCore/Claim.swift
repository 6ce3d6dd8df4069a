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
  /// Whether a video whose post was removed is published all the same.
  public let again: Bool

  /// A request; `newID` and `newKey` are drawn by the caller, so that a test can fix them.
  public init(
    publication: Publication, duplicates: DuplicateHandling, size: Int64, newID: PostID, newKey: ObjectKey,
    poster: PosterRequest? = nil, arrived: ContentDigest? = nil, again: Bool = false
  ) {
    self.publication = publication
    self.duplicates = duplicates
    self.size = size
    self.newID = newID
    self.newKey = newKey
    self.poster = poster
    self.arrived = arrived
    self.again = again
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
  /// It was a post, which was removed, and is not to come back.
  case removed(RemovedPost)
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
