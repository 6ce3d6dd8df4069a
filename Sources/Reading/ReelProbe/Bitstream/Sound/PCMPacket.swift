/// The headers of packets of uncompressed sound in MPEG's multiplexes.
enum PCMPacket {
  /// Blu-ray's HDMV LPCM in a transport stream: 16 bits of length, four each of the arrangement of channels and of the rate,
  /// two of the size of a sample. The standard is not public; this is how FFmpeg reads it (libavcodec/pcm-bluray.c).
  static func sound(ofBluRay packet: [UInt8]) -> SoundHeader? {
    guard packet.count >= 4, packet[3] >> 6 != 0, let channels = bluRayChannels[Int(packet[2] >> 4)],
      let rate = bluRayRates[Int(packet[2] & 15)]
    else { return nil }
    return SoundHeader(channels: channels, sampleRate: rate)
  }

  private static let bluRayChannels = [1: 1, 3: 2, 4: 3, 5: 3, 6: 4, 7: 4, 8: 5, 9: 6, 10: 7, 11: 8]
  private static let bluRayRates = [1: 48_000, 4: 96_000, 5: 192_000]

  /// A DVD's LPCM behind the header of its substream: eight bits of flags and a number, then two each of the size of a
  /// sample and of the rate, one that is reserved, three of the channels but one, and eight of the dynamic range. The
  /// standard is not public; this is how FFmpeg reads it (libavcodec/pcm-dvd.c).
  static func sound(ofDVD packet: [UInt8]) -> SoundHeader? {
    guard packet.count >= 3, packet[1] >> 6 != 3 else { return nil }
    return SoundHeader(
      channels: Int(packet[1] & 7) + 1, sampleRate: [48_000, 96_000, 44_100, 32_000][Int(packet[1] >> 4 & 3)])
  }

  /// AES3 in a transport stream (SMPTE ST 302, 5.3): 16 bits of length, two of the pairs of channels but one, eight of an
  /// identifier, two of the size of a sample, four that are 0. All of it has 48 kHz.
  static func sound(ofS302M packet: [UInt8]) -> SoundHeader? {
    guard packet.count >= 4, packet[3] & 15 == 0, packet[3] >> 4 & 3 != 3,
      Int(packet[0]) << 8 | Int(packet[1]) == packet.count - 4
    else { return nil }
    return SoundHeader(channels: 2 * (Int(packet[2] >> 6) + 1), sampleRate: 48_000)
  }
}
