import CFFmpeg

/// What a decoder makes of the first frame of sound whose header leaves open what is heard: AAC may double its rate and
/// its channels unannounced (ISO/IEC 14496-3, 1.6.5, implicit signalling).
enum DecodedSound {
  /// Nil if the packet has no complete frame, or if the decoder refuses it.
  static func header(
    _ parameters: UnsafeMutablePointer<AVCodecParameters>, _ packet: UnsafeMutablePointer<AVPacket>
  ) -> SoundHeader? {
    OtherArrangement(parameters, packet)?.sound ?? decoded(parameters, packet)
  }

  /// Returns the same, with the channel arrangement that the stream's record states.
  static func decoded(
    _ parameters: UnsafeMutablePointer<AVCodecParameters>, _ packet: UnsafeMutablePointer<AVPacket>
  ) -> SoundHeader? {
    guard parameters.pointee.codec_id == AV_CODEC_ID_AAC, let decoder = avcodec_find_decoder_by_name("aac"),
      // Without either, a decoder takes both from the container.
      AudioSpecificConfig(BitstreamHeader.extradata(of: parameters)) != nil
        || ADTSFrame(BitstreamHeader.bytes(of: packet)) != nil
    else {
      return nil
    }
    // An edit list may discard what the first frame decodes to.
    var bare = av_packet_clone(packet)
    defer { av_packet_free(&bare) }
    guard let bare else { return nil }
    av_packet_free_side_data(bare)
    bare.pointee.flags &= ~AV_PKT_FLAG_DISCARD
    return FirstFrame.decode(bare, parameters, by: decoder) { context, _ in
      guard avcodec_parameters_from_context(parameters, context) >= 0 else { return nil }
      return SoundHeader(
        channels: Int(reel_channels(parameters)), sampleRate: Int(context.pointee.sample_rate))
    }
  }

  /// Whether the stream's own header leaves open what is heard.
  static func isOpen(_ parameters: UnsafeMutablePointer<AVCodecParameters>) -> Bool {
    guard parameters.pointee.codec_id == AV_CODEC_ID_AAC,
      let configuration = AudioSpecificConfig(BitstreamHeader.extradata(of: parameters))
    else { return false }
    return configuration.hasBandReplication == nil || configuration.hasParametricStereo == nil
  }
}
