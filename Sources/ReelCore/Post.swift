import FoundationEssentials

/// A published video: what the feed shows.
///
/// The JSON keys are those of the feed apps' documents (`author` for the id, `autherName` as they spell it);
/// what Reel adds beside them a reader of the old documents ignores. Reading an old document, a missing
/// optional is nil and a missing identity is an error that names the key.
public struct Post: Hashable, Sendable, Codable, Identifiable {
  /// Made at the intent; sorts by time.
  public let id: PostID
  /// The object's random name with its real extension.
  public let video: ObjectKey
  /// Where it was stored, as an address that a viewer can open.
  public package(set) var videoURL: String
  /// The container's extension, without the dot; not the uploaded name's.
  public let videoFileExtension: String
  /// As shown, in pixels.
  @ExplicitNull public var videoHeight: Int?
  /// As shown, in pixels.
  @ExplicitNull public var videoWidth: Int?
  /// The author's id in the app; nil when nobody named one. Part of what makes a post unique.
  @ExplicitNull public var authorID: String?
  /// The name to show beside the video; nil when nobody said it. (`autherName` in JSON.)
  @ExplicitNull public var authorName: String?
  /// What people say about the video, else the file's own title; nil when nobody and nothing says anything.
  @ExplicitNull public var caption: String?
  /// The music that goes with it, as people say, else the file's own artist; nil when nothing says any.
  @ExplicitNull public var music: String?
  /// 0 at first; drawn from 1000 ... 100000 for a demo feed. Nil in an old document that has none.
  @ExplicitNull public var likeCount: Int?
  /// 0 at first; drawn from 1000 ... 100000 for a demo feed. Nil in an old document that has none.
  @ExplicitNull public var shareCount: Int?
  /// A random name under which an app keeps the comments. Nil in an old document that has none.
  @ExplicitNull public var commentID: String?

  /// Seconds.
  @ExplicitNull public var duration: Double?
  /// The media type of the container, such as `video/mp4`.
  @ExplicitNull public var contentType: String?
  /// The SHA-256 of the stored bytes. Nil only in a document that is not Reel's own.
  @ExplicitNull public var digest: ContentDigest?
  /// Bytes.
  @ExplicitNull public var size: Int64?
  /// The moment of publishing (T2 in docs/publish.md), not of recording.
  @ExplicitNull public var createdAt: Date?
  /// Its place in the feed, counted from 1 in the order of publishing.
  @ExplicitNull public var pageNumber: Int?
  /// How the facts were read, and how far the reader was confined.
  @ExplicitNull public var probe: ProbeProvenance?

  enum CodingKeys: String, CodingKey {
    case id, video, videoURL, videoFileExtension, videoHeight, videoWidth
    case authorID = "author"
    case authorName = "autherName"
    case caption, music, likeCount, shareCount, commentID
    case duration, contentType, digest, size, createdAt, pageNumber, probe
  }

  /// A post from its parts; pure.
  /// - Parameters:
  ///   - draft: what the file and its people say.
  ///   - intent: the id and key that were written down before the upload.
  ///   - stored: what the store says it holds.
  ///   - pageNumber: its place in the feed, from 1.
  ///   - createdAt: the moment of publishing.
  public init(draft: PostDraft, intent: Intent, stored: StoredObject, pageNumber: Int, createdAt: Date) {
    id = intent.id
    video = intent.key
    videoURL = stored.url
    videoFileExtension = draft.media.container.fileExtension
    videoHeight = draft.media.video?.height
    videoWidth = draft.media.video?.width
    authorID = draft.metadata.authorID
    authorName = draft.metadata.authorName
    caption = draft.metadata.caption
    music = draft.metadata.music
    likeCount = draft.likeCount
    shareCount = draft.shareCount
    commentID = draft.commentID
    duration = draft.media.duration
    contentType = draft.media.container.contentType
    digest = intent.publication.digest
    size = stored.size
    self.createdAt = createdAt
    self.pageNumber = pageNumber
    probe = draft.provenance
  }
}

/// What people say about a video. Nil is "nothing said"; an empty string never stands for it.
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
    self.authorID = authorID
    self.authorName = authorName
    self.caption = caption
    self.music = music
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
