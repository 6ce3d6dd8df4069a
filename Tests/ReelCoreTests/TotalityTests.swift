import ReelCore
import ReelTestSupport
import Testing

/// Any bytes have a verdict. A trap would end the test run, so these tests need few expectations.
@Suite("no bytes make the sniffer trap")
struct TotalityTests {
  @Test("known heads cut at every length do not trap")
  func cuts() {
    for known in KnownHead.containers + KnownHead.refusals {
      for length in 0...min(known.bytes.count, 400) {
        _ = Sniffer.verdict(head: Array(known.bytes.prefix(length)), size: Int64(known.bytes.count))
      }
    }
  }

  @Test("known heads with changed bytes do not trap", arguments: [1, 2, 3, 4] as [UInt64])
  func mutations(seed: UInt64) {
    var random = SplitMix64(seed: seed)
    for known in KnownHead.containers + KnownHead.refusals {
      for _ in 0..<60 {
        var bytes = Array(known.bytes.prefix(2000))
        for _ in 0..<Int.random(in: 1...6, using: &random) {
          guard let index = bytes.indices.randomElement(using: &random) else { continue }
          bytes[index] =
            [0, 1, 0x7F, 0x80, 0xFF, UInt8.random(in: 0...255, using: &random)].randomElement(using: &random)
            ?? 0
        }
        _ = Sniffer.verdict(head: bytes, size: .random(in: .min ... .max, using: &random))
      }
    }
  }

  @Test("random bytes do not trap", arguments: [11, 12, 13] as [UInt64])
  func noise(seed: UInt64) {
    var random = SplitMix64(seed: seed)
    for _ in 0..<300 {
      let bytes = (0..<Int.random(in: 0...3000, using: &random)).map { _ in
        UInt8.random(in: 0...255, using: &random)
      }
      _ = Sniffer.verdict(head: bytes, size: Int64(bytes.count))
    }
  }

  @Test("a byte of any value does not trap, alone or repeated")
  func singleBytes() {
    for value in UInt8.min ... .max {
      _ = Sniffer.verdict(head: [value], size: 1)
      _ = Sniffer.verdict(head: [UInt8](repeating: value, count: 4096), size: 4096)
    }
  }

  @Test("extreme values for the numbers in a head do not trap")
  func hugeNumbers() {
    let baits: [[UInt8]] = [
      [0x1A, 0x45, 0xDF, 0xA3, 0x01, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x42, 0x82, 0x01]
        + [UInt8](repeating: 0xFF, count: 16),
      [0x1A, 0x45, 0xDF, 0xA3, 0xFF, 0x42, 0x82, 0xFF, 0x41],
      [0, 0, 0, 1] + Array("mdat".utf8) + [UInt8](repeating: 0xFF, count: 8),
      [0xFF, 0xFF, 0xFF, 0xFF] + Array("free".utf8),
      Array("ID3".utf8) + [4, 0, 0x10, 0x7F, 0x7F, 0x7F, 0x7F],
      [0xFF, 0xF1, 0, 3, 0xFF, 0xFF, 0xFF],
    ]
    for bait in baits { _ = Sniffer.verdict(head: bait, size: .max) }
  }
}
