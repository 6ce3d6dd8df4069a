import FoundationEssentials

/// The facts of a file, as far as its own claims can be believed. An unknown fact is nil, never zero.
public struct MediaInfo: Hashable, Sendable, Codable {
  /// The container of the bytes, whatever the file's name claims.
  public var container: MediaContainer
  /// The size of the file in bytes.
  public var size: Int64
  /// The duration in seconds, above 0 and below a year.
  @ExplicitNull public var duration: Double?
  /// Where `duration` comes from; nil if and only if `duration` is.
  @ExplicitNull public var durationSource: DurationSource?
  /// Whether the index refers to positions beyond the end of the file, so that the file was cut off.
  @ExplicitNull public var truncated: Bool?
  /// How many seconds are present in a file that was cut off; nil for a complete file, and if it cannot be
  /// determined.
  @ExplicitNull public var presentDuration: Double?
  /// Whether pictures or sound are in other files, to which this one only refers (ISO base media files only); nil
  /// if the file does not say.
  @ExplicitNull public var external: Bool?
  /// Whether the index precedes the media data (ISO base media files only).
  @ExplicitNull public var fastStart: Bool?
  /// Whether the file consists of movie fragments (ISO base media files only).
  @ExplicitNull public var fragmented: Bool?
  /// The video stream that a player would show; nil if the file has none.
  @ExplicitNull public var video: VideoFacts?
  /// Every audio stream, in file order.
  public var audio: [AudioFacts]
  /// The file's own title tag, without surrounding white space; nil if there is none.
  @ExplicitNull public var title: String?
  /// The file's own artist or author tag, without surrounding white space; nil if there is none.
  @ExplicitNull public var artist: String?
  /// When it was recorded, according to the file; UTC.
  @ExplicitNull public var createdAt: Date?
  /// Whether the file reveals where it was recorded. The place itself is never kept.
  @ExplicitNull public var hasLocation: Bool?
  /// Whether it carries Content Credentials: a C2PA manifest that states its origin and is valid only while no byte
  /// of the file changes. Their validity is not checked.
  @ExplicitNull public var contentCredentials: Bool?
  /// Whether pictures or sound are encrypted, so that no player can show them without a key; nil if the container
  /// does not say.
  @ExplicitNull public var encrypted: Bool?
  /// `com.apple.quicktime.content.identifier`: the same in both halves of a live photo.
  @ExplicitNull public var contentIdentifier: String?
  /// The bit rate of the whole file, in bits per second.
  @ExplicitNull public var bitRate: Int64?
  /// Whether a cover picture is attached to the file, even if that is its only picture.
  @ExplicitNull public var hasCover: Bool?
  /// Contradictions within the file, and other files that it depends on.
  public var warnings: [MediaWarning]

  /// Creates facts in which everything except the container and the size is unknown.
  public init(container: MediaContainer, size: Int64) {
    self.container = container
    self.size = size
    audio = []
    warnings = []
  }
}

/// Where a duration comes from, the most reliable source first.
public enum DurationSource: String, Codable, Sendable, CaseIterable {
  /// The header of the container.
  case container
  /// The header of the longest stream.
  case stream
  /// A scan of the packet timestamps.
  case packets
  /// The size divided by the bit rate.
  case estimated
}

/// The facts of one video stream.
public struct VideoFacts: Hashable, Sendable, Codable {
  /// FFmpeg's name for the codec, such as `h264`.
  @ExplicitNull public var codec: String?
  /// The width as displayed, in pixels, after applying the sample aspect ratio and the rotation.
  @ExplicitNull public var width: Int?
  /// The height as displayed, in pixels.
  @ExplicitNull public var height: Int?
  /// The width as stored, in pixels.
  @ExplicitNull public var storedWidth: Int?
  /// The height as stored, in pixels.
  @ExplicitNull public var storedHeight: Int?
  /// The rotation in clockwise degrees, 0 ..< 360.
  @ExplicitNull public var rotation: Int?
  /// Whether the rotation is combined with a vertical flip.
  @ExplicitNull public var mirrored: Bool?
  /// The width of a pixel relative to its height; nil if the file does not say (``width`` then assumes 1:1).
  @ExplicitNull public var sampleAspectRatio: SampleAspectRatio?
  /// The average frame rate over the file.
  @ExplicitNull public var frameRate: FrameRate?
  /// Whether the average frame rate differs by more than 2 % from the rate that the usual interval between two
  /// frames gives; nil if either is unknown.
  @ExplicitNull public var variableFrameRate: Bool?
  /// FFmpeg's name for the pixel format, such as `yuv420p`.
  @ExplicitNull public var pixelFormat: String?
  /// The chroma subsampling, such as `4:2:0`.
  @ExplicitNull public var chroma: String?
  /// The number of bits per component.
  @ExplicitNull public var bitDepth: Int?
  /// FFmpeg's name for the profile of the codec, such as `High`.
  @ExplicitNull public var profile: String?
  /// The bit rate of this stream, in bits per second.
  @ExplicitNull public var bitRate: Int64?
  /// The kind of high dynamic range; nil for standard dynamic range, and if nothing is stated.
  @ExplicitNull public var hdr: HDR?
  /// The number of video streams in the file, not counting covers.
  @ExplicitNull public var streams: Int?
  /// Whether a cover picture is attached to the file.
  @ExplicitNull public var hasCover: Bool?
  /// Whether the stream holds at least one sample.
  @ExplicitNull public var hasSamples: Bool?

  /// Creates facts in which everything is unknown.
  public init() {}
}

/// High dynamic range, according to the transfer function or the Dolby Vision record.
public struct HDR: Hashable, Sendable, Codable {
  /// The way in which brightness is encoded.
  public enum Kind: String, Codable, Sendable, CaseIterable {
    /// SMPTE ST 2084.
    case pq = "PQ"
    /// ARIB STD-B67.
    case hlg = "HLG"
    /// Dolby Vision, by its configuration record or its sample entry (`dvh1`, `dvhe`, `dva1`, `dvav`,
    /// `dav1`).
    case dolbyVision = "DolbyVision"
  }
  /// The kind; Dolby Vision takes precedence over a kind that it is layered on.
  public var kind: Kind
  /// The Dolby Vision profile, if the kind is Dolby Vision and the file states it.
  @ExplicitNull public var profile: Int?

  /// Creates a description of high dynamic range.
  /// - Parameter profile: The Dolby Vision profile; nil for the other kinds.
  public init(kind: Kind, profile: Int? = nil) {
    self.kind = kind
    self.profile = profile
  }
}

/// The facts of one audio stream.
public struct AudioFacts: Hashable, Sendable, Codable {
  /// FFmpeg's name for the codec, such as `aac`.
  @ExplicitNull public var codec: String?
  /// The number of channels, 1 ... 1024.
  @ExplicitNull public var channels: Int?
  /// The sampling rate in hertz.
  @ExplicitNull public var sampleRate: Int?

  /// Creates the facts of a stream; what is not given is unknown.
  public init(codec: String? = nil, channels: Int? = nil, sampleRate: Int? = nil) {
    self.codec = codec
    self.channels = channels
    self.sampleRate = sampleRate
  }
}
