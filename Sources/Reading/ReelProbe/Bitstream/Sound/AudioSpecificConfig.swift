/// The configuration of AAC and related codecs (ISO/IEC 14496-3, 1.6.2.1), in MP4, Matroska and FLV.
struct AudioSpecificConfig: Hashable {
  /// The audio object type of the core, such as 2 for AAC LC, or 42 for USAC.
  let objectType: Int
  /// The sampling rate of what is heard, in hertz: with spectral band replication, if it is announced.
  let sampleRate: Int
  /// The sampling rate of what a frame holds, before band replication doubles it.
  let coreRate: Int
  /// The number of samples of each frame, at the rate of the core (4.5.1.1, 4.6.20); nil for types whose frames differ.
  let frameLength: Int?
  /// The channel arrangement, by table 1.19; 0 if an element states it.
  let arrangement: UInt32
  /// The number of channels that are heard: two for parametric stereo, if it is announced. Nil if it is left to the
  /// frames.
  let channels: Int?
  /// Whether spectral band replication is announced or denied; nil if the frames may use it unannounced (implicit
  /// signalling, 1.6.5).
  let hasBandReplication: Bool?
  /// Whether parametric stereo is announced or denied; nil as above.
  let hasParametricStereo: Bool?

  /// Nil for anything else.
  init?(_ record: [UInt8]) {
    var reader = BitReader(record)
    guard var type = Self.objectType(&reader), type > 0, var rate = Self.rate(&reader),
      let arrangement = reader.bits(4)
    else { return nil }
    let coreRate = rate
    var (replication, stereo): (Bool?, Bool?) = (nil, nil)
    if type == 5 || type == 29 {
      replication = true
      if type == 29 { stereo = true }
      guard let extended = Self.rate(&reader), let core = Self.objectType(&reader) else { return nil }
      (rate, type) = (extended, core)
      if type == 22, !reader.skipBits(4) { return nil }
    }
    guard Self.kin.contains(type) else { return nil }
    objectType = type
    self.arrangement = arrangement
    var channels = Self.channels(arrangement)
    var isShort: Bool?
    if Self.general.contains(type) {
      guard let own = Self.generalChannels(&reader, type, arrangement: arrangement) else { return nil }
      channels = own.channels ?? channels
      isShort = own.isShort
    } else if type == 36, let lossless = Self.lossless(&reader, from: record) {
      (rate, channels) = lossless
    } else if type == 39 {
      isShort = reader.flag()
    }
    if replication == nil, Self.general.contains(type), !Self.resilient.contains(type) {
      Self.readExtension(&reader, core: coreRate, &rate, &replication, &stereo)
    }
    // Unannounced band replication only doubles rates of at most 24 kHz, and parametric stereo only makes two channels
    // out of one.
    if replication == nil, coreRate > 24_000 || type != 2 { replication = false }
    if stereo == nil, replication == false || channels != 1 || stereo == false { stereo = false }
    sampleRate = rate
    self.coreRate = coreRate
    frameLength = isShort.map { Self.littleDelay.contains(type) ? ($0 ? 480 : 512) : ($0 ? 960 : 1024) }
    self.channels = stereo == true && channels == 1 ? 2 : channels
    hasBandReplication = replication
    hasParametricStereo = stereo
  }

  var sound: SoundHeader { SoundHeader(channels: channels, sampleRate: sampleRate) }

  /// The sampling rates by their index (1.6.3.4, table 1.18), without those that are reserved.
  static let rates = [
    96_000, 88_200, 64_000, 48_000, 44_100, 32_000, 24_000, 22_050, 16_000, 12_000, 11_025, 8000, 7350,
  ]

  /// Returns the number of channels of an arrangement (1.6.3.5, table 1.19); nil if the frames or an element state it,
  /// and for reserved values.
  static func channels(_ arrangement: UInt32) -> Int? {
    let counts: [UInt32: Int] = [
      1: 1, 2: 2, 3: 3, 4: 4, 5: 5, 6: 6, 7: 8, 11: 7, 12: 8, 13: 24, 14: 8,
    ]
    return counts[arrangement]
  }

