/// The headers of packets of uncompressed sound in MPEG's multiplexes.
enum PCMPacket {
  /// Reads Blu-ray's HDMV LPCM in a transport stream: 16 bits for the length, four each for the channel arrangement and
  /// the rate, two for the sample size. The standard is not public; this is how FFmpeg reads it
  /// (libavcodec/pcm-bluray.c).
  static func sound(ofBluRay packet: [UInt8]) -> SoundHeader? {
    guard packet.count >= 4, packet[3] >> 6 != 0, let channels = bluRayChannels[Int(packet[2] >> 4)],
      let rate = bluRayRates[Int(packet[2] & 15)]
    else { return nil }
    return SoundHeader(channels: channels, sampleRate: rate)
  }

  private static let bluRayChannels = [1: 1, 3: 2, 4: 3, 5: 3, 6: 4, 7: 4, 8: 5, 9: 6, 10: 7, 11: 8]
  private static let bluRayRates = [1: 48_000, 4: 96_000, 5: 192_000]

  /// Reads a DVD's LPCM after the header of its substream: eight bits for flags and a number, then two each for the
  /// sample size and the rate, one that is reserved, three for the channels minus one, and eight for the dynamic range.
  /// The standard is not public; this is how FFmpeg reads it (libavcodec/pcm-dvd.c).
  static func sound(ofDVD packet: [UInt8]) -> SoundHeader? {
    guard packet.count >= 3, packet[1] >> 6 != 3 else { return nil }
    return SoundHeader(
      channels: Int(packet[1] & 7) + 1, sampleRate: [48_000, 96_000, 44_100, 32_000][Int(packet[1] >> 4 & 3)])
  }

  /// Reads AES3 in a transport stream (SMPTE ST 302, 5.3): 16 bits for the length, two for the channel pairs minus one,
  /// eight for an identifier, two for the sample size, four that are 0. The rate is always 48 kHz.
  static func sound(ofS302M packet: [UInt8]) -> SoundHeader? {
    guard packet.count >= 4, packet[3] & 15 == 0, packet[3] >> 4 & 3 != 3,
      Int(packet[0]) << 8 | Int(packet[1]) == packet.count - 4
    else { return nil }
    return SoundHeader(channels: 2 * (Int(packet[2] >> 6) + 1), sampleRate: 48_000)
  }
}
