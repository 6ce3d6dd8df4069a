import CFFmpeg

/// AC-3 and E-AC-3 (ETSI TS 102 366).
enum DolbyFrame {
  /// Reads one sample, which for E-AC-3 may hold several frames. Returns the first program with the channels that its
  /// dependent substreams add (E.1.2, E.1.3). On Blu-ray, these follow a plain frame. Nil if no frame begins here.
  static func sound(_ sample: [UInt8]) -> SoundHeader? {
    guard let first = frame(sample[...]) else { return nil }
    var (added, isEnhanced, rest) = (0, first.isEnhanced, sample.dropFirst(first.length))
    while let next = frame(rest), next.isDependent {
      added += next.addedChannels
      isEnhanced = true
      rest = rest.dropFirst(next.length)
    }
    // Plain frames may be accompanied by enhanced ones in packets of their own.
    return SoundHeader(
      channels: first.channels + added, sampleRate: first.sampleRate,
      codec: isEnhanced ? AV_CODEC_ID_EAC3 : nil)
  }

  /// Returns the bytes and the seconds of the frame that begins here. The seconds are 0 if it is heard at the same time
  /// as the first program.
  static func length(_ head: [UInt8]) -> (bytes: Int, seconds: Double)? {
    guard let frame = frame(head[...]), let rate = frame.sampleRate else { return nil }
    return (frame.length, frame.isOfFirst ? Double(frame.samples) / Double(rate) : 0)
  }

  /// Reads the box `dac3` (F.4), which repeats what each frame's header states.
  static func sound(dac3 record: [UInt8]) -> SoundHeader? {
    var reader = BitReader(record)
    guard let rate = reader.bits(2), reader.skipBits(5 + 3), let mode = reader.bits(3),
      let low = reader.flag()
    else { return nil }
    return SoundHeader(channels: channels(mode, low), sampleRate: rates[safe: Int(rate)])
  }

  /// Reads the box `dec3` (F.6): the first independent substream, and the channels that its dependent ones add.
  static func sound(dec3 record: [UInt8]) -> SoundHeader? {
    var reader = BitReader(record)
    guard reader.skipBits(13 + 3), let rate = reader.bits(2), reader.skipBits(5 + 1 + 1 + 3),
      let mode = reader.bits(3), let low = reader.flag(), reader.skipBits(3), let dependent = reader.bits(4)
    else { return nil }
    var count = channels(mode, low)
    if dependent > 0 {
      guard let places = reader.bits(9) else { return nil }
      // From the lowest bit: Lc/Rc, Lrs/Rrs, Cs, Ts, Lsd/Rsd, Lw/Rw, Lvh/Rvh, Cvh, LFE2.
      let widths = [2, 2, 1, 1, 2, 2, 2, 1, 1]
      count += widths.indices.reduce(0) { $0 + (places >> UInt32($1) & 1 == 1 ? widths[$1] : 0) }
    }
    return SoundHeader(channels: count, sampleRate: rates[safe: Int(rate)])
  }

  private struct Frame {
    var isEnhanced = false
    var isDependent = false
    var length = 0
    var samples = 1536
    /// Whether it is a frame of the first program's independent substream.
    var isOfFirst = true
    var channels = 0
    /// The channels that a dependent substream adds to its program.
    var addedChannels = 0
    var sampleRate: Int?
  }

  private static let rates = [48_000, 44_100, 32_000]

  /// Returns the number of channels for `acmod` and `lfeon` (4.4.2.3, 4.4.2.7).
  private static func channels(_ mode: UInt32, _ low: Bool) -> Int {
    [2, 1, 2, 3, 3, 4, 4, 5][Int(mode & 7)] + (low ? 1 : 0)
  }

  private static func frame(_ bytes: ArraySlice<UInt8>) -> Frame? {
    let head = Array(bytes.prefix(64))
    guard head.count >= 8, head[0] == 0x0B, head[1] == 0x77 else { return nil }
    let kind = head[5] >> 3
    return kind <= 10 ? plain(head) : kind <= 16 ? enhanced(head) : nil
  }

  /// Reads a plain frame, of AC-3 (4.3).
  private static func plain(_ head: [UInt8]) -> Frame? {
    var reader = BitReader(head.dropFirst(4))
    guard let rate = reader.bits(2), rate < 3, let size = reader.bits(6), size < 38,
      let kind = reader.bits(5),
      reader.skipBits(3), let mode = reader.bits(3), mode & 1 == 0 || mode == 1 || reader.skipBits(2),
      mode & 4 == 0 || reader.skipBits(2), mode != 2 || reader.skipBits(2), let low = reader.flag()
    else { return nil }
    return Frame(
      length: length(rates[Int(rate)], code: Int(size)), channels: channels(mode, low),
      sampleRate: rates[Int(rate)] >> max(0, Int(kind) - 8))
  }

  /// Returns the size of a plain frame in bytes (4.4.1.4).
  private static func length(_ rate: Int, code: Int) -> Int {
    let kilobits = [
      32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384, 448, 512, 576, 640,
    ]
    return 2 * (kilobits[code / 2] * 96_000 / rate + (rate == 44_100 ? code % 2 : 0))
  }

  /// Reads an enhanced frame, of E-AC-3 (E.1.2.1 and E.1.2.2).
  private static func enhanced(_ head: [UInt8]) -> Frame? {
    var reader = BitReader(head.dropFirst(2))
    guard let kind = reader.bits(2), kind != 3, let program = reader.bits(3), let size = reader.bits(11),
      let rate = reader.bits(2), let next = reader.bits(2), let mode = reader.bits(3), let low = reader.flag()
    else { return nil }
    if rate == 3, next == 3 { return nil }
    var frame = Frame(
      isEnhanced: true, isDependent: kind == 1, length: 2 * (Int(size) + 1),
      samples: 256 * (rate == 3 ? 6 : [1, 2, 3, 6][Int(next)]), isOfFirst: kind != 1 && program == 0,
      channels: channels(mode, low), sampleRate: rate == 3 ? rates[Int(next)] / 2 : rates[Int(rate)])
    if kind == 1 {
      guard reader.skipBits(5 + 5), skipLevels(&reader, mode), let hasMap = reader.flag() else { return nil }
      frame.addedChannels = hasMap ? reader.bits(16).map(added) ?? 0 : 0
    }
    return frame
  }

  /// Skips the compression gain, and in dual mono the level and the gain of the second channel.
  private static func skipLevels(_ reader: inout BitReader, _ mode: UInt32) -> Bool {
    guard let hasGain = reader.flag(), !hasGain || reader.skipBits(8) else { return false }
    guard mode == 0 else { return true }
    guard reader.skipBits(5), let hasSecond = reader.flag() else { return false }
    return !hasSecond || reader.skipBits(8)
  }

  /// Returns the number of channels in `chanmap` (E.1.3.1.8), without those that every 5.1 program has: left, center,
  /// right, both surrounds and low frequencies.
  private static func added(_ map: UInt32) -> Int {
    let pairs: Set<UInt32> = [5, 6, 9, 10, 11, 13]
    return (5...14).reduce(0) {
      $0 + (map >> (15 - UInt32($1)) & 1 == 1 ? (pairs.contains(UInt32($1)) ? 2 : 1) : 0)
    }
  }
}

extension Array {
  fileprivate subscript(safe index: Int) -> Element? { indices.contains(index) ? self[index] : nil }
}
