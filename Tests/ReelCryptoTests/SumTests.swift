import CDigest
import ReelCore
import ReelCrypto
import ReelTestSupport
import Testing

/// Every implementation of CRC-64/NVME is compared with the definition and the published check values.
@Suite(.shortTime) struct SumTests {
  /// Computes it bit by bit from the published polynomial (NVM Express NVM Command Set Specification, "64b CRC").
  private func defined(_ bytes: some Sequence<UInt8>) -> UInt64 {
    var register = UInt64.max
    for byte in bytes {
      for bit in 0..<8 {
        let isOdd = register >> 63 != UInt64(byte >> bit & 1)
        register = register << 1 ^ (isOdd ? 0xAD93_D235_94C9_3659 : 0)
      }
    }
    // Input and output are reflected.
    return (0..<64).reduce(0) { $0 | (register >> $1 & 1) << (63 - $1) } ^ .max
  }

  private func sum(_ bytes: some Sequence<UInt8>) -> UInt64 {
    var sum = CRC64()
    sum.update(data: bytes)
    return sum.sum
  }

  @Test("published check values match")
  func published() {
    // From the catalogue of CRCs, then the NVMe specification's blocks of 4 KiB.
    for (bytes, expected) in [
      (Array("123456789".utf8), 0xAE8B_1486_0A79_9888), ([], 0),
      ([UInt8](repeating: 0, count: 4096), 0x6482_D367_EB22_B64E),
      ([UInt8](repeating: 0xFF, count: 4096), 0xC0DD_BA73_02EC_A3AC),
      ((0..<4096).map { UInt8(truncatingIfNeeded: $0) }, 0x3E72_9F5F_6750_449C),
      ((0..<4096).map { UInt8(truncatingIfNeeded: 255 - $0) }, 0x9A2D_F64B_8E9E_517E),
    ] as [([UInt8], UInt64)] {
      #expect(sum(bytes) == expected && defined(bytes) == expected)
    }
    #expect(CRC64.bytes(of: 0x0102_0304_0506_0708) == [1, 2, 3, 4, 5, 6, 7, 8])
  }

  @Test("random bytes match at any offset, in any pieces, with and without carry-less multiplication")
  func random() {
    var random = SplitMix64(seed: 64)
    let bytes = random.bytes(5000)
    for _ in 0..<400 {
      let start = Int.random(in: 0..<300, using: &random)
      let text = bytes[start..<(start + Int.random(in: 0...1500, using: &random))]
      let expected = defined(text)
      #expect(sum(text) == expected)
      text.withUnsafeBytes { #expect(reel_crc64_by_table(0, $0.baseAddress, $0.count) == expected) }
      var (pieces, rest) = (CRC64(), text)
      while !rest.isEmpty {
        let piece = rest.prefix(Int.random(in: 1...700, using: &random))
        pieces.update(data: piece)
        rest = rest.dropFirst(piece.count)
      }
      #expect(pieces.sum == expected)
    }
  }

  @Test("sums of blocks combine to that of any range of blocks, and of no other")
  func blocks() {
    let block = Int(BlockSums.blockSize)
    var random = SplitMix64(seed: 65)
    for size in [0, 1, block - 1, block, block + 1, 3 * block, 5 * block + 7] {
      let bytes = random.bytes(size)
      var (summing, rest) = (BlockSumming(), bytes[...])
      while !rest.isEmpty {
        let piece = rest.prefix(Int.random(in: 1...(block / 2), using: &random))
        piece.withUnsafeBytes { summing.update(bufferPointer: $0) }
        rest = rest.dropFirst(piece.count)
      }
      let sums = summing.finalize()
      #expect(sums.size == size && sums.whole == sum(bytes))
      for first in stride(from: 0, to: size, by: block) {
        for end in stride(from: first + block, to: size, by: block) + [size] {
          #expect(sums.sum(of: Int64(first)..<Int64(end)) == sum(bytes[first..<end]))
        }
      }
      #expect(sums.sum(of: 0..<Int64(size + 1)) == nil)
      #expect(sums.sum(of: 1..<Int64(max(1, size))) == nil)
      if size % block > 1 { #expect(sums.sum(of: 0..<Int64(size - 1)) == nil) }
    }
  }
}

@Suite(.shortTime) struct MD5LaneTests {
  @Test("digests computed together equal those computed alone, whatever their lengths and pieces")
  func together() async {
    await withTaskGroup(of: Bool.self) { group in
      for seed in 0..<11 {
        group.addTask {
          var random = SplitMix64(seed: UInt64(seed))
          let bytes = random.bytes(Int.random(in: 0...600_000, using: &random))
          var (digest, rest) = (Insecure.MD5(), bytes[...])
          while !rest.isEmpty {
            // Some pieces are whole blocks, some not.
            let piece = rest.prefix(
              Bool.random(using: &random)
                ? 64 * Int.random(in: 1...2000, using: &random) : Int.random(in: 1...9000, using: &random))
            piece.withUnsafeBytes { digest.updateWithOthers(bufferPointer: $0) }
            rest = rest.dropFirst(piece.count)
          }
          return digest.finalize() == Insecure.MD5.hash(data: bytes)
        }
      }
      for await isRight in group { #expect(isRight) }
    }
  }

  @Test("four lanes compute four digests", arguments: [0, 55, 56, 200, 4000])
  func lanes(_ length: Int) {
    var random = SplitMix64(seed: UInt64(length))
    let texts = (0..<4).map { _ in random.bytes(length) }
    // RFC 1321, 3.1 and 3.2.
    let padded = texts.map { text in
      let zeros = [UInt8](repeating: 0, count: (119 - text.count % 64) % 64)
      return text + [0x80] + zeros + withUnsafeBytes(of: UInt64(8 * text.count).littleEndian) { Array($0) }
    }
    let size = padded[0].count
    // RFC 1321, 3.3.
    let start: [UInt32] = [0x6745_2301, 0xEFCD_AB89, 0x98BA_DCFE, 0x1032_5476]
    var states = Array(repeatElement(start, count: 4).joined())
    Array(padded.joined()).withUnsafeBufferPointer { bytes in
      states.withUnsafeMutableBufferPointer { states in
        reel_md5_four(
          (0..<4).compactMap { states.baseAddress?.advanced(by: 4 * $0) },
          (0..<4).compactMap { bytes.baseAddress?.advanced(by: size * $0) }, size / 64)
      }
    }
    for (lane, text) in texts.enumerated() {
      let digest = states[(4 * lane)..<(4 * lane + 4)].flatMap { word in
        withUnsafeBytes(of: word.littleEndian) { Array($0) }
      }
      #expect(digest == Insecure.MD5.hash(data: text))
    }
  }
}
