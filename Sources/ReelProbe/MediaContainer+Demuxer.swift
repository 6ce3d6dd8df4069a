import ReelCore

extension MediaContainer {
  /// FFmpeg's short name of the one demuxer that reads this container.
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

  /// Whether it is one of MPEG's multiplexes, which have no header: MPEG-TS and MPEG-PS.
  var isMPEG: Bool { demuxer == "mpegts" || demuxer == "mpeg" }

  /// What people call it.
  package var title: String {
    switch self {
    case .mp4: "MP4"
    case .mov: "QuickTime"
    case .m4v: "M4V"
    case .threeGP: "3GP"
    case .threeG2: "3G2"
    case .matroska: "Matroska"
    case .webm: "WebM"
    case .avi: "AVI"
    case .mpegTS: "MPEG transport stream"
    case .m2ts: "M2TS"
    case .mpegPS: "MPEG program stream"
    case .flv: "FLV"
    case .ogg: "Ogg"
    case .asf: "ASF"
    case .mxf: "MXF"
    }
  }
}
