/// The pictures of one stream in a part of a program stream, by the start codes of MPEG-1 and MPEG-2 (ISO/IEC 13818-2,
/// 6.2), H.264 and HEVC (Annex B).
struct ProgramPictures {
  private let bytes: [UInt8]
  /// The stream without the headers of its packets, and for each packet where it begins in the file and in the stream.
  private var stream: [UInt8] = []
  private var packets: [(place: Int, start: Int)] = []

  enum Coding { case mpeg, h264, hevc }
  /// What a start code begins: a picture, another part of it, or what precedes one.
  private enum Unit { case picture, part, before }

  /// - Parameter id: the type of the packets (ISO/IEC 13818-1, 2.4.3.7).
  init(_ bytes: [UInt8], of id: UInt8) {
    self.bytes = bytes
    stream.reserveCapacity(bytes.count)
    var at = 0
    while at + 9 <= bytes.count {
      guard bytes[at] == 0, bytes[at + 1] == 0, bytes[at + 2] == 1, bytes[at + 3] >= 0xb9 else {
        at += 1
        continue
      }
      switch bytes[at + 3] {
      case 0xb9: at += 4
      case 0xba:
        guard at + 14 <= bytes.count else { return }
        at += bytes[at + 4] >> 6 == 1 ? 14 + Int(bytes[at + 13] & 7) : 12
      default:
        let end = min(bytes.count, at + 6 + Int(bytes[at + 4]) << 8 + Int(bytes[at + 5]))
        if bytes[at + 3] == id {
          packets.append((at, stream.count))
          let start = contents(of: at + 6)
          if start < end { stream += bytes[start..<end] }
        }
        at = end
      }
    }
  }

  /// Returns where the contents of a packet begin whose header continues at `at`, in MPEG-1's form, too.
  private func contents(of at: Int) -> Int {
    if bytes[at] >> 6 == 2 { return at + 3 + Int(bytes[at + 2]) }
    var at = at
    func byte() -> UInt8 { at < bytes.count ? bytes[at] : 0 }
    while byte() == 0xff { at += 1 }
    if byte() >> 6 == 1 { at += 2 }
    return at + (byte() >> 4 == 2 ? 5 : byte() >> 4 == 3 ? 10 : 1)
  }

  /// The coding by the first start code, that of a sequence, a parameter set or a delimiter; nil for any other.
  var coding: Coding? {
    guard let at = startCode(from: 0), at + 4 < stream.count else { return nil }
    switch (stream[at + 3], stream[at + 4]) {
    case (0xb3, _): return .mpeg
    case (0x40, 1), (0x42, 1), (0x46, 1): return .hevc
    case (9, _), (0x27, _), (0x47, _), (0x67, _): return .h264
    default: return nil
    }
  }

  private func unit(at: Int, _ coding: Coding) -> Unit {
    let (type, next) = (stream[at], stream[at + 1])
    switch coding {
    case .mpeg: return type == 0 ? .picture : type < 0xb0 ? .part : .before
    case .h264:
      guard (1...5).contains(type & 0x1f) else { return type & 0x1f == 12 ? .part : .before }
      // The first macroblock of a first slice is 0, which is coded as a single bit.
      return next & 0x80 != 0 ? .picture : .part
    case .hevc:
      guard type >> 1 < 32 else { return [36, 37, 38, 40].contains(type >> 1) ? .part : .before }
      return stream[at + 2] & 0x80 != 0 ? .picture : .part
    }
  }

  private func startCode(from start: Int) -> Int? {
    var at = start
    while at + 5 < stream.count {
      switch stream[at + 2] {
      case 0: at += 1
      case 1 where stream[at] == 0 && stream[at + 1] == 0: return at
      default: at += 3
      }
    }
    return nil
  }

  /// Returns how many pictures begin before the packet at `place`, and how many in it and behind it.
  func counts(from place: Int, _ coding: Coding) -> (before: Int, behind: Int) {
    guard let packet = packets.first(where: { $0.place >= place }) else { return (0, 0) }
    var (before, behind, start, next): (Int, Int, Int?, Int) = (0, 0, nil, 0)
    while let at = startCode(from: next) {
      next = at + 3
      let unit = unit(at: at + 3, coding)
      // What precedes a picture belongs to it, and so does the zero before a start code.
      let begin = start ?? (at > 0 && stream[at - 1] == 0 ? at - 1 : at)
      if unit == .picture, begin < packet.start { before += 1 } else if unit == .picture { behind += 1 }
      start = unit == .before ? begin : nil
    }
    return (before, behind)
  }
}
