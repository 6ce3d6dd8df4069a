/// The header of a DTS core frame, in the byte order of MP4, Matroska and MPEG's multiplexes (ETSI TS 102 114, 5.3.1).
struct DTSFrame: Hashable {
  /// Hertz, of the core.
  let sampleRate: Int
  /// Of the core; nil for an arrangement of the user's own.
  let channels: Int?

  /// Nil where none begins.
  init?(_ frame: [UInt8]) {
    var reader = BitReader(frame.prefix(16))
    guard reader.bits(32) == 0x7FFE_8001, reader.skipBits(1 + 5 + 1), let blocks = reader.bits(7),
      blocks >= 5,
      let size = reader.bits(14), size >= 95, let mode = reader.bits(6), let rate = reader.bits(4),
      let found = Self.rates[rate], reader.skipBits(5 + 10), let low = reader.bits(2), low != 3
    else { return nil }
    let counts = [1, 2, 2, 2, 2, 3, 3, 4, 4, 5, 6, 6, 6, 7, 8, 8]
    sampleRate = found
    channels = mode < counts.count ? counts[Int(mode)] + (low > 0 ? 1 : 0) : nil
  }

  var sound: SoundHeader { SoundHeader(channels: channels, sampleRate: sampleRate) }

  private static let rates: [UInt32: Int] = [
    1: 8000, 2: 16_000, 3: 32_000, 6: 11_025, 7: 22_050, 8: 44_100, 11: 12_000, 12: 24_000, 13: 48_000,
  ]
}
