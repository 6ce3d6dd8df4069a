import CFFmpeg

/// What a decoder reports about the first picture's header without decoding the picture. Only for codecs whose FFmpeg
/// decoders can do that, and used as `avformat_find_stream_info` uses them.
enum DecodedHeader {
  static let codecs: Set<AVCodecID> =
    [
      AV_CODEC_ID_MPEG1VIDEO, AV_CODEC_ID_MPEG2VIDEO, AV_CODEC_ID_MPEG4, AV_CODEC_ID_H263, AV_CODEC_ID_FLV1,
      AV_CODEC_ID_MSMPEG4V2, AV_CODEC_ID_MSMPEG4V3, AV_CODEC_ID_WMV1, AV_CODEC_ID_WMV2, AV_CODEC_ID_MJPEG,
    ]

  /// Completes a stream's parameters as `avformat_find_stream_info` would, on the basis of what they already hold.
  /// Returns false, and changes nothing, if the first packet is not enough for that.
  static func complete(_ stream: UnsafeMutablePointer<AVStream>, _ packet: UnsafeMutablePointer<AVPacket>)
    -> Bool
  {
    let isParsed = av_stream_get_parser(stream) != nil
    guard let parameters = stream.pointee.codecpar, !isParsed || !tellsBitRate(parameters.pointee.codec_id),
      let decoder = avcodec_find_decoder(parameters.pointee.codec_id)
    else { return false }
    var freed = avcodec_alloc_context3(nil)
    defer { avcodec_free_context(&freed) }
    guard let context = freed, avcodec_parameters_to_context(context, parameters) >= 0 else { return false }
    context.pointee.time_base = stream.pointee.time_base
    context.pointee.thread_count = 1
    context.pointee.codec_whitelist = av_strdup(CodecAllowList.ofHeaders)
    if isParsed { parse(packet, in: context, parameters.pointee.codec_id) }
    guard avcodec_open2(context, decoder, nil) >= 0 else { return false }
    if !isComplete(context) {
      context.pointee.skip_frame = AVDISCARD_ALL
      guard avcodec_send_packet(context, packet) >= 0 else { return false }
    }
    return isComplete(context) && avcodec_parameters_from_context(parameters, context) >= 0
  }

  /// Completes a stream's parameters from its record alone, with the decoder, where no packet has to be read.
  static func complete(_ stream: UnsafeMutablePointer<AVStream>) {
    guard let parameters = stream.pointee.codecpar,
      let decoder = avcodec_find_decoder(parameters.pointee.codec_id)
    else { return }
    var freed = avcodec_alloc_context3(nil)
    defer { avcodec_free_context(&freed) }
    guard let context = freed, avcodec_parameters_to_context(context, parameters) >= 0 else { return }
    context.pointee.thread_count = 1
    context.pointee.codec_whitelist = av_strdup(CodecAllowList.all)
    if avcodec_open2(context, decoder, nil) >= 0 { avcodec_parameters_from_context(parameters, context) }
  }

  /// Whether FFmpeg's parser for the codec takes a bit rate from each packet that it sees.
  private static func tellsBitRate(_ codec: AVCodecID) -> Bool {
    [AV_CODEC_ID_MPEG1VIDEO, AV_CODEC_ID_MPEG2VIDEO].contains(codec)
  }

  /// Runs the codec's parser over the packet, as some of FFmpeg's demuxers do before a decoder sees it.
  private static func parse(
    _ packet: UnsafeMutablePointer<AVPacket>, in context: UnsafeMutablePointer<AVCodecContext>,
    _ codec: AVCodecID
  ) {
    guard let parser = reel_parser(codec) else { return }
    defer { av_parser_close(parser) }
    parser.pointee.flags |= PARSER_FLAG_COMPLETE_FRAMES
    var output: UnsafeMutablePointer<UInt8>?
    var outputSize: Int32 = 0
    av_parser_parse2(
      parser, context, &output, &outputSize, packet.pointee.data, packet.pointee.size, packet.pointee.pts,
      packet.pointee.dts, packet.pointee.pos)
  }

  private static func isComplete(_ context: UnsafeMutablePointer<AVCodecContext>) -> Bool {
    context.pointee.width > 0 && context.pointee.pix_fmt != AV_PIX_FMT_NONE
  }
}
