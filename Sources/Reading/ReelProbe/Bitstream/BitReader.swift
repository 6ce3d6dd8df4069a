/// A reader of the bits of a parameter set or a frame's header. What is read returns nil beyond the last bit.
struct BitReader {
  private let bytes: [UInt8]
  private var position = 0

  /// Creates a reader of a NAL unit's payload that still has its emulation prevention bytes.
  init(escaped payload: some Sequence<UInt8>) {
    bytes = Self.unescaped(payload)
  }

  /// Returns a NAL unit's payload without its emulation prevention bytes (ITU-T H.264, 7.4.1): the 3 of each 0 0 3 is
  /// removed.
  static func unescaped(_ payload: some Sequence<UInt8>) -> [UInt8] {
    var (bytes, zeros): ([UInt8], Int) = ([], 0)
    for byte in payload {
      if zeros >= 2, byte == 3 {
        zeros = 0
        continue
      }
      zeros = byte == 0 ? zeros + 1 : 0
      bytes.append(byte)
    }
    return bytes
  }

  /// Creates a reader of bytes that are not escaped, as in VP9 and AV1.
  init(_ bytes: some Sequence<UInt8>) {
    self.bytes = Array(bytes)
  }

  /// Reads u(n): a number of at most 32 bits.
  mutating func bits(_ count: Int) -> UInt32? {
    guard count <= 32, position + count <= bytes.count * 8 else { return nil }
    var value: UInt32 = 0
    for _ in 0..<count {
      let bit = bytes[position / 8] >> UInt8(7 - position % 8) & 1
      value = value << 1 | UInt32(bit)
      position += 1
    }
    return value
  }

  /// Reads u(1).
  mutating func flag() -> Bool? { bits(1).map { $0 == 1 } }

  /// Reads ue(v): an Exp-Golomb number (9.1) below 2^31.
  mutating func unsigned() -> Int? {
    var zeros = 0
    while true {
      guard let bit = flag() else { return nil }
      if bit { break }
      zeros += 1
      guard zeros < 31 else { return nil }
    }
    guard let rest = bits(zeros) else { return nil }
    return (1 << zeros) - 1 + Int(rest)
  }

  /// Reads se(v).
  mutating func signed() -> Int? {
    unsigned().map { $0 % 2 == 1 ? ($0 + 1) / 2 : -$0 / 2 }
  }

  /// Skips a number of bits. Returns false if fewer are left.
  mutating func skipBits(_ count: Int) -> Bool {
    guard count >= 0, count <= bytes.count * 8 - position else { return false }
    position += count
    return true
  }

  /// Skips a number of bytes. Returns false if fewer are left.
  mutating func skipBytes(_ count: Int) -> Bool {
    count >= 0 && count <= bytes.count && skipBits(8 * count)
  }

  /// Skips a number of ue(v) or se(v), which are equally long. Returns false if one cannot be read.
  mutating func skipNumbers(_ count: Int) -> Bool {
    for _ in 0..<count where unsigned() == nil { return false }
    return true
  }

  /// Skips the rest of a byte that was partly read.
  mutating func align() -> Bool { skipBits((8 - position % 8) % 8) }
}
