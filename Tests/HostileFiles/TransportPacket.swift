/// Packets of an MPEG transport stream (ISO/IEC 13818-1, 2.4).
enum TransportPacket {
  /// A section as a series of packets on `pid`, with its checksum.
  static func table(_ pid: Int, _ section: [UInt8]) -> [UInt8] {
    var rest = ([0] + section + checksum(section))[...]
    var packets: [UInt8] = []
    var counter = 0
    while !rest.isEmpty {
      let content = rest.prefix(184)
      rest = rest.dropFirst(184)
      packets += header(pid, starts: counter == 0, counter) + content
      packets += Array(repeating: 0xFF, count: 184 - content.count)
      counter += 1
    }
    return packets
  }

  /// A program association section; the map of program n is on PID 0x20 + n.
  static func programs(_ count: Int) -> [UInt8] {
    section(0, 1, (0..<count).flatMap { be16($0 + 1) + be16(0xE000 | (0x20 + $0)) })
  }

  /// A program map section with H.264 streams on 180 PIDs of its own.
  static func streams(of program: Int, count: Int) -> [UInt8] {
    let first = 0x100 + 180 * program
    let streams = (0..<count).flatMap {
      [UInt8(0x1B)] + be16(0xE000 | min(0x1FFE, first + $0)) + be16(0xF000)
    }
    return section(2, program + 1, be16(0xE000 | first) + be16(0xF000) + streams)
  }

  static func picture(_ pid: Int) -> [UInt8] {
    header(pid, starts: true, 0) + [0, 0, 1, 0xE0, 0, 0, 0x80, 0, 0] + Array(repeating: 0xFF, count: 175)
  }

  private static func header(_ pid: Int, starts: Bool, _ counter: Int) -> [UInt8] {
    [0x47] + be16((starts ? 0x4000 : 0) | pid) + [0x10 | UInt8(counter & 15)]
  }

  private static func section(_ table: UInt8, _ number: Int, _ content: [UInt8]) -> [UInt8] {
    [table] + be16(0xB000 | (content.count + 9)) + be16(number) + [0xC1, 0, 0] + content
  }

  /// CRC-32 of ISO/IEC 13818-1, annex A.
  private static func checksum(_ bytes: [UInt8]) -> [UInt8] {
    var remainder: UInt32 = 0xFFFF_FFFF
    for byte in bytes {
      remainder ^= UInt32(byte) << 24
      for _ in 0..<8 { remainder = remainder << 1 ^ (remainder & 0x8000_0000 == 0 ? 0 : 0x04C1_1DB7) }
    }
    return be32(Int(remainder))
  }
}
