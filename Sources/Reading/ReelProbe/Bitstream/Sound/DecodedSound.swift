import CFFmpeg

/// What a decoder makes of the first frame of a sound whose header leaves open what is heard: AAC may double its rate and
/// its channels without a word (ISO/IEC 14496-3, 1.6.5, implicit signalling).
enum DecodedSound {
  /// Nil where the packet has no whole frame, or the decoder refuses it.
  static func header(
    _ parameters: UnsafeMutablePointer<AVCodecParameters>, _ packet: UnsafeMutablePointer<AVPacket>
  ) -> SoundHeader? {
    OtherArrangement(parameters, packet)?.sound ?? decoded(parameters, packet)
  }

  /// The same as the record of the stream has it.
  static func decoded(
    _ parameters: UnsafeMutablePointer<AVCodecParameters>, _ packet: UnsafeMutablePointer<AVPacket>
  ) -> SoundHeader? {
    guard parameters.pointee.codec_id == AV_CODEC_ID_AAC, let decoder = avcodec_find_decoder_by_name("aac"),
      // Without either a decoder takes the container's word for both.
      AudioSpecificConfig(BitstreamHeader.extradata(of: parameters)) != nil
        || ADTSFrame(BitstreamHeader.bytes(of: packet)) != nil
    else {
      return nil
    }
    // An edit list may leave out what the first frame makes.
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
