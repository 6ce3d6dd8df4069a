/// MPEG transport streams (ISO/IEC 13818-1, 2.4.3.2): packets that begin with 0x47, every 188 bytes; every 192
/// bytes with a timestamp before each (Blu-ray, AVCHD); every 204 bytes with error correction after each.
enum TransportStream {
  /// How many consecutive packets identify a stream that begins in the middle of a packet.
  private static let manyPackets = 8
  /// How many suffice if the first packet is where it should be.
  private static let fewPackets = 3

  private static let layouts: [(size: Int, prefix: Int, container: MediaContainer)] = [
    (188, 0, .mpegTS), (192, 4, .m2ts), (204, 0, .mpegTS),
  ]

  static func verdict(_ head: FilePrefix) -> SniffVerdict? {
    let aligned = layouts.first { layout in
      run(head, from: layout.prefix, size: layout.size, limit: manyPackets)
        >= min(manyPackets, max(fewPackets, (head.count - layout.prefix) / layout.size))
    }
    return (aligned ?? cutLayout(head)).map { .container($0.container) }
  }

  /// The layout of a stream that begins in the middle of a packet.
  private static func cutLayout(_ head: FilePrefix) -> (size: Int, prefix: Int, container: MediaContainer)? {
    layouts.first { layout in
      (0..<layout.size).contains { start in
        isStream(head, from: start, size: layout.size)
      }
    }
  }

  /// Recognizes a stream after other data, such as a recorder's header (Topfield's has about 4 KB): as many
  /// consecutive packets, starting anywhere.
  static func verdictBehindOther(_ head: FilePrefix) -> SniffVerdict? {
    (0..<head.count).lazy.filter { head.byte($0) == 0x47 }
      .compactMap { start in
        layouts.first { isStream(head, from: start, size: $0.size) }
      }
      .first.map { .container($0.container) }
  }

  /// Whether many packets are consecutive from `start` on, and most of their continuity counters (2.4.3.3) are
  /// consecutive within each stream: tables and flat pixels can also repeat a byte at these distances.
  private static func isStream(_ head: FilePrefix, from start: Int, size: Int) -> Bool {
    let count = run(head, from: start, size: size, limit: countedPackets)
    guard count >= manyPackets else { return false }
    var (counters, right, wrong): ([Int: UInt8], Int, Int) = ([:], 0, 0)
    for offset in stride(from: start, to: start + count * size, by: size) {
      guard let high = head.byte(offset + 1), let low = head.byte(offset + 2),
        let last = head.byte(offset + 3)
      else { continue }
      let stream = Int(high & 0x1F) << 8 | Int(low)
      // The counter does not advance in null packets and in packets without a payload.
      guard stream != 0x1FFF, last & 0x10 != 0 else { continue }
      if let before = counters[stream] {
        let isNext = last & 0x0F == (before + 1) & 0x0F
        (right, wrong) = isNext ? (right + 1, wrong) : (right, wrong + 1)
      }
      counters[stream] = last & 0x0F
    }
    return right >= fewPackets && right >= 4 * wrong
  }

  private static let countedPackets = 64

  /// The number of consecutive packets from `start` on, counted up to `limit`.
  private static func run(_ head: FilePrefix, from start: Int, size: Int, limit: Int) -> Int {
    var count = 0
    while count < limit, isPacket(head, at: start + count * size) { count += 1 }
    return count
  }

  /// Checks for the sync byte, no transport error, and an adaptation field or payload, as FFmpeg's probe does.
  private static func isPacket(_ head: FilePrefix, at offset: Int) -> Bool {
    guard head.byte(offset) == 0x47, let flags = head.byte(offset + 1), let control = head.byte(offset + 3)
    else { return false }
    return flags & 0x80 == 0 && control & 0x30 != 0
  }
}

/// MPEG program streams (ISO/IEC 13818-1, 2.5.3.3, and ISO/IEC 11172-1): a pack header, then another start code.
enum ProgramStream {
  static func verdict(_ head: FilePrefix) -> SniffVerdict? {
    guard let length = packHeader(head, at: 0) else { return nil }
    let isFollowed =
      head.count < length + 4 || head.has([0, 0, 1], at: length) || head.has([0, 0, 0], at: length)
    return isFollowed ? .container(.mpegPS) : nil
  }

  /// Recognizes a stream after other data, such as the end of a pack that was cut, or a tag: a pack header followed
  /// by packets, each ending where the next one begins.
  static func verdictBehindOther(_ head: FilePrefix) -> SniffVerdict? {
    var start = 0
    while let found = head.slice(from: start).firstOffset(of: [0, 0, 1, 0xBA] as [UInt8]) {
      start += found
      if isStream(head, from: start) { return .container(.mpegPS) }
      start += 4
    }
    return nil
  }

  /// How many consecutive packets are required: four matches of three bytes are no coincidence.
  private static let fewPackets = 4

  private static func isStream(_ head: FilePrefix, from start: Int) -> Bool {
    var offset = start
    for _ in 0..<fewPackets {
      guard let next = unit(head, at: offset), head.has([0, 0, 1], at: next) else { return false }
      offset = next
    }
    return true
  }

  /// The end of the pack header or packet at `offset`; nil if there is none.
  private static func unit(_ head: FilePrefix, at offset: Int) -> Int? {
    if let end = packHeader(head, at: offset) { return end }
    guard head.has([0, 0, 1], at: offset), let kind = head.byte(offset + 3), kind > 0xBA,
      let length = head.bigEndian(2, at: offset + 4), length > 0
    else { return nil }
    return offset + 6 + Int(length)
  }

