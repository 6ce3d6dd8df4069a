import CFFmpeg

extension PictureWitness {
  /// From an HEVC stream's parameters and one of its packets, through FFmpeg's parser. Nil as for H.264.
  init?(hevc parameters: UnsafeMutablePointer<AVCodecParameters>, packet: UnsafeMutablePointer<AVPacket>) {
    guard let configuration = HEVCConfiguration(Self.extradata(of: parameters)),
      configuration.sequenceParameterSets.count == 1,
      let set = configuration.sequenceParameterSets.first, let sequence = HEVCSequenceParameters(unit: set),
      Self.isOrdinary(packet, configuration, set), let parsed = ParsedPicture(parameters, packet),
      sequence.width == parsed.width, sequence.height == parsed.height, parsed.format != AV_PIX_FMT_NONE
    else { return nil }
    self.init(parsed, parsed.format, sequence.usability)
  }

  /// Whether the packet has a picture, and neither other parameters nor a message that overrules them.
  private static func isOrdinary(
    _ packet: UnsafeMutablePointer<AVPacket>, _ configuration: HEVCConfiguration, _ set: [UInt8]
  ) -> Bool {
    var hasPicture = false
    for unit in LengthPrefixedUnits(bytes(of: packet), lengthSize: configuration.lengthSize) {
      switch (unit.first ?? 0xFF) >> 1 & 0x3f {
      case 0...21: hasPicture = true
      case 33 where !unit.elementsEqual(set): return false
      case 39 where SupplementalMessages(unit.dropFirst()).overruleTransfer: return false
      default: break
      }
    }
    return hasPicture
  }
}
