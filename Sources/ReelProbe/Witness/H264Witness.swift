import CFFmpeg

extension PictureWitness {
  /// From an H.264 stream's parameters and one of its packets, through FFmpeg's parser.
  ///
  /// Nil when anything is out of the ordinary: more than one set of parameters, another set within the packet, a
  /// colour message that overrules it, or a format that depends on the decoder. The full reading settles those.
  init?(h264 parameters: UnsafeMutablePointer<AVCodecParameters>, packet: UnsafeMutablePointer<AVPacket>) {
    guard let configuration = AVCConfiguration(Self.extradata(of: parameters)),
      configuration.sequenceParameterSets.count == 1,
      let set = configuration.sequenceParameterSets.first, let sequence = H264SequenceParameters(unit: set),
      Self.isOrdinary(packet, configuration, set), let parsed = ParsedPicture(parameters, packet),
      sequence.width == parsed.width, sequence.height == parsed.height,
      let format = Self.format(parsed.format, sequence, declaredRange: parameters.pointee.color_range)
    else { return nil }
    self.init(parsed, format, sequence.usability)
  }

  /// Whether the packet has a picture, and neither other parameters nor a message that overrules them.
  private static func isOrdinary(
    _ packet: UnsafeMutablePointer<AVPacket>, _ configuration: AVCConfiguration, _ set: [UInt8]
  ) -> Bool {
    var hasPicture = false
    for unit in LengthPrefixedUnits(bytes(of: packet), lengthSize: configuration.lengthSize) {
      switch (unit.first ?? 0) & 0x1f {
      case 1, 5: hasPicture = true
      case 6 where SupplementalMessages(unit).overruleTransfer: return false
      case 7 where !unit.elementsEqual(set): return false
      default: break
      }
    }
    return hasPicture
  }

  /// What FFmpeg's decoder would choose, for 4:2:0 and 4:2:2 at 8 and 10 bits: at 8 bits, full range is a
  /// format of its own.
  private static func format(
    _ parsed: AVPixelFormat, _ sequence: H264SequenceParameters, declaredRange: AVColorRange
  ) -> AVPixelFormat? {
    guard sequence.chromaFormat == 1 || sequence.chromaFormat == 2 else { return nil }
    let isFull = sequence.usability.fullRange ?? (declaredRange == AVCOL_RANGE_JPEG)
    switch parsed {
    case AV_PIX_FMT_YUV420P: return isFull ? AV_PIX_FMT_YUVJ420P : parsed
    case AV_PIX_FMT_YUV422P: return isFull ? AV_PIX_FMT_YUVJ422P : parsed
    case reel_yuv420p10, reel_yuv422p10: return parsed
    default: return nil
    }
  }
}
