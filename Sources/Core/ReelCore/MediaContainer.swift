/// The containers that Reel ingests. The raw value of each is its file extension.
public enum MediaContainer: String, Codable, Sendable, CaseIterable {
  /// MP4 (ISO/IEC 14496-14).
  case mp4
  /// QuickTime.
  case mov
  /// MP4 with Apple's brand.
  case m4v
  /// 3GPP's file format (TS 26.244).
  case threeGP = "3gp"
  /// 3GPP2's file format.
  case threeG2 = "3g2"
  /// Matroska (RFC 9559).
  case matroska = "mkv"
  /// WebM: Matroska for browsers.
  case webm
  /// Microsoft's Audio Video Interleave.
  case avi
  /// MPEG transport stream (ISO/IEC 13818-1).
  case mpegTS = "ts"
  /// MPEG transport stream with timestamps before its packets (Blu-ray, AVCHD).
  case m2ts
  /// MPEG program stream (ISO/IEC 13818-1).
  case mpegPS = "mpg"
  /// Flash Video.
  case flv
  /// Ogg (RFC 3533).
  case ogg = "ogv"
  /// Microsoft's Advanced Systems Format: Windows Media.
  case asf = "wmv"
  /// Material Exchange Format (SMPTE ST 377-1).
  case mxf

  /// The extension for a file of this container, without the dot.
  public var fileExtension: String { rawValue }

  /// The media type as registered with IANA, or the one in common use if none is registered.
  public var contentType: String {
    switch self {
    case .mp4: "video/mp4"
    case .mov: "video/quicktime"
    case .m4v: "video/x-m4v"
    case .threeGP: "video/3gpp"
    case .threeG2: "video/3gpp2"
    case .matroska: "video/matroska"
    case .webm: "video/webm"
    case .avi: "video/vnd.avi"
    case .mpegTS, .m2ts: "video/mp2t"
    case .mpegPS: "video/mpeg"
    case .flv: "video/x-flv"
    case .ogg: "video/ogg"
    case .asf: "video/x-ms-wmv"
    case .mxf: "application/mxf"
    }
  }

  /// The extensions (lower case, no dot) that truthfully name this container.
  public var honestExtensions: Set<String> {
    switch self {
    case .mp4: ["mp4", "m4v", "m4a", "mp4v", "f4v", "cmfv", "cmfa", "m4s", "ismv", "m4b", "insv", "360"]
    case .mov: ["mov", "qt"]
    case .m4v: ["m4v", "mp4"]
    case .threeGP: ["3gp", "3gpp"]
    case .threeG2: ["3g2", "3gp2", "3gpp2"]
    case .matroska: ["mkv", "mk3d", "mka"]
    case .webm: ["webm"]
    case .avi: ["avi", "divx", "xvid"]
    case .mpegTS: ["ts", "m2t", "mts", "m2ts", "tp", "trp", "tod"]
    case .m2ts: ["m2ts", "mts", "m2t", "ts"]
    case .mpegPS: ["mpg", "mpeg", "vob", "m2p", "ps", "mod", "evo", "mpe", "vro"]
    case .flv: ["flv"]
    case .ogg: ["ogv", "ogg", "oga", "ogm", "ogx"]
    case .asf: ["wmv", "asf", "wma", "wm"]
    case .mxf: ["mxf"]
    }
  }

  /// Whether `claimed` contradicts this container. A name without extension claims nothing.
  public func contradicts(claimedExtension claimed: String?) -> Bool {
    guard let claimed else { return false }
    return !honestExtensions.contains(claimed)
  }

  /// Every extension that claims one of these containers.
  public static let claimableExtensions: Set<String> = allCases.reduce(into: []) {
    $0.formUnion($1.honestExtensions)
  }
}

extension MediaContainer {
  /// FFmpeg's short name for the one demuxer that reads this container.
  package var demuxer: String {
    switch self {
    case .mp4, .mov, .m4v, .threeGP, .threeG2: "mov"
    case .matroska, .webm: "matroska"
    case .avi: "avi"
    case .mpegTS, .m2ts: "mpegts"
    case .mpegPS: "mpeg"
    case .flv: "flv"
    case .ogg: "ogg"
    case .asf: "asf"
    case .mxf: "mxf"
    }
  }

  /// Whether it is an ISO base media file (ISO/IEC 14496-12) or QuickTime, its ancestor.
  package var isISO: Bool { demuxer == "mov" }

  /// Whether it is Matroska or its subset WebM.
  package var isMatroska: Bool { demuxer == "matroska" }
}
