import CFFmpeg

/// Codecs of cameras and editors in which each frame stands alone and has a header.
extension BitstreamHeader {
  /// Reads the first frame of a ProRes stream. Nil if the packet is no such frame. The frame states neither the profile
  /// nor the bit depth; a decoder derives them from the codec tag.
  init?(proRes parameters: UnsafeMutablePointer<AVCodecParameters>, packet: UnsafeMutablePointer<AVPacket>) {
    guard
      let frame = ProResFrameHeader(
        UnsafeBufferPointer(start: packet.pointee.data, count: Self.count(packet)))
    else { return nil }
    let profiles: [FourCharacterCode: Int32] = [
      "apco": reel_profile_prores_proxy, "apcs": reel_profile_prores_lt, "apcn": reel_profile_prores_standard,
      "apch": reel_profile_prores_hq, "ap4h": reel_profile_prores_4444, "ap4x": reel_profile_prores_xq,
    ]
    let profile = profiles[FourCharacterCode(codecTag: parameters.pointee.codec_tag)] ?? reel_profile_unknown
    let isDeep = [reel_profile_prores_4444, reel_profile_prores_xq].contains(profile)
    self.init(
      width: frame.width, height: frame.height, format: Self.format(frame, isDeep: isDeep), profile: profile,
      level: parameters.pointee.level, usability: VideoUsability(colour: frame.colour))
  }

  private static func format(_ frame: ProResFrameHeader, isDeep: Bool) -> AVPixelFormat {
    switch (isDeep, frame.isFullChroma, frame.hasAlpha) {
    case (false, false, false): reel_yuv422p10
    case (false, false, true): reel_yuva422p10
    case (false, true, false): reel_yuv444p10
    case (false, true, true): reel_yuva444p10
    case (true, false, false): reel_yuv422p12
    case (true, false, true): reel_yuva422p12
    case (true, true, false): reel_yuv444p12
    case (true, true, true): reel_yuva444p12
    }
  }

  /// Reads the first frame of a DNxHD stream. Nil if the packet is no such frame, or one of an unusual kind.
  init?(dnx parameters: UnsafeMutablePointer<AVCodecParameters>, packet: UnsafeMutablePointer<AVPacket>) {
    guard
      let frame = DNxFrameHeader(UnsafeBufferPointer(start: packet.pointee.data, count: Self.count(packet)))
    else { return nil }
    let profiles: [Int: Int32] = [
      1271: reel_profile_dnxhr_hqx, 1272: reel_profile_dnxhr_hq, 1273: reel_profile_dnxhr_sq,
      1274: reel_profile_dnxhr_lb,
    ]
    let formats = [8: AV_PIX_FMT_YUV422P, 10: reel_yuv422p10, 12: reel_yuv422p12]
    guard let format = formats[frame.bitDepth] else { return nil }
    self.init(
      width: frame.width, height: frame.height, format: format,
      profile: profiles[frame.compression] ?? reel_profile_dnxhd, level: parameters.pointee.level)
  }
}
