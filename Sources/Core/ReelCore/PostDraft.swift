/// What people say about a video. Nil means that nothing was said; an empty string becomes nil. U+0000 is removed,
/// because databases accept no text that contains it.
public struct PostMetadata: Hashable, Sendable, Codable {
  /// The author's id in the app.
  public var authorID: String?
  /// The author's name to show beside the video.
  public var authorName: String?
  /// The caption.
  public var caption: String?
  /// The music that goes with it.
  public var music: String?

  /// Creates metadata; what is not given stays nil.
  public init(
    authorID: String? = nil, authorName: String? = nil, caption: String? = nil, music: String? = nil
  ) {
    self.authorID = authorID?.said
    self.authorName = authorName?.said
    self.caption = caption?.said
    self.music = music?.said
  }

  /// Returns this metadata with `other`'s values where its own are nil.
  public func completed(by other: PostMetadata) -> PostMetadata {
    PostMetadata(
      authorID: authorID ?? other.authorID, authorName: authorName ?? other.authorName,
      caption: caption ?? other.caption, music: music ?? other.music)
  }
}

/// The content of a post, before it has a place in the feed.
public struct PostDraft: Hashable, Sendable, Codable {
  /// The facts of the file.
  public var media: MediaInfo
  /// How the facts were read.
  public var provenance: ProbeProvenance
  /// What people say, completed by the file's own title and artist.
  public var metadata: PostMetadata
  /// The initial number of likes: 0, except in a demo feed.
  public var likeCount: Int
  /// The initial number of shares: 0, except in a demo feed.
  public var shareCount: Int
  /// A random name under which an app keeps the comments.
  public var commentID: String
  /// The poster, once it is stored; nil if there is none.
  public var poster: PostPoster?
  /// The name of the file without its folder; nil if it is not to be kept.
  public var sourceName: String?
  /// What was mended in the file; nil if it is stored as it arrived.
  public var mended: [String]?

  /// Creates a draft from its parts.
  public init(
    media: MediaInfo, provenance: ProbeProvenance, metadata: PostMetadata, likeCount: Int = 0,
    shareCount: Int = 0,
    commentID: String
  ) {
    self.media = media
    self.provenance = provenance
    self.metadata = metadata
    self.likeCount = likeCount
    self.shareCount = shareCount
    self.commentID = commentID
  }
}
