import CFFmpeg

extension BitstreamHeader {
  /// Reads the first frame of a VP8 stream. Nil if it is no ordinary key frame. VP8 is always 4:2:0 with 8 bits, and
  /// does not state a pixel shape.
  init?(vp8 parameters: UnsafeMutablePointer<AVCodecParameters>, packet: UnsafeMutablePointer<AVPacket>) {
    guard
      let frame = VP8FrameHeader(UnsafeBufferPointer(start: packet.pointee.data, count: Self.count(packet)))
    else { return nil }
    self.init(
      width: frame.width, height: frame.height, format: AV_PIX_FMT_YUV420P,
      profile: parameters.pointee.profile, level: parameters.pointee.level)
  }

  /// Reads the first frame of a VP9 stream, because FFmpeg's parser does not read its size. Nil if it is no ordinary
  /// key frame.
  init?(vp9 parameters: UnsafeMutablePointer<AVCodecParameters>, packet: UnsafeMutablePointer<AVPacket>) {
    guard
      let frame = VP9FrameHeader(UnsafeBufferPointer(start: packet.pointee.data, count: Self.count(packet))),
      let format = Self.format(bitDepth: frame.bitDepth)
    else { return nil }
    self.init(
      width: frame.width, height: frame.height, format: format, profile: Int32(frame.profile),
      level: parameters.pointee.level)
  }

  /// Returns the 4:2:0 pixel format with the given bit depth.
  static func format(bitDepth: Int) -> AVPixelFormat? {
    switch bitDepth {
    case 8: AV_PIX_FMT_YUV420P
    case 10: reel_yuv420p10
    default: nil
    }
  }

  static func count(_ packet: UnsafeMutablePointer<AVPacket>) -> Int {
    packet.pointee.data == nil ? 0 : max(0, Int(packet.pointee.size))
  }
}
