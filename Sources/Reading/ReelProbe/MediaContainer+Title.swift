import ReelCore

extension MediaContainer {
  /// Whether it is one of MPEG's multiplexes, which have no header: MPEG-TS and MPEG-PS.
  var isMPEG: Bool { demuxer == "mpegts" || demuxer == "mpeg" }

  /// The name to show to people.
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
