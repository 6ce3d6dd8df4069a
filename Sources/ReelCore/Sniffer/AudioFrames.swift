/// MP3 and AAC without a container: frames that tell their own length, one after the other.
enum AudioFrames {
  static func verdict(_ head: FilePrefix) -> SniffVerdict? {
    if hasFrames(head, length: advancedAudio) { return Refusal.sound("an AAC file").verdict }
    if hasFrames(head, length: mpegAudio) { return Refusal.sound("an MP3 file").verdict }
    return nil
  }

  /// Whether three frames follow one another, or as many as the head holds.
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

  /// The length of a frame of MPEG audio (ISO/IEC 11172-3, 2.4.1.3, and 13818-3).
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

  /// Hertz; nil for a version or an index that is reserved.
  private static func frequency(_ flags: UInt8, _ rates: UInt8) -> Int? {
    guard let base = [44_100, 48_000, 32_000].element(at: Int(rates >> 2 & 3)) else { return nil }
    switch flags >> 3 & 3 {
    case 3: return base
    case 2: return base / 2
    case 0: return base / 4
    default: return nil
    }
  }

  /// Kilobits per second by index; 0 where the frame does not tell its length.
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
  /// The element at `index`, or nil outside.
  fileprivate func element(at index: Int) -> Element? {
    indices.contains(index) ? self[index] : nil
  }
}