  /// The end of the pack header at `offset`; nil if there is none.
  private static func packHeader(_ head: FilePrefix, at offset: Int) -> Int? {
    guard head.has([0, 0, 1, 0xBA], at: offset), let marker = head.byte(offset + 4) else { return nil }
    // MPEG-2: the last three bits of the fourteenth byte give the number of stuffing bytes.
    if marker & 0xC0 == 0x40 { return offset + 14 + Int((head.byte(offset + 13) ?? 0) & 7) }
    return marker & 0xF0 == 0x20 ? offset + 12 : nil
  }
}

/// Raw H.264, H.265 and H.266: NAL units after start codes (ITU-T H.264, H.265 and H.266, annex B of each).
enum NetworkAbstractionUnits {
  static func verdict(_ head: FilePrefix) -> SniffVerdict? {
    guard let unit = firstUnit(head), let first = head.byte(unit), let second = head.byte(unit + 1),
      first & 0x80 == 0
    else { return nil }
    return kind(first, second).map { Refusal.rawStream("a raw \($0) stream").verdict }
  }

  /// The offset of the first unit: after at least two zeros, and a one.
  private static func firstUnit(_ head: FilePrefix) -> Int? {
    guard head.has([0, 0]) else { return nil }
    let zeros = head.slice(from: 0, count: 64).elements.prefix { $0 == 0 }.count
    return head.byte(zeros) == 1 ? zeros + 1 : nil
  }

  /// The codec, judged by the units that may begin a stream: a parameter set, a delimiter, or (H.264) supplemental
  /// information.
  private static func kind(_ first: UInt8, _ second: UInt8) -> String? {
    let isFirstLayer = second & 7 != 0
    switch (first, first >> 1 & 0x3F, second >> 3) {
    // H.265: the type in six bits, then the layer, which is 0, and the temporal id plus one, which is not 0.
    case (let first, 32...35, 0) where first & 1 == 0 && isFirstLayer: return "H.265"
    // H.266: the layer in the first byte, the type in five bits of the second.
    case (0, _, 13...20) where isFirstLayer: return "H.266"
    default: break
    }
    // H.264: the type in five bits. A parameter set has a reference indicator other than 0.
    switch first & 0x1F {
    case 7 where first & 0x60 != 0, 9, 6: return "H.264"
    default: return nil
    }
  }
}

/// MP3 and AAC without a container: consecutive frames that state their own length.
enum AudioFrames {
  static func verdict(_ head: FilePrefix) -> SniffVerdict? {
    if hasFrames(head, length: advancedAudio) { return Refusal.sound("an AAC file").verdict }
    if hasFrames(head, length: mpegAudio) { return Refusal.sound("an MP3 file").verdict }
    return nil
  }

  /// Whether there are three consecutive frames, or as many as fit into the prefix.
  private static func hasFrames(_ head: FilePrefix, length: (FilePrefix, Int) -> Int?) -> Bool {
    var offset = 0
    for frame in 0..<3 {
      if frame > 0, offset + 4 > head.count { return true }
      guard let step = length(head, offset) else { return false }
      offset += step
    }
    return true
  }

  /// The length of an ADTS frame (ISO/IEC 13818-7, 6.2).
  private static func advancedAudio(_ head: FilePrefix, at offset: Int) -> Int? {
    guard head.byte(offset) == 0xFF, let flags = head.byte(offset + 1), flags & 0xF6 == 0xF0,
      let bits = head.bigEndian(3, at: offset + 3)
    else { return nil }
    let length = Int(bits >> 5 & 0x1FFF)
    return length >= 7 ? length : nil
  }

  /// The length of an MPEG audio frame (ISO/IEC 11172-3, 2.4.1.3, and 13818-3).
  private static func mpegAudio(_ head: FilePrefix, at offset: Int) -> Int? {
    guard head.byte(offset) == 0xFF, let flags = head.byte(offset + 1), flags & 0xE0 == 0xE0,
      let rates = head.byte(offset + 2), let layer = layer(flags)
    else { return nil }
    let isFirstVersion = flags & 0x18 == 0x18
    guard let frequency = frequency(flags, rates),
      let rate = bitRates(layer, isFirstVersion: isFirstVersion).element(at: Int(rates >> 4)), rate > 0
    else { return nil }
    let padding = Int(rates >> 1 & 1)
    switch layer {
    case 1: return (12_000 * rate / frequency + padding) * 4
    case 3 where !isFirstVersion: return 72_000 * rate / frequency + padding
    default: return 144_000 * rate / frequency + padding
    }
  }

  private static func layer(_ flags: UInt8) -> Int? {
    switch flags >> 1 & 3 {
    case 3: 1
    case 2: 2
    case 1: 3
    default: nil
    }
  }

  /// The sampling rate in hertz; nil for a reserved version or index.
  private static func frequency(_ flags: UInt8, _ rates: UInt8) -> Int? {
    guard let base = [44_100, 48_000, 32_000].element(at: Int(rates >> 2 & 3)) else { return nil }
    switch flags >> 3 & 3 {
    case 3: return base
    case 2: return base / 2
    case 0: return base / 4
    default: return nil
    }
  }

  /// The bit rates in kilobits per second, by index; 0 if the frame does not state its length.
  private static func bitRates(_ layer: Int, isFirstVersion: Bool) -> [Int] {
    switch (layer, isFirstVersion) {
    case (1, true): [0, 32, 64, 96, 128, 160, 192, 224, 256, 288, 320, 352, 384, 416, 448]
    case (2, true): [0, 32, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384]
    case (_, true): [0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320]
    case (1, false): [0, 32, 48, 56, 64, 80, 96, 112, 128, 144, 160, 176, 192, 224, 256]
    default: [0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160]
    }
  }
}

extension Array {
  /// The element at `index`; nil if out of bounds.
  fileprivate func element(at index: Int) -> Element? {
    indices.contains(index) ? self[index] : nil
  }
}
