/// MPEG transport streams (ISO/IEC 13818-1, 2.4.3.2): packets that begin with 0x47, every 188 bytes; every
/// 192 with a time stamp before each (Blu-ray, AVCHD); every 204 with error correction after each.
enum TransportStream {
  /// How many packets in a row make a stream whose beginning was cut within a packet.
  private static let manyPackets = 8
  /// How many do where the first packet stands where it should.
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

  /// The layout of a stream that was cut within its first packet.
  private static func cutLayout(_ head: FilePrefix) -> (size: Int, prefix: Int, container: MediaContainer)? {
    layouts.first { layout in
      (0..<layout.size).contains { start in
        run(head, from: start, size: layout.size, limit: manyPackets) >= manyPackets
      }
    }
  }

  /// How many packets follow one another from `start` on, counted up to `limit`.
  private static func run(_ head: FilePrefix, from start: Int, size: Int, limit: Int) -> Int {
    var count = 0
    while count < limit, isPacket(head, at: start + count * size) { count += 1 }
    return count
  }

  /// The sync byte, no transport error, and an adaptation field or a payload: what FFmpeg's probe asks for.
  private static func isPacket(_ head: FilePrefix, at offset: Int) -> Bool {
    guard head.byte(offset) == 0x47, let flags = head.byte(offset + 1), let control = head.byte(offset + 3)
    else { return false }
    return flags & 0x80 == 0 && control & 0x30 != 0
  }
}
