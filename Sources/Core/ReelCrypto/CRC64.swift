import CDigest
import ReelCore

/// CRC-64/NVME. It is not a cryptographic digest: anybody can construct other bytes with the same checksum. It
/// detects damage by a disk, memory or a network at a fifteenth of the cost of SHA-256.
package struct CRC64: RunningHash {
  /// The checksum of all bytes so far.
  package private(set) var sum: UInt64 = 0

  package init() {}

  package mutating func update(bufferPointer: UnsafeRawBufferPointer) {
    sum = reel_crc64(sum, bufferPointer.baseAddress, bufferPointer.count)
  }

  /// ``sum``, most significant byte first, as in `x-amz-checksum-crc64nvme`.
  package func finalize() -> [UInt8] { Self.bytes(of: sum) }

  package static func bytes(of sum: UInt64) -> [UInt8] { withUnsafeBytes(of: sum.bigEndian) { Array($0) } }
}

/// Computes ``BlockSums`` of bytes that arrive in pieces.
package struct BlockSumming: Sendable {
  private var sums: [UInt64] = []
  private var block = CRC64()
  private var size: Int64 = 0

  package init() {}

  package mutating func update(bufferPointer bytes: UnsafeRawBufferPointer) {
    var rest = bytes[...]
    while !rest.isEmpty {
      let piece = rest.prefix(Int(BlockSums.blockSize - size % BlockSums.blockSize))
      block.update(bufferPointer: UnsafeRawBufferPointer(rebasing: piece))
      rest = rest.dropFirst(piece.count)
      size += Int64(piece.count)
      if size % BlockSums.blockSize == 0 { endBlock() }
    }
  }

  private mutating func endBlock() {
    sums.append(block.sum)
    block = CRC64()
  }

  /// The checksums of all bytes so far.
  package func finalize() -> BlockSums {
    BlockSums(size: size, sums: size % BlockSums.blockSize == 0 ? sums : sums + [block.sum])
  }
}
