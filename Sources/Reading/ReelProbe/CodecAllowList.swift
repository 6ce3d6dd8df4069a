import CFFmpeg

/// A decoder is code driven by untrusted bytes, so the list is as short as the facts allow. Video: the pixel format,
/// and the size if the container does not state it, come from a decoded picture. Sound: channels and rate come from
/// the container or a parser, except for AAC and MPEG audio in MPEG's multiplexes. `codec_whitelist=none` is not an
/// option: it loses the size in MPEG-TS and FLV.
package enum CodecAllowList {
  /// The decoders that may decode pictures. They include some that the facts do not need: for codecs of cameras and
  /// editors, of early computer video, and of screen recorders.
  package static let pictures = Set(
    (all
      + ",aic,cfhd,msvideo1,msrle,rpza,smc,8bps,indeo3,indeo4,indeo5,vp3,tscc,tscc2,g2m,mss1,mss2,mts2,vmnc,cscd,zmbv")
      .split(separator: ",").map(String.init))

  /// Returns the first decoder in ``pictures`` for a codec; nil if there is none.
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

  /// The set of video decoders that may be opened.
  package enum Video {
    case all
    /// All except those of the codecs whose bitstream Reel reads itself (``BitstreamHeader``).
    case undecoded
  }

  /// The decoders of the codecs that ``BitstreamHeader`` reads.
  private static let parsed = "h264,hevc,vp8,vp9,libdav1d,av1,prores,dnxhd"
  /// The decoders that ``DecodedHeader`` opens.
  static let ofHeaders = "mpeg4,mpeg2video,mpeg1video,h263,flv,msmpeg4v2,msmpeg4,wmv1,wmv2,mjpeg"
  private static let others =
    "vvc,h263i,theora,msmpeg4v1,wmv3,vc1,dvvideo,jpeg2000,png,qtrle,rawvideo,cinepak,svq1,svq3,vp6,vp6f,vp6a,ffv1,"
    + "huffyuv,ffvhuff"
  private static let undecoded = ofHeaders + "," + others
  static let all = parsed + "," + undecoded

  /// Returns whether a full reading opens a decoder for this codec.
  static func reads(_ id: AVCodecID) -> Bool {
    avcodec_find_decoder(id).map { readers.contains(String(cString: $0.pointee.name)) } ?? false
  }
  private static let readers = Set(all.split(separator: ",").map(String.init))

  /// Returns whether a decoder is opened for this codec when those that `BitstreamHeader` replaces are not.
  static func decodes(_ id: AVCodecID) -> Bool {
    avcodec_find_decoder(id).map { opened.contains(String(cString: $0.pointee.name)) } ?? false
  }
  private static let opened = Set((undecoded + soundInMPEG).split(separator: ",").map(String.init))

  /// Decoders for the sound of MPEG's multiplexes, which state neither channels nor rate themselves.
  private static let soundInMPEG = ",aac,aac_latm,mp2float,mp3float"

  /// Returns the value of FFmpeg's option `codec_whitelist` for one demuxer.
  static func option(for demuxer: String, _ video: Video) -> String {
    (video == .all ? all : undecoded) + (demuxer == "mpegts" || demuxer == "mpeg" ? soundInMPEG : "")
  }
}
