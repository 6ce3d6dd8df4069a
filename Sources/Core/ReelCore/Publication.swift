/// What must be unique: each publication becomes at most one post.
///
/// A video that was mended before it was stored has two digests. Its publication has that of the stored bytes; a
/// catalog also finds its post by the other one (``ClaimRequest/arrived``).
public struct Publication: Hashable, Sendable, Codable {
  /// The digest of the bytes: the same video under another file name is the same publication.
  public let digest: ContentDigest
  /// The store: the same video may become a post in each destination.
  public let destination: Destination
  /// The author; nil counts as an author, too, so that a video without an author is published only once.
  public let authorID: String?

  /// Creates a publication from its three parts.
  public init(digest: ContentDigest, destination: Destination, authorID: String?) {
    self.digest = digest
    self.destination = destination
    self.authorID = authorID
  }
}

/// A post found by its publication.
public struct PublishedPost: Hashable, Sendable {
  /// The post as it was published.
  public let post: Post
  /// Whether its `post.published` has been delivered. False only if the process that published it died in between;
  /// the next process that finds the post delivers it.
  public let announced: Bool

  /// Creates a found post.
  public init(post: Post, announced: Bool) {
    self.post = post
    self.announced = announced
  }
}

/// What to do if the video is already a post.
public enum DuplicateHandling: String, Codable, Sendable, CaseIterable {
  /// Report the duplicate, and name its post.
  case skip
  /// Publish it as another post.
  case allow
}
