/// The header of an AAC frame in a transport stream (ISO/IEC 14496-3, 1.A.2.2).
struct ADTSFrame: Hashable {
  /// Hertz, without what band replication adds: no header of it tells.
  let sampleRate: Int
  /// Nil where an element within the frame says it.
  let channels: Int?
  /// Bytes of the frame with its header.
  let length: Int
  /// Of 1024 samples each.
  let blocks: Int

  /// Nil where none begins.
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
