import ReelCore

/// What the sets in an MXF file's header and footer state about its tracks, each fact more than once (SMPTE ST 377-1,
/// A and F).
struct MXFSets: Hashable {
  /// The units per second, of all tracks and of descriptors of pictures.
  private(set) var rates: Set<Rational> = []
  /// The numbers of units, by all tracks and descriptors.
  private(set) var durations: Set<Int64> = []
  /// Rates that are too high for pictures, of tracks whose units are samples of sound.
  private var fastRates: Set<Rational> = []
  /// What the descriptors of sound state.
  private(set) var sounds: Set<Sound> = []

  struct Sound: Hashable {
    var channels: Int?
    var sampleRate: Int?
    var bits: Int?
    var blockAlign: Int?
    var bytesPerSecond: Int?

    /// Whether its numbers contradict one another: in uncompressed sound, some are products of others.
    var contradictsItself: Bool {
      if isOutOfTime { return true }
      guard let channels, let bits, let blockAlign, bits > 0 else { return false }
      return channels * ((bits + 7) / 8) != blockAlign
    }

    /// Whether its bytes per second do not match its samples per second.
    var isOutOfTime: Bool {
      guard let sampleRate, let blockAlign, let bytesPerSecond else { return false }
      // Rates such as 48000/1.001 are rounded.
      return abs(bytesPerSecond - blockAlign * sampleRate) >= max(1, blockAlign)
    }
  }

  /// The bytes of the first element of sound, if each lasts for one unit; nil if there is none near the beginning.
  private var soundBytes: Int?
  /// Whether a descriptor states a size of pictures.
  private var hasPictures = false
  private let lacksFooter: Bool

  private static let searched = 1 << 18
  private static let key: [UInt8] = [0x06, 0x0E, 0x2B, 0x34, 0x02, 0x53]

  init(_ file: some ByteReading) {
    lacksFooter = MXFFile.lacksFooter(file)
    var next = Int64(take(file.bytes(at: 0, count: Int(min(Int64(Self.searched), file.size)))))
    // A picture may be larger than what was searched.
    for _ in 0..<Self.mostElements where soundBytes == nil {
      let head = file.bytes(at: next, count: 32)
      guard head.count > 20, head.starts(with: Self.key.prefix(4)),
        let (length, contents) = Self.length(head, at: 16)
      else { return }
      if Self.isSound(head[...]) { soundBytes = length }
      next += Int64(contents + length)
    }
  }

  private static let mostElements = 8

  /// Whether an element of sound begins here that is wrapped unit by unit: as broadcast wave, or as AES3 (SMPTE ST
  /// 382).
  private static func isSound(_ element: ArraySlice<UInt8>) -> Bool {
    let own = Array(element.prefix(16))
    return own.count == 16 && own[4..<7].elementsEqual([1, 2, 1])
      && own[8..<13].elementsEqual([0x0D, 1, 3, 1, 0x16]) && [1, 3].contains(own[14])
  }

  /// Takes the sets in `bytes`, and returns where it stopped.
  private mutating func take(_ bytes: [UInt8]) -> Int {
    var at = 0
    while at + 20 < bytes.count {
      guard bytes[at] == 6, bytes[at + 1] == 0x0E, bytes[at + 2] == 0x2B, bytes[at + 3] == 0x34 else {
        at += 1
        continue
      }
      let isSet = bytes[at...].starts(with: Self.key)
      guard let (length, contents) = Self.length(bytes, at: at + 16) else { return at }
      if soundBytes == nil, Self.isSound(bytes[at...]) { soundBytes = length }
      guard length <= bytes.count - contents else { return at }
      if isSet { takeSet(Array(bytes[contents..<(contents + length)])) }
      at = contents + length
    }
    return at
  }

  private static func length(_ bytes: [UInt8], at place: Int) -> (Int, Int)? {
    let first = Int(bytes[place])
    guard first & 0x80 != 0 else { return (first, place + 1) }
    let width = first & 0x7f
    guard (1...4).contains(width), let length = bytes.number(at: place + 1, bytes: width) else { return nil }
    return (length, place + 1 + width)
  }

