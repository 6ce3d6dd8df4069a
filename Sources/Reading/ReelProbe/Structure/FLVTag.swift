/// One tag of an FLV file (Adobe Flash Video File Format 10.1, E.4), also in the form of Enhanced RTMP, in which a
/// codec's name of four characters follows the flags (Enhancing RTMP, FLV, 2023 and 2024).
struct FLVTag {
  let start: Int64
  let end: Int64
  let kind: Int
  /// The timestamp: signed milliseconds in 32 bits, the highest of which some writers leave out.
  private let coded: Int32
  private let head: [UInt8]

  init?(_ file: some ByteReading, at start: Int64) {
    let head = file.bytes(at: start, count: 20)
    guard start >= 9, head.count >= 12, [8, 9, 18].contains(head[0] & 0x1f) else { return nil }
    self.start = start
    self.head = head
    kind = Int(head[0] & 0x1f)
    end = start + 11 + Int64(head[1]) << 16 + Int64(head[2]) << 8 + Int64(head[3])
    coded = Int32(bitPattern: [head[7], head[4], head[5], head[6]].reduce(0) { $0 << 8 | UInt32($1) })
    guard end <= file.size else { return nil }
  }

  /// Returns where the tag of whatever kind that begins at `start` ends, if its length is also behind it (E.3).
  static func end(_ file: some ByteReading, at start: Int64) -> Int64? {
    guard let length = file.bigEndian(at: start + 1, width: 3), file.bigEndian(at: start + 8, width: 3) == 0
    else { return nil }
    let end = start + 11 + Int64(length)
    return file.bigEndian(at: end, width: 4) == UInt64(end - start) ? end : nil
  }

  /// Whether a tag begins at `start` that is not completely in the file.
  static func isCut(_ file: some ByteReading, at start: Int64) -> Bool {
    guard let kind = file.bigEndian(at: start, width: 1), [8, 9, 18].contains(kind & 0x1f),
      let length = file.bigEndian(at: start + 1, width: 3), file.bigEndian(at: start + 8, width: 3) == 0
    else { return false }
    return start + 11 + Int64(length) > file.size
  }

  /// Returns its decoding time, the shorter way round from that of the tag before, because the clock wraps around.
  func time(after before: Int64?) -> Int64 {
    guard let before else { return Int64(coded) }
    let step = ((coded &- Int32(truncatingIfNeeded: before)) &<< 1) >> 1
    return before + Int64(step)
  }

  func mark(after origin: Int64) -> SpreadPlaces.Mark {
    SpreadPlaces.Mark(time: time(after: origin), place: start)
  }

  /// Whether it has content. Codec headers are not content: those of AAC, and of H.264 and the codecs stored in the
  /// same form.
  var isContent: Bool {
    guard end - start > 11 else { return false }
    switch kind {
    case 8:
      return isEnhanced
        ? packetType == Enhanced.codedFrames || packetType == Enhanced.tracksOfSound
        : !(head[11] >> 4 == 10 && head.count > 12 && head[12] == 0)
    case 9:
      let isCommand = head[11] >> 4 & 7 == 5
      guard isEnhanced else { return !(isPacked && head[12] != 1) && !isCommand }
      let coded = [Enhanced.codedFrames, Enhanced.codedFramesInOrder, Enhanced.tracksOfPictures]
      return coded.contains(packetType) && !isCommand
    default: return false
    }
  }

  /// The range of its frame of sound; nil for one of several sounds.
  var sound: Range<Int64>? {
    guard kind == 8, isContent, !isEnhanced || packetType == Enhanced.codedFrames else { return nil }
    let start = start + (isEnhanced ? 16 : head[11] >> 4 == 10 ? 13 : 12)
    return start < end ? start..<end : nil
  }

  /// The range of the codec's header in it, which is not content: of AAC, of H.264 and the codecs stored in the same
  /// form, and of codecs with a name.
  var record: Range<Int64>? {
    let start: Int64? =
      isEnhanced
      ? (packetType == Enhanced.sequenceStart ? self.start + 16 : nil)
      : kind == 8 && head[11] >> 4 == 10 && head.count > 12 && head[12] == 0
        ? self.start + 13 : kind == 9 && isPacked && head[12] == 0 ? self.start + 16 : nil
    return start.flatMap { (1...Self.longestRecord).contains(end - $0) ? $0..<end : nil }
  }

