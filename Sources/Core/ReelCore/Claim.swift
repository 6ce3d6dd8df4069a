/// A request for the right to publish.
public struct ClaimRequest: Sendable {
  /// The bytes, the destination and the author.
  public let publication: Publication
  /// What to do if the publication is already a post.
  public let duplicates: DuplicateHandling
  /// The size in bytes.
  public let size: Int64
  /// The id for a new intent; an unfinished one keeps its own.
  public let newID: PostID
  /// The key for a new intent; an unfinished one keeps its own.
  public let newKey: ObjectKey
  /// The poster that the post is to have; nil if it is to have none.
  public let poster: PosterRequest?
  /// The digest of the file as it arrived, if it was mended before publication. It is remembered, so that the same
  /// file is recognized as a post when it arrives again. Nil for a file that is published as it arrived.
  public let arrived: ContentDigest?
  /// Whether to publish the video even if its post was removed.
  public let again: Bool

  /// Creates a request. The caller draws `newID` and `newKey`, so that tests can fix them.
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

/// A request for a poster's object key.
public struct PosterRequest: Hashable, Sendable {
  /// The digest of the JPEG.
  public let digest: ContentDigest
  /// The size of the JPEG in bytes.
  public let size: Int64
  /// The key to use, unless an earlier attempt named a poster of these very bytes for the same post.
  public let newKey: ObjectKey

  /// Creates a request. The caller draws `newKey`.
  public init(digest: ContentDigest, size: Int64, newKey: ObjectKey) {
    self.digest = digest
    self.size = size
    self.newKey = newKey
  }
}

/// The answer to a claim.
public enum Claim: Sendable {
  /// The intent belongs to this process.
  case granted(Intent)
  /// The publication is already a post.
  case published(PublishedPost)
  /// The publication was a post that has been removed, and is not to return.
  case removed(RemovedPost)
  /// A live process holds the intent. Ask again in a moment.
  case held
}

/// A durable intent to publish, held by this process.
public struct Intent: Hashable, Sendable {
  /// The id of the future post.
  public let id: PostID
  /// The name under which the object is, or will be, stored.
  public let key: ObjectKey
  /// The publication that is intended.
  public let publication: Publication
  /// Counted from 1. It fences off an earlier owner that was taken for dead.
  public let attempt: Int
  /// The name under which the post's poster is, or will be, stored; nil if none was requested.
  public let poster: ObjectKey?
  /// Whether an earlier attempt may have stored the object and the poster: look for them before uploading.
  public var mayBeStored: Bool { attempt > 1 }

  /// Creates an intent as a catalog grants it. `attempt` is counted from 1.
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
  /// It will be tried again, by this run or another, under the same key.
  case retryLater
  /// Another object has the key: the next claim draws a new one.
  case keyUnusable
  /// Another object has the poster's name: the next attempt, under the same key, draws a new name for it.
  case posterUnusable
}
