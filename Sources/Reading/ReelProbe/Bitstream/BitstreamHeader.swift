import CFFmpeg
import ReelCore

/// What the bitstream itself states about its pictures, read without decoding one.
struct BitstreamHeader {
  let width: Int32
  let height: Int32
  let format: AVPixelFormat
  let profile: Int32
  let level: Int32
  let usability: VideoUsability
  /// Whether every packet is one frame, shown once.
  var hasPlainFrames = true
  /// The frame rate, in frames per second, that a decoder would use; nil if the bitstream does not state it, or if
  /// FFmpeg's parser reports it as well.
  var frameRate: Rational?

  /// The codecs whose headers replace a decoder.
  static let codecs: Set<AVCodecID> =
    [
      AV_CODEC_ID_H264, AV_CODEC_ID_HEVC, AV_CODEC_ID_VP8, AV_CODEC_ID_VP9, AV_CODEC_ID_AV1,
      AV_CODEC_ID_PRORES,
      AV_CODEC_ID_DNXHD,
    ]

  /// Whether packets of the codec can be read. This includes codecs without an allowed decoder, though no way of
  /// reading a file relies on their packets alone.
  static func isReadable(_ codec: AVCodecID) -> Bool { codecs.contains(codec) || screenVideo.contains(codec) }

  /// The reason why the headers of a stream's codec cannot be used; nil if they can.
  static func doubt(_ stream: UnsafeMutablePointer<AVStream>) -> String? {
    // Some of FFmpeg's decoders use a pixel format with alpha for transparent pictures.
    return av_dict_get(stream.pointee.metadata, "alpha_mode", nil, 0) == nil ? nil : "transparent"
  }

  /// Nil if the codec's headers cannot be read, or if the stream is unusual.
  init?(_ parameters: UnsafeMutablePointer<AVCodecParameters>, packet: UnsafeMutablePointer<AVPacket>) {
    // A decoder would use the packet's extradata instead of the stream's.
    guard !Self.hasOtherExtradata(packet, than: parameters) else { return nil }
    switch parameters.pointee.codec_id {
    case AV_CODEC_ID_H264: self.init(h264: parameters, packet: packet)
    case AV_CODEC_ID_HEVC: self.init(hevc: parameters, packet: packet)
    case AV_CODEC_ID_VP8: self.init(vp8: parameters, packet: packet)
    case AV_CODEC_ID_VP9: self.init(vp9: parameters, packet: packet)
    case AV_CODEC_ID_AV1: self.init(av1: parameters, packet: packet)
    case AV_CODEC_ID_PRORES: self.init(proRes: parameters, packet: packet)
    case AV_CODEC_ID_DNXHD: self.init(dnx: parameters, packet: packet)
    case let codec where Self.screenVideo.contains(codec): self.init(screen: parameters, packet: packet)
    default: return nil
    }
  }

  /// Whether FFmpeg describes such pictures without looking at a packet: VP8 has only one pixel format, and its size is
  /// taken from the container.
  static func isNeedless(_ parameters: UnsafeMutablePointer<AVCodecParameters>) -> Bool {
    parameters.pointee.codec_id == AV_CODEC_ID_VP8 && parameters.pointee.width > 0
  }

  init(
    width: Int, height: Int, format: AVPixelFormat, profile: Int32, level: Int32,
    usability: VideoUsability = VideoUsability()
  ) {
    self.width = Int32(clamping: width)
    self.height = Int32(clamping: height)
    self.format = format
    self.profile = profile
    self.level = level
    self.usability = usability
  }

  init(_ parsed: ParsedPicture, _ format: AVPixelFormat, _ usability: VideoUsability) {
    width = parsed.width
    height = parsed.height
    self.format = format
    profile = parsed.profile
    level = parsed.level
    self.usability = usability
  }

  private static func hasOtherExtradata(
    _ packet: UnsafeMutablePointer<AVPacket>, than parameters: UnsafeMutablePointer<AVCodecParameters>
  ) -> Bool {
    var size = 0
    guard let data = av_packet_get_side_data(packet, AV_PKT_DATA_NEW_EXTRADATA, &size) else { return false }
    return !extradata(of: parameters).elementsEqual(UnsafeBufferPointer(start: data, count: size))
  }

  static func extradata(of parameters: UnsafeMutablePointer<AVCodecParameters>) -> [UInt8] {
    guard let data = parameters.pointee.extradata, parameters.pointee.extradata_size > 0 else { return [] }
    return Array(UnsafeBufferPointer(start: data, count: Int(parameters.pointee.extradata_size)))
  }

  static func bytes(of packet: UnsafeMutablePointer<AVPacket>) -> [UInt8] {
    guard let data = packet.pointee.data, packet.pointee.size > 0 else { return [] }
    return Array(UnsafeBufferPointer(start: data, count: Int(packet.pointee.size)))
  }

  /// Writes what the full reading would have found into the stream's parameters.
  func apply(in parameters: UnsafeMutablePointer<AVCodecParameters>) {
    parameters.pointee.width = width
    parameters.pointee.height = height
    parameters.pointee.format = format.rawValue
    parameters.pointee.profile = profile
    parameters.pointee.level = level
    if let pixel = usability.pixel {
      var reduced = AVRational()
      av_reduce(
        &reduced.num, &reduced.den, Int64(pixel.ratio.numerator), Int64(pixel.ratio.denominator), 255 * 255)
      let isUsable = av_image_check_sar(UInt32(clamping: width), UInt32(clamping: height), reduced) >= 0
      parameters.pointee.sample_aspect_ratio = isUsable ? reduced : AVRational(num: 0, den: 1)
    }
    applyTransfer(in: parameters)
  }

  /// Writes the transfer function if the bitstream states one.
  func applyTransfer(in parameters: UnsafeMutablePointer<AVCodecParameters>) {
    // A value that is not stated does not override what the container says.
    if let colour = usability.colour, VideoUsability.Colour.isSaid(colour.transfer) {
      parameters.pointee.color_trc = AVColorTransferCharacteristic(rawValue: colour.transfer)
    }
  }
}
