import ReelCore
import ReelCrypto
import ReelTestSupport
import Synchronization

/// A source in memory.
package struct TestSource: SummedBytes {
  package private(set) var bytes: [UInt8]
  package let digest: ContentDigest
  private var sums: BlockSums?
  package var summedDigest: SummedDigest? { sums.map { SummedDigest(digest: digest, sums: $0) } }
  package var descriptor: Int32? { nil }
  package var isPrivate: Bool { sums != nil }

  /// The same source, private and with its sums, like a private copy.
  package var summed: TestSource {
    var (copy, summing) = (self, BlockSumming())
    bytes.withUnsafeBytes { summing.update(bufferPointer: $0) }
    copy.sums = summing.finalize()
    return copy
  }

  /// A source with the same digest and sums, in whose bytes one bit is flipped.
  package func flipped(at place: Int) -> TestSource {
    var copy = self
    copy.bytes[place] ^= 0x10
    return copy
  }

  /// A source with the same digest and sums, and with other bytes that have the same CRC-64/NVME: its polynomial was
  /// added to those at `place`.
  package func forged(at place: Int) -> TestSource {
    var copy = self
    let polynomial: UInt64 = 0x9A6C_9329_AC4B_C9B5
    for (index, byte) in withUnsafeBytes(of: (polynomial << 1 | 1).littleEndian, Array.init).enumerated() {
      copy.bytes[place + index] ^= byte
    }
    copy.bytes[place + 8] ^= UInt8(polynomial >> 63)
    return copy
  }

  package init(size: Int, seed: UInt8 = 1, claiming digest: ContentDigest? = nil) {
    var draws = SplitMix64(seed: UInt64(seed))
    self.init(bytes: draws.bytes(size), claiming: digest)
  }

  package init(bytes: [UInt8], claiming digest: ContentDigest? = nil) {
    self.bytes = bytes
    guard let actual = ContentDigest(sha256: SHA256.hash(data: bytes)) else {
      preconditionFailure("no SHA-256")
    }
    self.digest = digest ?? actual
  }

  package var upload: UploadSource {
    UploadSource(size: Int64(bytes.count), digest: digest, contentType: "video/mp4", bytes: self)
  }

  package func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws(SourceError) -> Int {
    guard offset < Int64(bytes.count) else { return 0 }
    let part = bytes[Int(offset)...].prefix(buffer.count)
    buffer.copyBytes(from: part)
    return part.count
  }

  package func checkUnchanged() throws(SourceError) {}
}

/// The numbers of bytes that were reported, in order.
package final class SentBytes: Sendable {
  package init() {}

  private let numbers = Mutex<[Int64]>([])
  package var all: [Int64] { numbers.withLock { $0 } }
  package func add(_ number: Int64) { numbers.withLock { $0.append(number) } }
}
