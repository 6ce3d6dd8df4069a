/// A DTS frame, in the byte order of MP4, Matroska and MPEG's multiplexes: a core (ETSI TS 102 114, 5.3.1), and its
/// extensions.
struct DTSFrame: Hashable {
  /// In hertz.
  private(set) var sampleRate: Int
  /// Nil for a user-defined arrangement.
  private(set) var channels: Int?

  /// Nil if no frame begins here.
  init?(_ frame: [UInt8]) {
    var reader = BitReader(frame.prefix(16))
    guard reader.bits(32) == 0x7FFE_8001, reader.skipBits(1 + 5 + 1), let blocks = reader.bits(7),
      blocks >= 5,
      let size = reader.bits(14), size >= 95, let mode = reader.bits(6), let rate = reader.bits(4),
      let found = Self.rates[rate], reader.skipBits(5 + 5), let kind = reader.bits(3),
      let isExtended = reader.flag(), reader.skipBits(1), let low = reader.bits(2), low != 3
    else { return nil }
    let counts = [1, 2, 2, 2, 2, 3, 3, 4, 4, 5, 6, 6, 6, 7, 8, 8]
    let own = mode < counts.count ? counts[Int(mode)] + (low > 0 ? 1 : 0) : nil
    (sampleRate, channels) = (found, own)
    let length = Int(size) + 1
    if let other = DTSExtension(frame, at: (length + 3) / 4 * 4) {
      // If this frame's extension does not state them, the core's rate and channels are the least that there are.
      if let told = other.told {
        (sampleRate, channels) = (max(told.sampleRate, found), max(told.channels, own ?? 0))
      }
    } else if isExtended, let mark = Self.marks[kind], Self.has(mark, frame.prefix(length)) {
      if kind == 0 { channels = own.map { $0 + 1 } } else { sampleRate = 2 * found }
    }
  }

  var sound: SoundHeader { SoundHeader(channels: channels, sampleRate: sampleRate) }

  static let rates: [UInt32: Int] = [
    1: 8000, 2: 16_000, 3: 32_000, 6: 11_025, 7: 22_050, 8: 44_100, 11: 12_000, 12: 24_000, 13: 48_000,
  ]
  /// The sync words of those parts of the core that add a channel at the rear center, and that double the rate.
  private static let marks: [UInt32: [UInt8]] = [0: [0x5A, 0x5A, 0x5A, 0x5A], 2: [0x1D, 0x95, 0xF2, 0x62]]

  private static func has(_ mark: [UInt8], _ core: ArraySlice<UInt8>) -> Bool {
    stride(from: 16, to: core.count - 3, by: 4).contains { core[$0..<($0 + 4)].elementsEqual(mark) }
  }
}

/// The extension substream of DTS-HD after a core (ETSI TS 102 114, 7.4 and 7.5), whose decoder makes all of the sound.
private struct DTSExtension {
  /// The rate and the channels of the first asset; nil if this frame does not state them.
  let told: (sampleRate: Int, channels: Int)?

  /// Nil if none begins there.
  init?(_ frame: [UInt8], at place: Int) {
    var reader = BitReader(frame.dropFirst(place).prefix(2048))
    guard reader.bits(32) == 0x6458_2025 else { return nil }
    told = Self.read(&reader)
  }

  private static func read(_ reader: inout BitReader) -> (sampleRate: Int, channels: Int)? {
    guard reader.skipBits(8), let index = reader.bits(2), let isLong = reader.flag(),
      reader.skipBits(isLong ? 12 + 20 : 8 + 16), reader.flag() == true, reader.skipBits(2 + 3),
      let hasTime = reader.flag(), reader.skipBits(hasTime ? 36 : 0), let presentations = reader.bits(3),
      let assets = reader.bits(3)
    else { return nil }
    var masks: [UInt32] = []
    for _ in 0...presentations {
      guard let mask = reader.bits(Int(index) + 1) else { return nil }
      masks.append(mask)
    }
    guard reader.skipBits(masks.reduce(0) { $0 + 8 * $1.nonzeroBitCount }), let isMixed = reader.flag(),
      !isMixed || skipMixing(&reader), reader.skipBits((Int(assets) + 1) * (isLong ? 20 : 16)),
      reader.skipBits(9 + 3), skip(4, &reader), skip(24, &reader), let hasText = reader.flag()
    else { return nil }
    if hasText {
      guard let length = reader.bits(10), reader.skipBits(8 * (Int(length) + 1)) else { return nil }
    }
    guard reader.skipBits(5), let rate = reader.bits(4), let channels = reader.bits(8) else { return nil }
    return (rates[Int(rate)], Int(channels) + 1)
  }

  /// Skips a field that is present only if a flag says so.
  private static func skip(_ count: Int, _ reader: inout BitReader) -> Bool {
    guard let isThere = reader.flag() else { return false }
    return !isThere || reader.skipBits(count)
  }

  private static func skipMixing(_ reader: inout BitReader) -> Bool {
    guard reader.skipBits(2), let bits = reader.bits(2), let configurations = reader.bits(2) else {
      return false
    }
    return reader.skipBits((Int(configurations) + 1) * (Int(bits) + 1) * 4)
  }

  private static let rates = [
    8000, 16_000, 32_000, 64_000, 128_000, 22_050, 44_100, 88_200, 176_400, 352_800, 12_000, 24_000, 48_000,
    96_000, 192_000, 384_000,
  ]
}
