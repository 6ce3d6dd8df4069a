import CFFmpeg

/// The decoders that may run while a file is read, by FFmpeg's names.
///
/// A decoder is code that a stranger's bytes drive, so there are as few as the facts need. Video: the pixel
/// format, and the size where the container does not tell it, come from a decoded picture. Sound: channels and
/// rate come from the container or a parser, except for AAC and MPEG audio in MPEG's multiplexes.
/// `codec_whitelist=none` is no option: it loses the size in MPEG-TS and FLV.
package enum CodecAllowList {
  /// Those that may decode pictures; the facts do not need all of them: those of cameras and editors, of the first years of
  /// video on computers, and of programs that record a screen.
  package static let pictures = Set(
    (all
      + ",aic,cfhd,msvideo1,msrle,rpza,smc,8bps,indeo3,indeo4,indeo5,vp3,tscc,tscc2,g2m,mss1,mss2,mts2,vmnc,cscd,zmbv")
      .split(separator: ",").map(String.init))

  /// The first of them for a codec.
  package static func pictureDecoder(of id: AVCodecID) -> UnsafePointer<AVCodec>? {
    var state: UnsafeMutableRawPointer?
    while let codec = av_codec_iterate(&state) {
      guard codec.pointee.id == id, av_codec_is_decoder(codec) != 0, let name = codec.pointee.name else {
        continue
      }
      if pictures.contains(String(cString: name)) { return codec }
    }
    return nil
  }

  /// Which decoders of video.
  package enum Video {
    case all
    /// Not those of the codecs whose bitstream Reel reads itself (``BitstreamHeader``).
    case undecoded
  }

  /// Those of the codecs of ``BitstreamHeader``.
  private static let parsed = "h264,hevc,vp8,vp9,libdav1d,av1,prores,dnxhd"
  /// Those that ``DecodedHeader`` opens.
  static let ofHeaders = "mpeg4,mpeg2video,mpeg1video,h263,flv,msmpeg4v2,msmpeg4,wmv1,wmv2,mjpeg"
  private static let others =
    "vvc,h263i,theora,msmpeg4v1,wmv3,vc1,dvvideo,jpeg2000,png,qtrle,rawvideo,cinepak,svq1,svq3,vp6,vp6f,vp6a,ffv1,"
    + "huffyuv,ffvhuff"
  private static let undecoded = ofHeaders + "," + others
  static let all = parsed + "," + undecoded

  /// Whether a decoder is opened in the full reading.
  static func reads(_ id: AVCodecID) -> Bool {
    avcodec_find_decoder(id).map { readers.contains(String(cString: $0.pointee.name)) } ?? false
  }
  private static let readers = Set(all.split(separator: ",").map(String.init))

  /// Whether a decoder is opened where those that `BitstreamHeader` stands in for are not.
  static func decodes(_ id: AVCodecID) -> Bool {
    avcodec_find_decoder(id).map { opened.contains(String(cString: $0.pointee.name)) } ?? false
  }
  private static let opened = Set((undecoded + soundInMPEG).split(separator: ",").map(String.init))

  /// What MPEG's multiplexes leave to the streams themselves.
  private static let soundInMPEG = ",aac,aac_latm,mp2float,mp3float"

  /// As the option `codec_whitelist` wants it, for one demuxer.
  static func option(for demuxer: String, _ video: Video) -> String {
    (video == .all ? all : undecoded) + (demuxer == "mpegts" || demuxer == "mpeg" ? soundInMPEG : "")
  }
}
