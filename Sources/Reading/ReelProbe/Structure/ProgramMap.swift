import CFFmpeg

/// A program map of a transport stream (ISO/IEC 13818-1, 2.4.4.8).
struct ProgramMap {
  /// The codecs of its elementary streams by packet identifier, as far as their types tell.
  private(set) var codecs: [Int: AVCodecID] = [:]

  /// Reads the map in one packet. Nil if there is none, if it continues in another packet or is not valid yet, and if it
  /// is damaged.
  ///
  /// - Parameter packet: the payload of a packet in which a section begins.
  init?(_ packet: some Collection<UInt8>) {
    // A pointer precedes the section.
    guard let pointer = packet.first else { return nil }
    let section = Array(packet.dropFirst(1 + Int(pointer)))
    guard section.count > 12, section[0] == 2, section[1] & 0x80 != 0, section[5] & 1 == 1 else { return nil }
    let end = 3 + (Int(section[1] & 15) << 8 | Int(section[2]))
    guard end <= section.count, end > 16, Self.remainder(section[..<end]) == 0 else { return nil }
    var place = 12 + (Int(section[10] & 15) << 8 | Int(section[11]))
    while place + 5 <= end - 4 {
      codecs[Int(section[place + 1] & 0x1F) << 8 | Int(section[place + 2])] = Self.codec(section[place])
      place += 5 + (Int(section[place + 3] & 15) << 8 | Int(section[place + 4]))
    }
  }

  /// The remainder of a section with its checksum, which is 0 if it is whole (annex A).
  private static func remainder(_ section: ArraySlice<UInt8>) -> UInt32 {
    section.reduce(0xFFFF_FFFF) { sum, byte in
      (0..<8).reduce(sum ^ UInt32(byte) << 24) { sum, _ in sum << 1 ^ (sum >> 31 == 1 ? 0x04C1_1DB7 : 0) }
    }
  }

  /// Returns the codec that a stream type stands for, if it stands for one. Those that decoders need not tell apart are
  /// one: MPEG-1 and MPEG-2, the layers of sound, and AAC in its two kinds of frames.
  private static func codec(_ type: UInt8) -> AVCodecID? {
    switch type {
    case 0x01, 0x02: AV_CODEC_ID_MPEG2VIDEO
    case 0x03, 0x04: AV_CODEC_ID_MP2
    case 0x0F, 0x11: AV_CODEC_ID_AAC
    case 0x10: AV_CODEC_ID_MPEG4
    case 0x1B: AV_CODEC_ID_H264
    case 0x24: AV_CODEC_ID_HEVC
    case 0x81: AV_CODEC_ID_AC3
    case 0x87: AV_CODEC_ID_EAC3
    default: nil
    }
  }
}
