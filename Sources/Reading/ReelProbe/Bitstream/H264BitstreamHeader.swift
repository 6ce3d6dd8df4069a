import CFFmpeg

extension BitstreamHeader {
  /// Reads an H.264 stream's parameters and one of its packets, with FFmpeg's parser.
  ///
  /// Nil if anything is unusual: parameter sets that differ, a message that overrides their colours, or a format that
  /// depends on the decoder. Such streams are read in full.
  init?(h264 parameters: UnsafeMutablePointer<AVCodecParameters>, packet: UnsafeMutablePointer<AVPacket>) {
    guard let sets = Self.h264Sets(Self.extradata(of: parameters), Self.bytes(of: packet)),
      let sequence = Self.common(sets.map { H264SequenceParameters(unit: $0) }),
      let parsed = ParsedPicture(parameters, packet),
      sequence.width == parsed.width, sequence.height == parsed.height,
      let format = Self.format(parsed.format, sequence, declaredRange: parameters.pointee.color_range)
    else { return nil }
    self.init(parsed, format, sequence.usability)
    hasPlainFrames = sequence.hasPlainFrames
    frameRate = sequence.frameRate
  }

  /// Returns the parameters on which all sets agree; nil if one cannot be read or differs.
  static func common<Parameters: Equatable>(_ all: [Parameters?]) -> Parameters? {
    guard let first = all.first, all.allSatisfy({ $0 == first }) else { return nil }
    return first
  }

  /// Returns the sequence parameter sets that a picture in the packet may use. Nil if the packet has no picture, or has
  /// a message that overrides the sets. Behind start codes, the packet must contain its own sets.
  private static func h264Sets(_ record: [UInt8], _ packet: [UInt8]) -> [ArraySlice<UInt8>]? {
    if let configuration = AVCConfiguration(record) {
      let units = LengthPrefixedUnits(packet, lengthSize: configuration.lengthSize)
      return h264Sets(units).map { $0 + configuration.sequenceParameterSets.map { $0[...] } }
    }
    guard let own = h264Sets(StartCodeUnits(packet)), !own.isEmpty else { return nil }
    return own + StartCodeUnits(record).filter { $0[$0.startIndex] & 0x1f == 7 }
  }

  private static func h264Sets(_ units: some Sequence<ArraySlice<UInt8>>) -> [ArraySlice<UInt8>]? {
    var hasPicture = false
    var sets: [ArraySlice<UInt8>] = []
    for unit in units {
      switch (unit.first ?? 0) & 0x1f {
      case 1, 5: hasPicture = true
      case 6 where SupplementalMessages(unit).overruleTransfer: return nil
      case 7: sets.append(unit)
      default: break
      }
    }
    return hasPicture ? sets : nil
  }

  /// Returns the pixel format that FFmpeg's decoder would choose, for 4:2:0 and 4:2:2 at 8 and 10 bits. At 8 bits, full
  /// range is a format of its own.
  private static func format(
    _ parsed: AVPixelFormat, _ sequence: H264SequenceParameters, declaredRange: AVColorRange
  ) -> AVPixelFormat? {
    guard sequence.sampling.chromaFormat == 1 || sequence.sampling.chromaFormat == 2 else { return nil }
    let isFull = sequence.usability.fullRange ?? (declaredRange == AVCOL_RANGE_JPEG)
    switch parsed {
    case AV_PIX_FMT_YUV420P: return isFull ? AV_PIX_FMT_YUVJ420P : parsed
    case AV_PIX_FMT_YUV422P: return isFull ? AV_PIX_FMT_YUVJ422P : parsed
    case reel_yuv420p10, reel_yuv422p10: return parsed
    default: return nil
    }
  }
}
