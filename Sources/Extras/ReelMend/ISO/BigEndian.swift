extension Collection where Element == UInt8, Index == Int {
  /// Returns the 32-bit number at `offset` from the beginning. Bytes beyond the end count as zeros.
  func bigEndian32(at offset: Int) -> UInt32 {
    var number: UInt32 = 0
    for place in offset..<offset + 4 {
      let byte = place < count ? self[startIndex + place] : 0
      number = number << 8 | UInt32(byte)
    }
    return number
  }

  /// The same for 64 bits.
  func bigEndian64(at offset: Int) -> UInt64 {
    UInt64(bigEndian32(at: offset)) << 32 | UInt64(bigEndian32(at: offset + 4))
  }

  /// The same for 16 bits.
  func bigEndian16(at offset: Int) -> UInt16 {
    UInt16(truncatingIfNeeded: bigEndian32(at: offset) >> 16)
  }
}

extension [UInt8] {
  mutating func appendBigEndian<Number: FixedWidthInteger>(_ number: Number) {
    Swift.withUnsafeBytes(of: number.bigEndian) { append(contentsOf: $0) }
  }

  /// Writes `number` at `offset`, if there is room for it.
  mutating func setBigEndian<Number: FixedWidthInteger>(_ number: Number, at offset: Int) {
    let width = MemoryLayout<Number>.size
    guard offset >= 0, offset + width <= count else { return }
    for place in 0..<width {
      self[offset + place] = UInt8(truncatingIfNeeded: number >> Number(8 * (width - 1 - place)))
    }
  }
}
