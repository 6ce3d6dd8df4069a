import FoundationEssentials

/// A published video, as the feed shows it.
///
/// The JSON keys are those of the feed apps' documents (`author` for the id, and `autherName`, in their spelling).
/// Readers of the old documents ignore the keys that Reel adds. When an old document is read, a missing optional is
/// nil, and a missing identity is an error that names the key.
public struct Post: Hashable, Sendable, Codable, Identifiable {
  /// Drawn when the intent is created. Ids sort by time.
  public let id: PostID
  /// The object's random name with its real extension.
  public let video: ObjectKey
  /// The address of the stored object, which a viewer can open.
  public package(set) var videoURL: String
  /// The extension of the container, without the dot. It may differ from that of the uploaded file.
  public let videoFileExtension: String
  /// The height as displayed, in pixels.
  @ExplicitNull public var videoHeight: Int?
  /// The width as displayed, in pixels.
  @ExplicitNull public var videoWidth: Int?
  /// The author's id in the app; nil if none was given. Part of what makes a post unique.
  @ExplicitNull public var authorID: String?
  /// The author's name to show beside the video; nil if none was given. (`autherName` in JSON.)
  @ExplicitNull public var authorName: String?
  /// The caption that a person gave, otherwise the file's own title; nil if there is neither.
  @ExplicitNull public var caption: String?
  /// The music that a person named, otherwise the file's own artist; nil if there is neither.
  @ExplicitNull public var music: String?
  /// 0 at first; drawn from 1000 ... 100000 for a demo feed. Nil if an old document does not state it.
  @ExplicitNull public var likeCount: Int?
  /// 0 at first; drawn from 1000 ... 100000 for a demo feed. Nil if an old document does not state it.
  @ExplicitNull public var shareCount: Int?
  /// A random name under which an app keeps the comments. Nil if an old document does not state it.
  @ExplicitNull public var commentID: String?

  /// The duration in seconds.
  @ExplicitNull public var duration: Double?
  /// The media type of the container, such as `video/mp4`.
  @ExplicitNull public var contentType: String?
  /// The SHA-256 of the stored bytes. Nil only in a document that Reel did not write.
  @ExplicitNull public var digest: ContentDigest?
  /// The size in bytes.
  @ExplicitNull public var size: Int64?
  /// The time at which it was published (T2 in docs/publish.md), not recorded.
  @ExplicitNull public var createdAt: Date?
  /// Its place in the feed, counted from 1 in the order of publication.
  @ExplicitNull public var pageNumber: Int?
  /// How the facts were read, and how strictly the reader was confined.
  @ExplicitNull public var probe: ProbeProvenance?

  /// The object key of its poster, a JPEG in the same store. Like the four properties below, nil if it has no
  /// poster.
  @ExplicitNull public var poster: ObjectKey?
  /// The address of the stored poster, which a viewer can open.
  @ExplicitNull public package(set) var posterURL: String?
  /// The poster's width in pixels.
  @ExplicitNull public var posterWidth: Int?
  /// The poster's height in pixels.
  @ExplicitNull public var posterHeight: Int?
  /// A blurred placeholder to draw while the poster loads (<https://blurha.sh>).
  @ExplicitNull public var blurHash: String?

  /// FFmpeg's name for the video codec, such as `h264`; nil if unknown.
  @ExplicitNull public var videoCodec: String?

  /// The name of the file that it was published from, without its folder, as ``SourcePath/text`` writes it; nil if
  /// the name was not to be kept.
  @ExplicitNull public var sourceName: String?

  /// What was mended in the file before it was stored, without altering picture or sound, such as `faststart`, in
  /// alphabetical order; nil if it was stored as it arrived.
  @ExplicitNull public var mended: [String]?

  enum CodingKeys: String, CodingKey {
    case id, video, videoURL, videoFileExtension, videoHeight, videoWidth
    case authorID = "author"
    case authorName = "autherName"
    case caption, music, likeCount, shareCount, commentID
    case duration, contentType, digest, size, createdAt, pageNumber, probe
    case poster, posterURL, posterWidth, posterHeight, blurHash
    case videoCodec, sourceName, mended
  }

  /// Assembles a post from its parts; pure.
  /// - Parameters:
  ///   - draft: What the file and people say about it.
  ///   - intent: The intent, whose id and key were recorded before the upload.
  ///   - stored: The object as the store describes it.
  ///   - pageNumber: Its place in the feed, from 1.
  ///   - createdAt: The time at which it was published.
  public init(draft: PostDraft, intent: Intent, stored: StoredObject, pageNumber: Int, createdAt: Date) {
    id = intent.id
    video = intent.key
    videoURL = stored.url
    videoFileExtension = draft.media.container.fileExtension
    videoHeight = draft.media.video?.height
    videoWidth = draft.media.video?.width
    authorID = draft.metadata.authorID?.said
    authorName = draft.metadata.authorName?.said
    caption = draft.metadata.caption?.said
    music = draft.metadata.music?.said
    likeCount = draft.likeCount
    shareCount = draft.shareCount
    commentID = draft.commentID.said
    duration = draft.media.duration
    contentType = draft.media.container.contentType
    digest = intent.publication.digest
    size = stored.size
    self.createdAt = createdAt
    self.pageNumber = pageNumber
    probe = draft.provenance
    videoCodec = draft.media.video?.codec?.said
    sourceName = draft.sourceName?.said
    mended = draft.mended
    show(draft.poster)
  }

  /// Makes `shown` the poster of this post; nil removes the poster.
  package mutating func show(_ shown: PostPoster?) {
    poster = shown?.key
    posterURL = shown?.url
    posterWidth = shown?.width
    posterHeight = shown?.height
    blurHash = shown?.blurHash
  }
}

extension Post {
  /// Shows the poster of `other`, or none if `other` has none.
  package mutating func showPoster(of other: Post) {
    (poster, posterURL, blurHash) = (other.poster, other.posterURL, other.blurHash)
    (posterWidth, posterHeight) = (other.posterWidth, other.posterHeight)
  }
}

/// A stored poster, as its post shows it.
public struct PostPoster: Hashable, Sendable, Codable {
  /// Its object key, in the same store as the video.
  public let key: ObjectKey
  /// An address that a viewer can open.
  public let url: String
  /// The width in pixels.
  public let width: Int
  /// The height in pixels.
  public let height: Int
  /// A blurred placeholder; see ``Poster/blurHash``.
  public let blurHash: String

  /// Describes `poster`, whose object is `stored`.
  public init(_ poster: Poster, stored: StoredObject) {
    key = stored.key
    url = stored.url
    width = poster.width
    height = poster.height
    blurHash = poster.blurHash
  }
}

extension String {
  /// The text without U+0000; nil if nothing else is left of it.
  package var said: String? {
    guard utf8.contains(0) else { return isEmpty ? nil : self }
    let words = String(decoding: utf8.filter { $0 != 0 }, as: UTF8.self)
    return words.isEmpty ? nil : words
  }
}