  private static let longestRecord: Int64 = 4096

  /// The time from its decoding to its presentation.
  var delay: Int64 {
    guard kind == 9 else { return 0 }
    if isEnhanced { return hasDelay ? signed(at: 16) : 0 }
    return isPacked ? signed(at: 13) : 0
  }

  private func signed(at place: Int) -> Int64 {
    guard head.count >= place + 3 else { return 0 }
    let offset = Int32(head[place]) << 24 | Int32(head[place + 1]) << 16 | Int32(head[place + 2]) << 8
    return Int64(offset >> 8)
  }

  private var isPacked: Bool {
    head[11] & 0x80 == 0 && (head[11] & 0x0f == 7 || Self.numbered[head[11] & 0x0f] != nil)
      && head.count >= 16
  }

  /// Numbers that are not Adobe's, of codecs stored in the form of H.264. They are used by cameras, and by
  /// live-streaming programs in China.
  private static let numbered: [UInt8: FourCharacterCode] = [12: "hvc1", 13: "av01"]

  /// The name of the pictures' codec, if it has such a number.
  var nameOfNumber: FourCharacterCode? { kind == 9 && isPacked ? Self.numbered[head[11] & 0x0f] : nil }

  // MARK: Enhanced RTMP

  /// The kinds of contents of a tag whose codec has a name.
  private enum Enhanced {
    static let sequenceStart: UInt8 = 0
    static let codedFrames: UInt8 = 1
    /// Pictures that are shown in the order in which they are decoded.
    static let codedFramesInOrder: UInt8 = 3
    static let tracksOfSound: UInt8 = 5
    static let tracksOfPictures: UInt8 = 6
  }

  private var packetType: UInt8 { head[11] & 0x0f }

  /// Whether the name of a codec follows the flags.
  private var isEnhanced: Bool {
    end - start > 15 && head.count >= 16
      && (kind == 9 ? head[11] & 0x80 != 0 : kind == 8 && head[11] >> 4 == 9)
  }

  /// Whether it has a delay: it is of H.264 or its successors, which store pictures in another order.
  private var hasDelay: Bool {
    packetType == Enhanced.codedFrames && end - start >= 19
      && name.map { ["avc1", "hvc1", "vvc1"].contains($0) } == true
  }

  /// The codec's name, for the only stream of its kind; nil if it has a number, or if there are several streams.
  var name: FourCharacterCode? {
    let named = [Enhanced.sequenceStart, Enhanced.codedFrames, Enhanced.codedFramesInOrder]
    guard isEnhanced, named.contains(packetType) else { return nil }
    return FourCharacterCode(head[12..<16])
  }

  /// The track and the codec's name of a sound other than the first, if each track has its own tags.
  var furtherSound: (track: UInt8, name: FourCharacterCode)? {
    guard kind == 8, isEnhanced, packetType == Enhanced.tracksOfSound, head.count >= 18, end - start > 18,
      head[12] >> 4 == 0
    else { return nil }
    return (head[17], FourCharacterCode(head[13..<17]))
  }

  /// The range of the codec's header in such a tag.
  var furtherRecord: Range<Int64>? {
    guard furtherSound != nil, head[12] & 0x0f == Enhanced.sequenceStart,
      (1...Self.longestRecord).contains(end - start - 18)
    else { return nil }
    return (start + 18)..<end
  }

  /// The number of the sound's codec; nil if it has a name, or if there is no sound.
  var soundFormat: UInt8? { kind == 8 && !isEnhanced && end - start > 12 ? head[11] >> 4 : nil }

  /// The flags beside the number of a sound's codec: its rate, its bits and its channels. For some codecs they mean
  /// nothing.
  var soundFlags: UInt8 { head[11] & 0x0f }

  /// Whether it is a picture that depends on those before it.
  var isDependent: Bool { kind == 9 && isContent && [2, 3].contains(head[11] >> 4 & 7) }

  /// The range of a picture with which decoding may begin, without what precedes it; only for a codec to which Adobe
  /// gave no number.
  var keyFrame: Range<Int64>? {
    guard kind == 9, isContent, isEnhanced ? name != nil : nameOfNumber != nil, head[11] >> 4 & 7 == 1 else {
      return nil
    }
    let start = self.start + (hasDelay ? 19 : 16)
    return start < end ? start..<end : nil
  }
}