  /// The object types with a `GASpecificConfig`. Of these, ``resilient`` are resistant to errors.
  private static let general: Set<Int> = [1, 2, 3, 4, 6, 7, 17, 19, 20, 21, 22, 23]
  private static let littleDelay: Set<Int> = [23, 39]
  /// All types of AAC, its lossless relatives and USAC. Other types are other codecs (table 1.17).
  private static let kin = general.union([32, 33, 34, 36, 37, 38, 39, 42])
  private static let resilient: Set<Int> = [17, 19, 20, 21, 22, 23]

  private static func objectType(_ reader: inout BitReader) -> Int? {
    guard let type = reader.bits(5) else { return nil }
    return type == 31 ? reader.bits(6).map { 32 + Int($0) } : Int(type)
  }

  private static func rate(_ reader: inout BitReader) -> Int? {
    guard let index = reader.bits(4) else { return nil }
    if index == 15 { return reader.bits(24).flatMap { $0 > 0 ? Int($0) : nil } }
    return index < rates.count ? rates[Int(index)] : nil
  }

  /// Reads a `GASpecificConfig` (4.4.1). Nil if it is cut off; `channels` is nil if it has no program config element.
  private static func generalChannels(
    _ reader: inout BitReader, _ type: Int, arrangement: UInt32
  ) -> (channels: Int?, isShort: Bool)? {
    guard let isShort = reader.flag(), let dependsOnCore = reader.flag(),
      !dependsOnCore || reader.skipBits(14),
      let isExtended = reader.flag()
    else { return nil }
    var channels: Int?
    if arrangement == 0 {
      guard let counted = programChannels(&reader) else { return nil }
      channels = counted
    }
    if type == 6 || type == 20, !reader.skipBits(3) { return nil }
    if isExtended {
      if type == 22, !reader.skipBits(16) { return nil }
      if resilient.contains(type), type != 22, type != 21, !reader.skipBits(3) { return nil }
      guard reader.skipBits(1) else { return nil }
    }
    return (channels, isShort)
  }

  /// Reads a program config element (4.4.1.1). Returns its channels: one for each single element, two for each pair,
  /// one for each of low frequencies.
  static func programChannels(_ reader: inout BitReader) -> Int? {
    guard reader.skipBits(4 + 2 + 4), let front = reader.bits(4), let side = reader.bits(4),
      let back = reader.bits(4), let low = reader.bits(2), let data = reader.bits(3),
      let coupled = reader.bits(4), skipMix(&reader, 4), skipMix(&reader, 4), skipMix(&reader, 3)
    else { return nil }
    var channels = Int(low)
    for _ in 0..<(front + side + back) {
      guard let isPair = reader.flag(), reader.skipBits(4) else { return nil }
      channels += isPair ? 2 : 1
    }
    guard reader.skipBits(4 * Int(low) + 4 * Int(data) + 5 * Int(coupled)), reader.align(),
      let comment = reader.bits(8), reader.skipBytes(Int(comment))
    else { return nil }
    return channels
  }

  private static func skipMix(_ reader: inout BitReader, _ bits: Int) -> Bool {
    guard let isPresent = reader.flag() else { return false }
    return !isPresent || reader.skipBits(bits)
  }

  /// Reads what follows the core's configuration, where older decoders do not see it (1.6.2.1, sync extension).
  private static func readExtension(
    _ reader: inout BitReader, core: Int, _ rate: inout Int, _ replication: inout Bool?, _ stereo: inout Bool?
  ) {
    guard reader.bits(11) == 0x2B7, objectType(&reader) == 5, let isPresent = reader.flag() else { return }
    replication = isPresent
    guard isPresent, let extended = self.rate(&reader) else { return }
    rate = extended
    guard reader.bits(11) == 0x548, let isStereo = reader.flag() else { return }
    stereo = isStereo
  }

  /// Reads the configuration of lossless audio (11.6.1), which states its own rate and channels. It is found by its
  /// mark, as five fill bits may align it to bytes.
  private static func lossless(_ reader: inout BitReader, from record: [UInt8]) -> (Int, Int?)? {
    guard
      let mark = (0..<max(0, record.count - 4)).first(where: {
        record[$0...].starts(with: [0x41, 0x4C, 0x53, 0])
      }),
      let rate = record.number(at: mark + 4, bytes: 4), rate > 0,
      let channels = record.number(at: mark + 12, bytes: 2)
    else { return nil }
    return (rate, channels + 1)
  }
}
