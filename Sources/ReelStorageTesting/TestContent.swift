import ReelCore
import ReelCrypto

/// Bytes that look random, are the same on every run, and never the same for two seeds.
struct TestContent: Sendable {
  let bytes: [UInt8]
  let digest: ContentDigest

  var size: Int64 { Int64(bytes.count) }

  init(size: Int, seed: UInt64 = 1) throws {
    let bytes = Self.bytes(size, seed)
    self.init(bytes: bytes, digest: try Self.digest(of: bytes))
  }

  private init(bytes: [UInt8], digest: ContentDigest) {
    self.bytes = bytes
    self.digest = digest
  }

  /// The same digest, but other bytes: what a file is after it changed.
  func changed() -> TestContent {
    var other = bytes
    if let last = other.indices.last { other[last] ^= 0xFF }
    return TestContent(bytes: other, digest: digest)
  }

  /// The same digest, but cut off in the middle.
  func shrunk() -> TestContent {
    TestContent(bytes: Array(bytes.prefix(bytes.count / 2)), digest: digest)
  }

  /// The same digest and the same bytes, with more behind them.
  func grown() -> TestContent {
    TestContent(bytes: bytes + [1, 2, 3], digest: digest)
  }

  private static func digest(of bytes: [UInt8]) throws -> ContentDigest {
    guard let digest = ContentDigest(sha256: SHA256.hash(data: bytes)) else {
      throw Difference(detail: "SHA-256 gave no digest")
    }
    return digest
  }

  private static func bytes(_ size: Int, _ seed: UInt64) -> [UInt8] {
    var generator = SplitMix64(state: seed)
    let block = (0..<4096).map { _ in UInt8(truncatingIfNeeded: generator.next()) }
    var bytes: [UInt8] = []
    bytes.reserveCapacity(size + block.count)
    while bytes.count < size {
      let start = bytes.count
      bytes.append(contentsOf: block)
      // Stamped with its place, so that blocks in the wrong order show.
      withUnsafeBytes(of: UInt64(start).bigEndian) { stamp in
        for (index, byte) in stamp.enumerated() { bytes[start + index + 1] = byte }
      }
    }
    bytes.removeLast(bytes.count - size)
    return bytes
  }
}

/// Steele, Lea, Flood: Fast splittable pseudorandom number generators (2014).
private struct SplitMix64: RandomNumberGenerator {
  var state: UInt64

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var z = state
    z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
    z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
    return z ^ (z >> 31)
  }
}
