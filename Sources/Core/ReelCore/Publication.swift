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
