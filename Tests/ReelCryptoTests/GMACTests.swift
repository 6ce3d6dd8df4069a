import ReelCrypto
import ReelTestSupport
import Testing

@Suite(.shortTime) struct GMACTests {
  private func tag(_ bytes: [UInt8], _ key: GMAC.Key, pieces: (Int) -> Int = { $0 }) -> [UInt8] {
    var gmac = GMAC(key)
    var rest = bytes[...]
    while !rest.isEmpty {
      let piece = rest.prefix(max(1, pieces(rest.count)))
      gmac.update(data: piece)
      rest = rest.dropFirst(piece.count)
    }
    return gmac.finalize()
  }

  @Test("a tag depends on the bytes and the key, not on how the bytes are split")
  func tags() {
    var random = SplitMix64(seed: 15)
    for _ in 0..<200 {
      let bytes = (0..<Int.random(in: 1...700, using: &random)).map { _ in
        UInt8.random(in: .min ... .max, using: &random)
      }
      let key = GMAC.Key()
      let whole = tag(bytes, key)
      #expect(whole.count == 16)
      #expect(tag(bytes, key) { _ in Int.random(in: 1...150, using: &random) } == whole)
      var other = bytes
      other[Int.random(in: bytes.indices, using: &random)] ^= 1 << UInt8.random(in: 0...7, using: &random)
      #expect(tag(other, key) != whole)
      #expect(tag(bytes + [0], key) != whole && tag(Array(bytes.dropLast()), key) != whole)
      #expect(tag(bytes, GMAC.Key()) != whole)
    }
  }
}
