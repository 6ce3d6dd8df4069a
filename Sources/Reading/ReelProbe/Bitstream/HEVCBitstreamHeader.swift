import CFFmpeg

extension BitstreamHeader {
  /// Reads an HEVC stream's parameters and one of its packets, with FFmpeg's parser. Nil in the same cases as for
  /// H.264.
  init?(hevc parameters: UnsafeMutablePointer<AVCodecParameters>, packet: UnsafeMutablePointer<AVPacket>) {
    guard let sets = Self.hevcSets(Self.extradata(of: parameters), Self.bytes(of: packet)),
      let sequence = Self.common(sets.map { HEVCSequenceParameters(unit: $0) }),
      let parsed = ParsedPicture(parameters, packet),
      sequence.width == parsed.width, sequence.height == parsed.height, parsed.format != AV_PIX_FMT_NONE
    else { return nil }
    self.init(
      parsed, parsed.format,
      VideoUsability(pixel: sequence.usability.pixel, colour: sequence.usability.colour))
  }

  /// Returns the sequence parameter sets that a picture in the packet may use; nil in the same cases as for H.264.
  private static func hevcSets(_ record: [UInt8], _ packet: [UInt8]) -> [ArraySlice<UInt8>]? {
    if let configuration = HEVCConfiguration(record) {
      guard configuration.preferredTransfer == nil else { return nil }
      let units = LengthPrefixedUnits(packet, lengthSize: configuration.lengthSize)
      return hevcSets(units).map { $0 + configuration.sequenceParameterSets.map { $0[...] } }
    }
    guard let own = hevcSets(StartCodeUnits(packet)), !own.isEmpty else { return nil }
    return own + StartCodeUnits(record).filter { $0[$0.startIndex] >> 1 & 0x3f == 33 }
  }

  private static func hevcSets(_ units: some Sequence<ArraySlice<UInt8>>) -> [ArraySlice<UInt8>]? {
    var hasPicture = false
    var sets: [ArraySlice<UInt8>] = []
    for unit in units {
      switch (unit.first ?? 0xFF) >> 1 & 0x3f {
      case 0...21: hasPicture = true
      case 33: sets.append(unit)
      case 39 where SupplementalMessages(unit.dropFirst()).overruleTransfer: return nil
      default: break
      }
    }
    return hasPicture ? sets : nil
  }
}
