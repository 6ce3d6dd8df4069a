/// The CRC-64/NVME of each block of some bytes, computed in the same pass as their digest. A store that verifies
/// such checksums gets the one of each part, or of the whole object, without another pass over the bytes.
package struct BlockSums: Hashable, Sendable {
  /// The size of a block in bytes; the last one may be shorter.
  package static let blockSize: Int64 = 1 << 20

  /// The total size in bytes.
  package let size: Int64
  private let sums: [UInt64]

  /// - Parameter sums: The checksum of each block, as many as `size` bytes have.
  package init(size: Int64, sums: [UInt64]) {
    precondition(Int64(sums.count) == (size + Self.blockSize - 1) / Self.blockSize)
    (self.size, self.sums) = (size, sums)
  }

  /// The checksum of all bytes.
  package var whole: UInt64 { sum(of: sums.indices) }

  /// The checksum of the bytes in `range`; nil unless the range begins and ends at block boundaries.
  package func sum(of range: Range<Int64>) -> UInt64? {
    guard range.lowerBound % Self.blockSize == 0, range.lowerBound >= 0, range.upperBound <= size,
      range.upperBound % Self.blockSize == 0 || range.upperBound == size
    else { return nil }
    let (first, end) = (
      range.lowerBound / Self.blockSize, (range.upperBound + Self.blockSize - 1) / Self.blockSize
    )
    return sum(of: Int(first)..<Int(end))
  }

  private func sum(of blocks: Range<Int>) -> UInt64 {
    blocks.reduce(0) { sum, index in
      let length = min(Self.blockSize, size - Int64(index) * Self.blockSize)
      return CRCArithmetic.product(
        sum, length == Self.blockSize ? Self.oneBlock : CRCArithmetic.power(length))
        ^ sums[index]
    }
  }

  private static let oneBlock = CRCArithmetic.power(blockSize)
}

/// The results of one pass over some bytes: a digest, and the block checksums of exactly the same bytes.
package struct SummedDigest: Hashable, Sendable {
  package let digest: ContentDigest
  package let sums: BlockSums

  package init(digest: ContentDigest, sums: BlockSums) { (self.digest, self.sums) = (digest, sums) }
}

/// Bytes that were hashed and summed in one pass.
package protocol SummedBytes: ByteSource {
  var summedDigest: SummedDigest? { get }
}

/// Polynomials modulo that of CRC-64/NVME (NVM Express, "64b CRC"), with the highest power in the lowest bit. The
/// CRC of two texts in sequence is the CRC of the first times x^(8 × the length of the second), plus the CRC of the
/// second.
private enum CRCArithmetic {
  private static let polynomial: UInt64 = 0x9A6C_9329_AC4B_C9B5
  private static let one: UInt64 = 1 << 63

  static func product(_ a: UInt64, _ b: UInt64) -> UInt64 {
    var (product, factor, rest): (UInt64, UInt64, UInt64) = (0, b, a)
    while rest != 0 {
      if rest & one != 0 { product ^= factor }
      rest <<= 1
      factor = factor & 1 == 0 ? factor >> 1 : factor >> 1 ^ polynomial
    }
    return product
  }

  /// x^(8 × `bytes`).
  static func power(_ bytes: Int64) -> UInt64 {
    var (power, square, rest): (UInt64, UInt64, Int64) = (one, one >> 8, bytes)
    while rest > 0 {
      if rest & 1 != 0 { power = product(power, square) }
      square = product(square, square)
      rest >>= 1
    }
    return power
  }
}