  private mutating func takeSet(_ bytes: [UInt8]) {
    var (at, sound): (Int, Sound) = (0, Sound())
    while let tag = bytes.number(at: at, bytes: 2), let size = bytes.number(at: at + 2, bytes: 2) {
      let value = at + 4
      let ratio = Rational(
        bytes.number(at: value, bytes: 4) ?? 0, bytes.number(at: value + 4, bytes: 4) ?? 0)
      switch (tag, size) {
      case (0x4B01, 8): if let ratio { note(ratio) }
      case (0x3001, 8): if let ratio, ratio.value < 1000 { rates.insert(ratio) }
      case (0x0202, 8), (0x3002, 8):
        let high = bytes.number(at: value, bytes: 4) ?? 0
        let count = Int64(high) << 32 | Int64(bytes.number(at: value + 4, bytes: 4) ?? 0)
        if count > 0 { durations.insert(count) }
      case (0x3203, 4): hasPictures = true
      case (0x3D07, 4): sound.channels = bytes.number(at: value, bytes: 4)
      case (0x3D01, 4): sound.bits = bytes.number(at: value, bytes: 4)
      case (0x3D03, 8): sound.sampleRate = ratio.map { Int($0.value.rounded()) }
      case (0x3D0A, 2): sound.blockAlign = bytes.number(at: value, bytes: 2)
      case (0x3D09, 4): sound.bytesPerSecond = bytes.number(at: value, bytes: 4)
      default: break
      }
      at = value + size
    }
    if sound.sampleRate != nil { sounds.insert(sound) }
  }

  private mutating func note(_ rate: Rational) {
    if rate.value < 1000 { rates.insert(rate) } else { fastRates.insert(rate) }
  }

  /// Whether there is sound whose samples a track may count at this rate.
  private func isOfSound(_ rate: Rational) -> Bool {
    sounds.isEmpty || sounds.contains { $0.sampleRate == Int(rate.value.rounded()) }
  }

  /// The units per second, by the uncompressed sound in one unit; nil if unknown.
  private var rateOfSound: Double? {
    guard let soundBytes, soundBytes > 0, sounds.count == 1, let sound = sounds.first,
      let block = sound.blockAlign, let rate = sound.sampleRate, block > 0, rate > 0
    else { return nil }
    let units = Double(block) * Double(rate) / Double(soundBytes)
    return (1...1000).contains(units) ? units : nil
  }

  /// Returns warnings about facts that are stated more than once, and not alike.
  func warnings(_ media: MediaInfo) -> [MediaWarning] {
    var found: [MediaWarning] = []
    func isMissing(_ kind: String, _ fact: String) -> MediaWarning {
      MediaWarning(.claimUnchecked, "its header describes \(kind), of which it has no track", fact: fact)
    }
    if lacksFooter, media.truncated != true {
      found.append(
        MediaWarning(
          .indexMismatch,
          "its footer is not where its header says: a part of it was lost, repeated or replaced",
          fact: "duration"))
    }
    if hasPictures, media.video == nil { found.append(isMissing("pictures", "video")) }
    if !sounds.isEmpty, media.audio.isEmpty { found.append(isMissing("sound", "audio")) }
    let values = (rates.union(fastRates.filter { !isOfSound($0) })).map(\.value)
    // In that case durations are in different units.
    let countsSamples = fastRates.contains(where: isOfSound)
    if let least = values.min(), let most = values.max(), most > least * 1.02 {
      found.append(
        MediaWarning(
          .frameRateMismatch, "its headers give two edit rates, and nothing else tells which is right",
          fact: "video.frameRate", stated: .number(most), measured: .number(least)))
      found.append(
        MediaWarning(
          .claimUnchecked, "its headers give two edit rates, so its duration is uncertain",
          fact: "duration"))
    }
    if values.count == 1, let rate = values.first, let own = rateOfSound, abs(own - rate) > 0.02 * rate {
      let what =
        "the sound beside a picture lasts as long as a picture at \(ProbeWarnings.text(own)) per second, its headers say \(ProbeWarnings.text(rate))"
      found += MediaWarning.doubtedClock(what, media, slowed: own / rate)
    }
    if !countsSamples, let least = durations.min(), let most = durations.max(),
      Double(most) > Double(least) * 1.03 + 1
    {
      found.append(
        MediaWarning(
          .durationMismatch, "its headers give its tracks different durations", fact: "duration",
          stated: .number(Double(most)), measured: .number(Double(least))))
    }
    if sounds.contains(where: \.contradictsItself) {
      found.append(
        MediaWarning(
          .soundMismatch, "the numbers that its header gives for its sound contradict one another",
          fact: "audio.0"))
    }
    if sounds.contains(where: \.isOutOfTime) {
      found.append(
        MediaWarning(
          .claimUnchecked, "its sound is counted by a rate that its header contradicts", fact: "duration"))
    }
    return found
  }
}
