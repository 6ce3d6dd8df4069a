/// Elements of an EBML document (RFC 8794), such as Matroska.
enum EBML {
  static func element(_ id: Int, _ content: [UInt8]) -> [UInt8] {
    element(id, claiming: content.count) + content
  }

  /// Only the beginning of an element that claims this size, written in eight bytes.
  static func element(_ id: Int, claiming size: Int) -> [UInt8] {
    identifier(id) + [0x01] + be64(size).dropFirst()
  }

  static func number(_ id: Int, _ value: Int) -> [UInt8] { element(id, be64(value)) }
  static func text(_ id: Int, _ value: String) -> [UInt8] { element(id, Array(value.utf8)) }
  static func real(_ id: Int, _ value: Double) -> [UInt8] {
    element(id, be64(Int(truncatingIfNeeded: value.bitPattern)))
  }

  private static func identifier(_ id: Int) -> [UInt8] {
    Array(be64(id).suffix((71 - id.leadingZeroBitCount) / 8))
  }

  static let header = element(
    0x1A45_DFA3,
    number(0x4286, 1) + number(0x42F7, 1) + number(0x42F2, 4) + number(0x42F3, 8) + text(0x4282, "matroska")
      + number(0x4287, 4) + number(0x4285, 2))

  /// A Matroska file with these elements in its segment.
  static func file(_ elements: [UInt8]) -> [UInt8] { header + element(0x1853_8067, elements) }

  static func info(_ duration: Double = 1000, title: [UInt8]? = nil) -> [UInt8] {
    element(
      0x1549_A966,
      number(0x2AD7B1, 1_000_000) + real(0x4489, duration) + (title.map { element(0x7BA9, $0) } ?? []))
  }

  /// A VP8 track, which needs no header of its own.
  static func track(_ number: Int, width: Int = 320, height: Int = 240, more: [UInt8] = []) -> [UInt8] {
    let picture = element(0xE0, self.number(0xB0, width) + self.number(0xBA, height) + more)
    return element(
      0xAE,
      self.number(0xD7, number) + self.number(0x73C5, number) + self.number(0x83, 1) + text(0x86, "V_VP8")
        + picture)
  }

  static func tracks(_ content: [UInt8]) -> [UInt8] { element(0x1654_AE6B, content) }

  /// A cluster with one VP8 key frame, whose header is real up to the size (RFC 6386, 9.1).
  static let cluster: [UInt8] = {
    let frame: [UInt8] = [0x10, 0x02, 0x00, 0x9D, 0x01, 0x2A, 0x40, 0x01, 0xF0, 0x00]
    return element(
      0x1F43_B675,
      number(0xE7, 0) + element(0xA3, [0x81, 0, 0, 0x80] + frame + Array(repeating: 0, count: 64)))
  }()
}
