import ReelCore

/// A codec that ffmpeg, as built by Debian, can encode.
struct EncodedCodec {
  /// FFmpeg's name.
  let name: String
  let encoder: String
  var hasTenBits = false
  /// Whether its encoder keeps to the bit rate that it is given.
  var keepsToLimits = true
  /// The sample rates that it supports; nil for any.
  var rates: Set<Int>?

  /// The best-known codecs first.
  static let video = [
    EncodedCodec(name: "h264", encoder: "libx264"),
    EncodedCodec(name: "hevc", encoder: "libx265", hasTenBits: true),
    EncodedCodec(name: "vp9", encoder: "libvpx-vp9", hasTenBits: true),
    EncodedCodec(name: "av1", encoder: "libsvtav1", hasTenBits: true, keepsToLimits: false),
    EncodedCodec(name: "vp8", encoder: "libvpx"),
    EncodedCodec(name: "mpeg4", encoder: "mpeg4", keepsToLimits: false),
    EncodedCodec(name: "mpeg2video", encoder: "mpeg2video", keepsToLimits: false),
    EncodedCodec(name: "theora", encoder: "libtheora", keepsToLimits: false),
    EncodedCodec(name: "wmv2", encoder: "wmv2", keepsToLimits: false),
  ]

  private static let opus: Set = [8000, 12000, 16000, 24000, 48000]
  private static let mp3: Set = [8000, 11025, 12000, 16000, 22050, 24000, 32000, 44100, 48000]

  static let audio = [
    EncodedCodec(name: "aac", encoder: "aac"), EncodedCodec(name: "opus", encoder: "libopus", rates: opus),
    EncodedCodec(name: "mp3", encoder: "libmp3lame", rates: mp3),
    EncodedCodec(name: "vorbis", encoder: "libvorbis"),
    EncodedCodec(name: "ac3", encoder: "ac3", rates: [32000, 44100, 48000]),
    EncodedCodec(
      name: "mp2", encoder: "mp2", keepsToLimits: false, rates: mp3.subtracting([8000, 11025, 12000])),
    EncodedCodec(name: "flac", encoder: "flac", keepsToLimits: false),
    EncodedCodec(name: "pcm_s16le", encoder: "pcm_s16le", keepsToLimits: false),
    EncodedCodec(name: "wmav2", encoder: "wmav2", keepsToLimits: false, rates: [22050, 44100, 48000]),
  ]

  func takes(_ rate: Int?) -> Bool {
    guard let rates, let rate else { return true }
    return rates.contains(rate)
  }
}

extension MediaContainer {
  /// The containers that are proposed instead of one that a rule refuses.
  static let usualForConversion: [MediaContainer] = [
    .mp4, .webm, .mov, .matroska, .mpegTS, .avi, .mpegPS, .threeGP,
  ]

  /// The codecs that players expect in this container, by FFmpeg's names.
  var expectedCodecs: (video: Set<String>, audio: Set<String>) {
    switch self {
    case .mp4:
      (["h264", "hevc", "av1", "vp9", "mpeg4"], ["aac", "mp3", "ac3", "eac3", "opus", "flac", "alac"])
    case .m4v: (["h264", "mpeg4"], ["aac", "ac3", "alac"])
    case .mov:
      (
        ["h264", "hevc", "mpeg4", "mjpeg", "prores"], ["aac", "mp3", "ac3", "alac", "pcm_s16le", "pcm_s24le"]
      )
    case .threeGP, .threeG2: (["h264", "mpeg4", "h263"], ["aac", "amr_nb", "amr_wb"])
    case .webm: (["vp9", "vp8", "av1"], ["opus", "vorbis"])
    case .matroska:
      (
        Set(EncodedCodec.video.map(\.name)).union(["mjpeg", "prores", "ffv1"]),
        Set(EncodedCodec.audio.map(\.name)).union(["eac3", "alac", "dts", "truehd", "pcm_s24le"])
      )
    case .avi: (["mpeg4", "h264", "mjpeg"], ["mp3", "ac3", "mp2", "pcm_s16le"])
    case .mpegTS, .m2ts: (["h264", "hevc", "mpeg2video"], ["aac", "mp3", "ac3", "eac3", "mp2"])
    case .mpegPS: (["mpeg2video", "mpeg1video"], ["mp2", "ac3"])
    case .flv: (["h264", "flv1"], ["aac", "mp3"])
    case .ogg: (["theora"], ["vorbis", "opus", "flac"])
    case .asf: (["wmv2", "wmv1", "wmv3", "vc1"], ["wmav2", "wmav1"])
    case .mxf: (["mpeg2video"], ["pcm_s16le", "pcm_s24le"])
    }
  }

  /// Whether ffmpeg can copy `codec`, which is not among the expected ones, from a file of this container into a new
  /// one: for some containers, it reads more codecs than it writes (libavformat/movenc.c).
  func keeps(_ codec: String) -> Bool {
    switch self {
    case .m4v, .threeGP, .threeG2: false
    case .mp4: Self.rareInMP4.contains(codec)
    default: true
    }
  }

  private static let rareInMP4: Set = [
    "mpeg2video", "mpeg1video", "mjpeg", "png", "jpeg2000", "vc1", "dirac", "mp2", "dts", "vorbis", "mp4als",
    "evrc", "qcelp",
  ]
}
