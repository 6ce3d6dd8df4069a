import CFFmpeg

extension BitstreamHeader {
  /// Screen Video (Adobe Flash Video File Format 10.1, E.4.3.1), both versions.
  static let screenVideo: Set<AVCodecID> = [AV_CODEC_ID_FLASHSV, AV_CODEC_ID_FLASHSV2]

  /// Reads any packet of such a stream. It begins with the sizes of a block and of the picture, in four and twelve bits
  /// for each side.
  init?(screen parameters: UnsafeMutablePointer<AVCodecParameters>, packet: UnsafeMutablePointer<AVPacket>) {
    let head = Self.bytes(of: packet).prefix(4).map(Int.init)
    guard head.count == 4 else { return nil }
    let (width, height) = ((head[0] & 15) << 8 | head[1], (head[2] & 15) << 8 | head[3])
    guard width > 0, height > 0 else { return nil }
    self.init(
      width: width, height: height, format: AV_PIX_FMT_BGR24, profile: parameters.pointee.profile,
      level: parameters.pointee.level)
  }
}
