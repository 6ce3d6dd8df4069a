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

extension String {
  /// What it says: without U+0000; nil where nothing is left of it then.
  package var said: String? {
    guard utf8.contains(0) else { return isEmpty ? nil : self }
    let words = String(decoding: utf8.filter { $0 != 0 }, as: UTF8.self)
    return words.isEmpty ? nil : words
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

/// A post's identity: a UUID of version 7 (RFC 9562, section 5.7), so that ids sort by the time they were
/// made.
public struct PostID: Hashable, Sendable {
  /// The id as a UUID of version 7; one that was read from text may be of any version.
  public let uuid: UUID

  /// A new id for the moment `date`.
  public init(at date: Date, random randomness: some Randomness) {
    let milliseconds = UInt64(max(0, Int64(clamping: date.timeIntervalSince1970 * 1000)))
    var bytes = (0..<6).map { UInt8(truncatingIfNeeded: milliseconds >> (40 - 8 * UInt64($0))) }
    bytes += randomness.bytes(10)
    bytes[6] = bytes[6] & 0x0F | 0x70
    bytes[8] = bytes[8] & 0x3F | 0x80
    uuid = UUID(
      uuid: (
        bytes[0], bytes[1], bytes[2], bytes[3], bytes[4], bytes[5], bytes[6], bytes[7],
        bytes[8], bytes[9], bytes[10], bytes[11], bytes[12], bytes[13], bytes[14], bytes[15]
      ))
  }

  /// Nil unless there are exactly 16 bytes.
  package init?(bytes: [UInt8]) {
    guard bytes.count == 16 else { return nil }
    uuid = bytes.withUnsafeBytes { UUID(uuid: $0.loadUnaligned(as: uuid_t.self)) }
  }

  /// 16 bytes, in the order of ``description``.
  package var bytes: [UInt8] { withUnsafeBytes(of: uuid.uuid) { Array($0) } }

  /// Nil when `text` is not a UUID.
  public init?(_ text: String) {
    guard let uuid = UUID(uuidString: text) else { return nil }
    self.uuid = uuid
  }
}

extension PostID: CustomStringConvertible {
  /// 36 lower-case characters.
  public var description: String { uuid.uuidString.lowercased() }
}

extension PostID: Comparable {
  /// Byte order, which for ids that Reel made is the order of their milliseconds.
  public static func < (left: PostID, right: PostID) -> Bool { left.description < right.description }
}

extension PostID: Codable {
  /// Reads a UUID from a string.
  /// - Throws: `DecodingError` when it is none.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    guard let id = PostID(try container.decode(String.self)) else {
      throw DecodingError.dataCorruptedError(in: container, debugDescription: "not a post id")
    }
    self = id
  }

  /// Writes ``description``.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(description)
  }
}
