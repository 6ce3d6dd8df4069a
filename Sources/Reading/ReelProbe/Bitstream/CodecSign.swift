import CFFmpeg

/// The signs by which a packet is known to be of a codec, or to be none of it.
enum CodecSign {
  /// A codec other than the claimed one whose signs a stream's first packet and record bear; nil where they bear none, or those
  /// of the claimed one. What means nothing at all contradicts no claim.
  static func other(than claimed: AVCodecID, packet: [UInt8], record: [UInt8]) -> AVCodecID? {
    guard packet.count >= 8, isMissing(in: packet, of: claimed, record: record),
      let found = codec(of: packet, record), found != claimed
    else { return nil }
    return found
  }

  private static func codec(of packet: [UInt8], _ record: [UInt8]) -> AVCodecID? {
    let set = AVCConfiguration(record)?.sequenceParameterSets.first
    if set.flatMap({ H264SequenceParameters(unit: $0) }) != nil { return AV_CODEC_ID_H264 }
    if packet[0] & 1 == 0, packet[3...5].elementsEqual([0x9D, 0x01, 0x2A]) { return AV_CODEC_ID_VP8 }
    if packet[0] >> 6 == 2, packet[1...3].elementsEqual([0x49, 0x83, 0x42]) { return AV_CODEC_ID_VP9 }
    if packet.starts(with: [0xFF, 0xD8, 0xFF]) { return AV_CODEC_ID_MJPEG }
    if packet.starts(with: [0x89, 0x50, 0x4E, 0x47]) { return AV_CODEC_ID_PNG }
    if packet[4..<8].elementsEqual("icpf".utf8) { return AV_CODEC_ID_PRORES }
    guard packet.starts(with: [0, 0, 1]) else { return nil }
    // A sequence, a picture, and a group of pictures where the record begins with a sequence (ISO/IEC 14496-2, 6.2.1).
    let isSequence = packet[3] == 0xB0 || record.starts(with: [0, 0, 1, 0xB0])
    return isSequence || packet[3] == 0xB6 ? AV_CODEC_ID_MPEG4 : nil
  }

  /// Whether a packet with which a stream begins cannot be one of the codec that is claimed.
  ///
  /// - Parameter record: what the container keeps of the codec beside its packets.
  private static func isMissing(in packet: [UInt8], of codec: AVCodecID, record: [UInt8]) -> Bool {
    switch codec {
    case AV_CODEC_ID_H264:
      return !hasUnits(packet, record, lengthSize: AVCConfiguration(record)?.lengthSize)
    case AV_CODEC_ID_HEVC:
      return !hasUnits(packet, record, lengthSize: HEVCConfiguration(record)?.lengthSize)
    // Key frames have a mark (RFC 6386, 9.1); others have nothing to be known by.
    case AV_CODEC_ID_VP8: return packet[0] & 1 == 0 && !packet[3...5].elementsEqual([0x9D, 0x01, 0x2A])
    case AV_CODEC_ID_VP9: return !isVP9(packet)
    // The first unit's header (5.3.2): two bits that are 0, and a type that is no padding.
    case AV_CODEC_ID_AV1: return packet[0] & 0x81 != 0 || packet[0] & 0x78 == 0
    case AV_CODEC_ID_MJPEG: return !packet.starts(with: [0xFF, 0xD8])
    case AV_CODEC_ID_PRORES: return !packet[4..<8].elementsEqual("icpf".utf8)
    case AV_CODEC_ID_DNXHD: return !packet.starts(with: [0, 0, 2])
    case AV_CODEC_ID_PNG: return !packet.starts(with: [0x89, 0x50, 0x4E, 0x47])
    case AV_CODEC_ID_MPEG1VIDEO, AV_CODEC_ID_MPEG2VIDEO: return !beginsWithCode(packet)
    // Some streams have the short header of H.263 (ISO/IEC 14496-2, 6.2.4).
    case AV_CODEC_ID_MPEG4:
      return !beginsWithCode(packet) && !(packet.starts(with: [0, 0]) && packet[2] & 0xFC == 0x80)
    default: return false
    }
  }

  private static func beginsWithCode(_ packet: [UInt8]) -> Bool {
    let zeros = packet.prefix { $0 == 0 }.count
    return zeros >= 2 && zeros < packet.count && packet[zeros] == 1
  }

  /// NAL units from one end of the packet to the other, none of them with the bit that is forbidden.
  private static func hasUnits(_ packet: [UInt8], _ record: [UInt8], lengthSize: Int?) -> Bool {
    guard record.first == 1 || lengthSize != nil else {
      let units = Array(StartCodeUnits(packet).prefix(64))
      return !units.isEmpty && units.allSatisfy { ($0.first ?? 0) & 0x80 == 0 }
    }
    guard let lengthSize else { return false }
    var length = 0
    for unit in LengthPrefixedUnits(packet, lengthSize: lengthSize) {
      guard (unit.first ?? 0) & 0x80 == 0 else { return false }
      length += lengthSize + unit.count
    }
    return length > 0
  }

  /// Its mark, and in a key frame the one that follows (VP9 bitstream specification, 6.2).
  private static func isVP9(_ packet: [UInt8]) -> Bool {
    guard packet[0] >> 6 == 2 else { return false }
    let hasReservedBit = packet[0] & 0x30 == 0x30
    let isKey = packet[0] & 0x0C == 0
    return hasReservedBit || !isKey || packet[1...3].elementsEqual([0x49, 0x83, 0x42])
  }
}
