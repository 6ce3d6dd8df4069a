/// The pictures of one stream in a part of a program stream, by the start codes of MPEG-1 and MPEG-2 (ISO/IEC 13818-2,
/// 6.2), H.264 and HEVC (Annex B).
struct ProgramPictures {
  /// The stream without the headers of its packets, and for each packet where it begins in the file and in the stream.
  private var stream: [UInt8] = []
  private var packets: [(place: Int, start: Int)] = []

  enum Coding { case mpeg, h264, hevc }
  /// What a start code begins: a picture, another part of it, or what precedes one.
  private enum Unit { case picture, part, before }

  /// - Parameter id: the type of the packets.
  init(_ bytes: [UInt8], of id: UInt8) {
    for packet in ProgramPackets(bytes) where packet.id == id {
      packets.append((packet.start, stream.count))
      let start = Self.contents(of: bytes, at: packet.start + 6)
      if start < packet.end { stream += bytes[start..<min(packet.end, bytes.count)] }
    }
  }

  /// Returns where the contents of a packet begin whose header continues at `at`, in MPEG-1's form, too.
  private static func contents(of bytes: [UInt8], at: Int) -> Int {
    if bytes[at] >> 6 == 2 { return min(bytes.count, at + 3 + Int(bytes[at + 2])) }
    var at = at
    func byte() -> UInt8 { at < bytes.count ? bytes[at] : 0 }
    for _ in 0..<16 where byte() == 0xff { at += 1 }
    if byte() >> 6 == 1 { at += 2 }
    return min(bytes.count, at + (byte() >> 4 == 2 ? 5 : byte() >> 4 == 3 ? 10 : 1))
  }

  private var units: StartCodeUnits { StartCodeUnits(stream, atMost: stream.count) }

  /// The coding by the first start code, that of a sequence, a parameter set or a delimiter; nil for any other.
  var coding: Coding? {
    var units = units
    guard let unit = units.next(), let type = unit.first else { return nil }
    switch (type, unit.dropFirst().first) {
    case (0xb3, _): return .mpeg
    case (0x40, 1), (0x42, 1), (0x46, 1): return .hevc
    case (0x09, _), (0x27, _), (0x47, _), (0x67, _): return .h264
    default: return nil
    }
  }

  /// - Parameter follows: whether something that precedes a picture comes before it.
  private static func kind(of unit: ArraySlice<UInt8>, _ coding: Coding, follows: Bool) -> Unit {
    let type = unit[unit.startIndex]
    let data = unit.dropFirst(coding == .hevc ? 2 : 1)
    // The first macroblock of a first slice is 0, which is coded as a single bit. HEVC has a flag there.
    let isFirst = (data.first ?? 0) & 0x80 != 0
    switch coding {
    case .mpeg:
      // A picture's header alone is none; its first slice follows.
      return (1...0xaf).contains(type) ? follows ? .picture : .part : .before
    case .h264:
      guard (1...5).contains(type & 0x1f) else { return type & 0x1f == 12 ? .part : .before }
      return isFirst ? .picture : .part
    case .hevc:
      guard type >> 1 < 32 else { return [36, 37, 38, 40].contains(type >> 1) ? .part : .before }
      return isFirst ? .picture : .part
    }
  }

  /// Returns how many pictures begin before the packet at `place`, and how many in it and behind it.
  func counts(from place: Int, _ coding: Coding) -> (before: Int, behind: Int) {
    guard let packet = packets.first(where: { $0.place >= place }) else { return (0, 0) }
    var (before, behind, start): (Int, Int, Int?) = (0, 0, nil)
    for unit in units {
      let code = unit.startIndex - 3
      // What precedes a picture belongs to it, and so does the zero before a start code.
      let begin = start ?? (code > 0 && stream[code - 1] == 0 ? code - 1 : code)
      let kind = Self.kind(of: unit, coding, follows: start != nil)
      if kind == .picture, begin < packet.start { before += 1 } else if kind == .picture { behind += 1 }
      start = kind == .before ? begin : nil
    }
    return (before, behind)
  }
}
