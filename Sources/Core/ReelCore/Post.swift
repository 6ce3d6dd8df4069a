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

  /// The name of its poster, a JPEG, in the same store; nil, as the four below, when it has none.
  @ExplicitNull public var poster: ObjectKey?
  /// Where the poster was stored, as an address that a viewer can open.
  @ExplicitNull public package(set) var posterURL: String?
  /// The poster's, in pixels.
  @ExplicitNull public var posterWidth: Int?
  /// The poster's, in pixels.
  @ExplicitNull public var posterHeight: Int?
  /// A blur of the poster, to be drawn while it loads (<https://blurha.sh>).
  @ExplicitNull public var blurHash: String?

  /// FFmpeg's name of the video's codec, such as `h264`; nil when it is unknown.
  @ExplicitNull public var videoCodec: String?

  /// The name of the file that it was published from, without its folder, as ``SourcePath/text`` writes it; nil when
  /// it was not to be kept.
  @ExplicitNull public var sourceName: String?

  /// What was put right in the file before it was stored, without touching a picture or a sound, such as `faststart`, in
  /// the order of the words; nil when it was stored as it came in.
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

  /// Shows `poster`, or none.
  package mutating func show(_ shown: PostPoster?) {
    poster = shown?.key
    posterURL = shown?.url
    posterWidth = shown?.width
    posterHeight = shown?.height
    blurHash = shown?.blurHash
  }
}

extension Post {
  /// Shows the poster of `other`, or none as it does.
  package mutating func showPoster(of other: Post) {
    (poster, posterURL, blurHash) = (other.poster, other.posterURL, other.blurHash)
    (posterWidth, posterHeight) = (other.posterWidth, other.posterHeight)
  }
}

/// A poster that is stored, as its post shows it.
public struct PostPoster: Hashable, Sendable, Codable {
  /// Its name in the store of the video.
  public let key: ObjectKey
  /// An address that a viewer can open.
  public let url: String
  /// Pixels.
  public let width: Int
  /// Pixels.
  public let height: Int
  /// A blur of it; see ``Poster/blurHash``.
  public let blurHash: String

  /// `poster`, which is stored as `stored`.
  public init(_ poster: Poster, stored: StoredObject) {
    key = stored.key
    url = stored.url
    width = poster.width
    height = poster.height
    blurHash = poster.blurHash
  }
}

extension String {
  /// What it says: without U+0000; nil where nothing is left of it then.
  package var said: String? {
    guard utf8.contains(0) else { return isEmpty ? nil : self }
    let words = String(decoding: utf8.filter { $0 != 0 }, as: UTF8.self)
    return words.isEmpty ? nil : words
  }
}
