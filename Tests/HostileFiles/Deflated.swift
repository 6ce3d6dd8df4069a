/// A zlib stream (RFC 1950) of some bytes and then very many zeros: about 158 of them take one byte.
struct Deflated {
  private var bits: [UInt8] = []
  private var filled = 8

  /// `start`, one zero, and then `zeros` more, rounded down to a multiple of 258.
  static func stream(_ start: [UInt8], zeros: Int) -> [UInt8] {
    var stream = Deflated()
    // One final block with fixed codes (RFC 1951, 3.2.6).
    stream.put([true, true, false])
    for byte in start + [0] { stream.putLiteral(byte) }
    let runs = zeros / 258
    // Eight runs take 13 whole bytes, so all runs but the first sixteen can be copies of these bytes.
    let copies = max(0, runs - 16) / 8
    for _ in 0..<min(16, runs) { stream.putRun() }
    stream.repeatLastBytes(13, times: copies)
    for _ in 0..<max(0, runs - 16) % 8 { stream.putRun() }
    stream.put(Array(repeating: false, count: 7))
    return [0x78, 0x9C] + stream.bits + checksum(start, zeros: runs * 258 + 1)
  }

  /// The previous byte 258 times more: length 258 is symbol 285, 11000101; distance 1 is symbol 0, 00000.
  private mutating func putRun() {
    put([true, true, false, false, false, true, false, true, false, false, false, false, false])
  }

  /// Repeats the last whole bytes; a byte that is not full stays the last.
  private mutating func repeatLastBytes(_ count: Int, times: Int) {
    guard times > 0 else { return }
    let whole = bits.count - (filled < 8 ? 1 : 0)
    let period = Array(bits[(whole - count)..<whole])
    bits.insert(contentsOf: repeated(period, times), at: whole)
  }

  private mutating func putLiteral(_ byte: UInt8) {
    let (code, length) = byte < 144 ? (0x30 + Int(byte), 8) : (0x190 + Int(byte) - 144, 9)
    put((0..<length).map { code >> (length - 1 - $0) & 1 == 1 })
  }

  private mutating func put(_ values: [Bool]) {
    for value in values {
      if filled == 8 {
        bits.append(0)
        filled = 0
      }
      if value { bits[bits.count - 1] |= 1 << UInt8(filled) }
      filled += 1
    }
  }

  /// Adler-32.
  private static func checksum(_ start: [UInt8], zeros: Int) -> [UInt8] {
    var low = 1
    var high = 0
    for byte in start {
      low = (low + Int(byte)) % 65_521
      high = (high + low) % 65_521
    }
    high = (high + zeros * low) % 65_521
    return be32(high << 16 | low)
  }
}
