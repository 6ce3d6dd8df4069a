import CFFmpeg

/// What a decoder makes of the first frame of a sound whose header leaves open what is heard: AAC may double its rate and
/// its channels without a word (ISO/IEC 14496-3, 1.6.5, implicit signalling).
enum DecodedSound {
  /// Nil where the packet has no whole frame, or the decoder refuses it.
  static func header(
    _ parameters: UnsafeMutablePointer<AVCodecParameters>, _ packet: UnsafeMutablePointer<AVPacket>
  ) -> SoundHeader? {
    guard parameters.pointee.codec_id == AV_CODEC_ID_AAC, let decoder = avcodec_find_decoder_by_name("aac")
    else {
      return nil
    }
    return FirstFrame.decode(packet, parameters, by: decoder) { context, _ in
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
