import CFFmpeg

/// Decoding of the first frame from one packet.
enum FirstFrame {
  /// Decodes the packet and passes its first frame to `body`. Returns nil if the decoder needs more than this packet,
  /// or rejects it.
  static func decode<Found>(
    _ packet: UnsafeMutablePointer<AVPacket>, _ parameters: UnsafeMutablePointer<AVCodecParameters>,
    by decoder: UnsafePointer<AVCodec>,
    _ body: (UnsafeMutablePointer<AVCodecContext>, UnsafeMutablePointer<AVFrame>) -> Found?
  ) -> Found? {
    var freed = avcodec_alloc_context3(nil)
    defer { avcodec_free_context(&freed) }
    var frame = av_frame_alloc()
    defer { av_frame_free(&frame) }
    guard let context = freed, let frame, avcodec_parameters_to_context(context, parameters) >= 0 else {
      return nil
    }
    context.pointee.thread_count = 1
    guard avcodec_open2(context, decoder, nil) >= 0, avcodec_send_packet(context, packet) >= 0 else {
      return nil
    }
    // A decoder that waits for more packets outputs what it has when it is flushed.
    if avcodec_receive_frame(context, frame) < 0 {
      guard avcodec_send_packet(context, nil) >= 0, avcodec_receive_frame(context, frame) >= 0 else {
        return nil
      }
    }
    return body(context, frame)
  }
}
