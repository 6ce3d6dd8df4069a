/// The header of an AAC frame in a transport stream (ISO/IEC 14496-3, 1.A.2.2).
struct ADTSFrame: Hashable {
  /// In hertz, without band replication, which the header does not announce.
  let sampleRate: Int
  /// Nil if an element within the frame states them.
  let channels: Int?
  /// The size of the frame in bytes, header included.
  let length: Int
  /// The number of blocks of 1024 samples.
  let blocks: Int

  /// Nil if no frame begins here.
  init?(_ frame: [UInt8]) {
    var reader = BitReader(frame.prefix(7))
    guard reader.bits(12) == 0xFFF, reader.skipBits(1), reader.bits(2) == 0, reader.skipBits(1 + 2),
      let index = reader.bits(4), index < AudioSpecificConfig.rates.count, reader.skipBits(1),
      let arrangement = reader.bits(3), reader.skipBits(4), let length = reader.bits(13), length > 7
    else { return nil }
    sampleRate = AudioSpecificConfig.rates[Int(index)]
    channels = AudioSpecificConfig.channels(arrangement)
    self.length = Int(length)
    blocks = frame.count > 6 ? Int(frame[6] & 3) + 1 : 1
  }

  var sound: SoundHeader { SoundHeader(channels: channels, sampleRate: sampleRate) }
}
