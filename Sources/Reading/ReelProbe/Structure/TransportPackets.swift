/// The packets of an MPEG transport stream (ISO/IEC 13818-1, 2.4.3).
enum TransportPackets {
  /// The streams of which packets in the first stretch of the file are scrambled, by their identifiers; nil when there
  /// are none in step.
  ///
  /// - Parameter isM2TS: whether four bytes of time stand before each packet.
  static func scrambled(_ file: some ByteReading, isM2TS: Bool) -> Set<Int>? {
    let stride = isM2TS ? 192 : 188
    let head = file.bytes(at: 0, count: stride * 2048)
    guard var next = firstPacket(head, stride) else { return nil }
    var found: Set<Int> = []
    while next + 4 <= head.count, head[next] == sync {
      let (hasPayload, scrambling) = (head[next + 3] & 0x10 != 0, head[next + 3] >> 6)
      if hasPayload, scrambling > 1 { found.insert(Int(head[next + 1] & 0x1f) << 8 | Int(head[next + 2])) }
      next += stride
    }
    return found
  }

  private static let sync: UInt8 = 0x47

  /// Where the first of four packets in step begins.
  static func firstPacket(_ head: [UInt8], _ stride: Int) -> Int? {
    (0..<min(stride, head.count)).first { start in
      (0..<4).allSatisfy { start + $0 * stride < head.count && head[start + $0 * stride] == sync }
    }
  }
}
