import CFFmpeg

/// FFmpeg's parser for a codec, which is run over the packets of one stream to tell whether each is a frame that is
/// shown once.
struct PlainFrames: ~Copyable {
  private let parser: UnsafeMutablePointer<AVCodecParserContext>
  private let codec: UnsafeMutablePointer<AVCodecContext>

  /// Nil if there is no parser for the codec, or not enough memory.
  init?(_ parameters: UnsafePointer<AVCodecParameters>) {
    guard let parser = reel_parser(parameters.pointee.codec_id) else { return nil }
    var freed = avcodec_alloc_context3(nil)
    guard let codec = freed, avcodec_parameters_to_context(codec, parameters) >= 0 else {
      avcodec_free_context(&freed)
      av_parser_close(parser)
      return nil
    }
    parser.pointee.flags |= PARSER_FLAG_COMPLETE_FRAMES
    self.parser = parser
    self.codec = codec
  }

  deinit {
    av_parser_close(parser)
    var freed: UnsafeMutablePointer<AVCodecContext>? = codec
    avcodec_free_context(&freed)
  }

  /// Returns whether the stream's next packet is such a frame.
  func isPlain(_ packet: UnsafeMutablePointer<AVPacket>) -> Bool {
    var output: UnsafeMutablePointer<UInt8>?
    var outputSize: Int32 = 0
    av_parser_parse2(
      parser, codec, &output, &outputSize, packet.pointee.data, packet.pointee.size, packet.pointee.pts,
      packet.pointee.dts, packet.pointee.pos)
    return parser.pointee.repeat_pict == 1
  }
}
