/// The packets of a program stream, or of a part of one, without pack headers (ISO/IEC 13818-1, 2.5.3; 11172-1, 2.4.3).
struct ProgramPackets<Bytes: RandomAccessCollection>: Sequence, IteratorProtocol
where Bytes.Element == UInt8, Bytes.Index == Int {
  struct Packet {
    /// What it holds (ISO/IEC 13818-1, 2.4.3.7).
    let id: UInt8
    let start: Int
    /// Where it ends by its own account, which may be beyond the bytes.
    let end: Int
  }

  /// The size of a pack header without stuffing, of which nothing shorter is looked at.
  private static var least: Int { 14 }
  private let bytes: Bytes
  private var at: Int

  init(_ bytes: Bytes) {
    (self.bytes, at) = (bytes, bytes.startIndex)
  }

  mutating func next() -> Packet? {
    while at + Self.least <= bytes.endIndex {
      let (start, id) = (at, bytes[at + 3])
      guard bytes[at] == 0, bytes[at + 1] == 0, bytes[at + 2] == 1, id >= 0xb9 else {
        at += 1
        continue
      }
      switch id {
      case 0xb9: at += 4
      case 0xba: at += bytes[at + 4] >> 6 == 1 ? Self.least + Int(bytes[at + 13] & 7) : 12
      default:
        at += 6 + (Int(bytes[at + 4]) << 8 | Int(bytes[at + 5]))
        return Packet(id: id, start: start, end: at)
      }
    }
    return nil
  }
}
