import CFFmpeg

/// What FFmpeg's parser for a codec reports about one packet.
struct ParsedPicture {
  let width: Int32
  let height: Int32
  let format: AVPixelFormat
  let profile: Int32
  let level: Int32

  /// Nil if there is no parser, or if it finds no picture in the packet.
  init?(_ parameters: UnsafePointer<AVCodecParameters>, _ packet: UnsafeMutablePointer<AVPacket>) {
    guard let parser = reel_parser(parameters.pointee.codec_id) else { return nil }
    defer { av_parser_close(parser) }
    var freed = avcodec_alloc_context3(nil)
    defer { avcodec_free_context(&freed) }
    guard let codec = freed, avcodec_parameters_to_context(codec, parameters) >= 0 else { return nil }
    parser.pointee.flags |= PARSER_FLAG_COMPLETE_FRAMES
    var output: UnsafeMutablePointer<UInt8>?
    var outputSize: Int32 = 0
    av_parser_parse2(
      parser, codec, &output, &outputSize, packet.pointee.data, packet.pointee.size, packet.pointee.pts,
      packet.pointee.dts, packet.pointee.pos)
    guard parser.pointee.width > 0, parser.pointee.height > 0 else { return nil }
    width = parser.pointee.width
    height = parser.pointee.height
    format = AVPixelFormat(rawValue: parser.pointee.format)
    profile = codec.pointee.profile
    level = codec.pointee.level
  }
}
