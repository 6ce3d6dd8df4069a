/// What people say about a video. Nil is "nothing said"; an empty string never stands for it. U+0000 says nothing, and
/// databases take no text with it: it is left out.
public struct PostMetadata: Hashable, Sendable, Codable {
  /// The author's id in the app.
  public var authorID: String?
  /// The author's name to show.
  public var authorName: String?
  /// What to say about the video.
  public var caption: String?
  /// The music that goes with it.
  public var music: String?

  /// Words; those that are not given say nothing.
  public init(
    authorID: String? = nil, authorName: String? = nil, caption: String? = nil, music: String? = nil
  ) {
    self.authorID = authorID?.said
    self.authorName = authorName?.said
    self.caption = caption?.said
    self.music = music?.said
  }

  /// This metadata, and `other`'s where this says nothing.
  public func completed(by other: PostMetadata) -> PostMetadata {
    PostMetadata(
      authorID: authorID ?? other.authorID, authorName: authorName ?? other.authorName,
      caption: caption ?? other.caption, music: music ?? other.music)
  }
}

/// A post before it has a place.
public struct PostDraft: Hashable, Sendable, Codable {
  /// What the file says about itself.
  public var media: MediaInfo
  /// How that was read.
  public var provenance: ProbeProvenance
  /// What people say, with the file's own title and artist where they say nothing.
  public var metadata: PostMetadata
  /// Likes to begin with: 0, but in a demo feed.
  public var likeCount: Int
  /// Shares to begin with: 0, but in a demo feed.
  public var shareCount: Int
  /// A random name for the comments.
  public var commentID: String
  /// Its poster, once that is stored; nil when it has none.
  public var poster: PostPoster?
  /// The file's name without its folder; nil when it is not to be kept.
  public var sourceName: String?
  /// What was put right in the file; nil when it is as it came in.
  public var mended: [String]?

  /// A draft from its parts.
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
