import FoundationEssentials

/// What a file says about itself, as far as it can be believed. An unknown fact is nil, never zero.
public struct MediaInfo: Hashable, Sendable, Codable {
  /// The container that the bytes are of, whatever the file's name claims.
  public var container: MediaContainer
  /// Size of the file in bytes.
  public var size: Int64
  /// Seconds, above 0 and below a year.
  @ExplicitNull public var duration: Double?
  /// Where `duration` comes from; nil exactly when it is.
  @ExplicitNull public var durationSource: DurationSource?
  /// Whether the index points beyond the end of the file: it was cut off.
  @ExplicitNull public var truncated: Bool?
  /// Seconds of it that are there, where it was cut off; nil for a whole file, and where that can't be told.
  @ExplicitNull public var presentDuration: Double?
  /// Whether pictures or sound lie in other files, to which this one only points (ISO base media files only); nil
  /// where it does not tell.
  @ExplicitNull public var external: Bool?
  /// Whether the index stands before the media data (ISO base media files only).
  @ExplicitNull public var fastStart: Bool?
  /// Whether the file is made of movie fragments (ISO base media files only).
  @ExplicitNull public var fragmented: Bool?
  /// The video stream that a player would show, or nil when the file has none.
  @ExplicitNull public var video: VideoFacts?
  /// Every audio stream, in the order of the file.
  public var audio: [AudioFacts]
  /// The file's own title tag, blanks around it removed; nil when the file says nothing.
  @ExplicitNull public var title: String?
  /// The file's own artist or author tag, blanks around it removed; nil when the file says nothing.
  @ExplicitNull public var artist: String?
  /// When it was recorded, by its own account; UTC.
  @ExplicitNull public var createdAt: Date?
  /// Whether the file tells where it was recorded. The place itself is never kept.
  @ExplicitNull public var hasLocation: Bool?
  /// Whether it carries Content Credentials: a C2PA manifest that says where it comes from, and that holds only as long
  /// as no byte of the file is changed. Whether they are true is not looked at.
  @ExplicitNull public var contentCredentials: Bool?
  /// Whether pictures or sound are encrypted, so that no player shows them without a key; nil where the
  /// container does not tell.
  @ExplicitNull public var encrypted: Bool?
  /// `com.apple.quicktime.content.identifier`: the same in both halves of a live photo.
  @ExplicitNull public var contentIdentifier: String?
  /// Of the whole file, in bits per second.
  @ExplicitNull public var bitRate: Int64?
  /// Whether a cover picture is attached to the file; also where that is all the picture there is.
  @ExplicitNull public var hasCover: Bool?
  /// What contradicts itself in the file, and what it needs other files for.
  public var warnings: [MediaWarning]

  /// Everything unknown but the container and the size.
  public init(container: MediaContainer, size: Int64) {
    self.container = container
    self.size = size
    audio = []
    warnings = []
  }
}

/// Where a duration comes from, the most trustworthy first.
public enum DurationSource: String, Codable, Sendable, CaseIterable {
  /// The container's header.
  case container
  /// The longest stream's header.
  case stream
  /// A scan of the packets' times.
  case packets
  /// Size divided by bit rate.
  case estimated
}

/// The facts of one video stream.
public struct VideoFacts: Hashable, Sendable, Codable {
  /// FFmpeg's name of the codec, such as `h264`.
  @ExplicitNull public var codec: String?
  /// As shown, in pixels, after sample aspect ratio and rotation.
  @ExplicitNull public var width: Int?
  /// As shown, in pixels.
  @ExplicitNull public var height: Int?
  /// As stored, in pixels.
  @ExplicitNull public var storedWidth: Int?
  /// As stored, in pixels.
  @ExplicitNull public var storedHeight: Int?
  /// Clockwise degrees, 0 ..< 360.
  @ExplicitNull public var rotation: Int?
  /// Whether a vertical flip goes with the rotation.
  @ExplicitNull public var mirrored: Bool?
  /// How wide a pixel is against its height; nil when the file does not tell (``width`` takes 1:1 then).
  @ExplicitNull public var sampleAspectRatio: SampleAspectRatio?
  /// The average over the file.
  @ExplicitNull public var frameRate: FrameRate?
  /// Whether the average frame rate differs by more than 2 % from that of the ordinary step between two
  /// frames; nil when one of them is unknown.
  @ExplicitNull public var variableFrameRate: Bool?
  /// FFmpeg's name, such as `yuv420p`.
  @ExplicitNull public var pixelFormat: String?
  /// Such as `4:2:0`.
  @ExplicitNull public var chroma: String?
  /// Bits of one component.
  @ExplicitNull public var bitDepth: Int?
  /// FFmpeg's name of the codec's profile, such as `High`.
  @ExplicitNull public var profile: String?
  /// Of this stream, in bits per second.
  @ExplicitNull public var bitRate: Int64?
  /// High dynamic range; nil for standard dynamic range, and where nothing is said.
  @ExplicitNull public var hdr: HDR?
  /// How many video streams the file has, covers not counted.
  @ExplicitNull public var streams: Int?
  /// Whether a cover picture is attached to the file.
  @ExplicitNull public var hasCover: Bool?
  /// Whether the stream holds at least one sample.
  @ExplicitNull public var hasSamples: Bool?

  /// Everything unknown.
  public init() {}
}

/// High dynamic range, by the transfer function or the Dolby Vision record.
public struct HDR: Hashable, Sendable, Codable {
  /// The way in which the brightness is coded.
  public enum Kind: String, Codable, Sendable, CaseIterable {
    /// SMPTE ST 2084.
    case pq = "PQ"
    /// ARIB STD-B67.
    case hlg = "HLG"
    /// Dolby Vision, by its configuration record or its sample entry (`dvh1`, `dvhe`, `dva1`, `dvav`,
    /// `dav1`).
    case dolbyVision = "DolbyVision"
  }
  /// The kind; where Dolby Vision lies on top of another kind, Dolby Vision.
  public var kind: Kind
  /// The Dolby Vision profile, when it is that and says so.
  @ExplicitNull public var profile: Int?

  /// High dynamic range of a kind.
  /// - Parameter profile: Dolby Vision's, nil for the other kinds.
  public init(kind: Kind, profile: Int? = nil) {
    self.kind = kind
    self.profile = profile
  }
}

/// The facts of one audio stream.
public struct AudioFacts: Hashable, Sendable, Codable {
  /// FFmpeg's name of the codec, such as `aac`.
  @ExplicitNull public var codec: String?
  /// How many channels, 1 ... 1024.
  @ExplicitNull public var channels: Int?
  /// Hertz.
  @ExplicitNull public var sampleRate: Int?

  /// The facts of one stream; what is not given is unknown.
  public init(codec: String? = nil, channels: Int? = nil, sampleRate: Int? = nil) {
    self.codec = codec
    self.channels = channels
    self.sampleRate = sampleRate
  }
}
