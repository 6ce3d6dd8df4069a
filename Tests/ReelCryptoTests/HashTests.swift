import ReelCrypto
import ReelTestSupport
import Testing

/// Digests are compared with published ones, and with themselves in pieces.
@Suite(.shortTime) struct HashTests {
  private static let abc = Array("abc".utf8)
  private static let twoBlocks = Array("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq".utf8)
  private static let million = [UInt8](repeating: UInt8(ascii: "a"), count: 1_000_000)

  @Test("digests match the examples of FIPS 180-4 and RFC 1321")
  func knownAnswers() {
    for (text, digest) in [
      ([], "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
      (Self.abc, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
      (Self.twoBlocks, "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"),
      (Self.million, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"),
    ] { #expect(hex(SHA256.hash(data: text)) == digest) }
    for (text, digest) in [
      (
        [],
        "cf83e1357eefb8bdf1542850d66d8007d620e4050b5715dc83f4a921d36ce9ce"
          + "47d0d13c5d85f2b0ff8318d2877eec2f63b931bd47417a81a538327af927da3e"
      ),
      (
        Self.abc,
        "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a"
          + "2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f"
      ),
    ] { #expect(hex(SHA512.hash(data: text)) == digest) }
    for (text, digest) in [
      ([], "da39a3ee5e6b4b0d3255bfef95601890afd80709"),
      (Self.abc, "a9993e364706816aba3e25717850c26c9cd0d89d"),
      (Self.twoBlocks, "84983e441c3bd26ebaae4aa1f95129e5e54670f1"),
      (Self.million, "34aa973cd4c4daa4f61eeb2bdbad27316534016f"),
    ] { #expect(hex(Insecure.SHA1.hash(data: text)) == digest) }
    for (text, digest) in [
      ("", "d41d8cd98f00b204e9800998ecf8427e"), ("a", "0cc175b9c0f1b6a831c399e269772661"),
      ("abc", "900150983cd24fb0d6963f7d28e17f72"), ("message digest", "f96b697d7cb7938d525a2f31aaf161d0"),
    ] { #expect(hex(Insecure.MD5.hash(data: Array(text.utf8))) == digest) }
  }

  @Test("pieces of any size have the digest of the whole, and a copy continues independently")
  func pieces() {
    checkPieces(of: SHA256.self)
    checkPieces(of: SHA512.self)
    checkPieces(of: Insecure.SHA1.self)
    checkPieces(of: Insecure.MD5.self)
  }

  private func checkPieces<Hash: HashFunction>(of: Hash.Type) {
    var random = SplitMix64(seed: 15)
    for _ in 0..<200 {
      let bytes = (0..<Int.random(in: 0...700, using: &random)).map { _ in
        UInt8.random(in: .min ... .max, using: &random)
      }
      var hash = Hash()
      var rest = bytes[...]
      while !rest.isEmpty {
        let piece = rest.prefix(Int.random(in: 0...150, using: &random))
        rest = rest.dropFirst(piece.count)
        switch Int.random(in: 0..<3, using: &random) {
        case 0: hash.update(data: piece)
        case 1: hash.update(data: AnySequence(piece))
        default: piece.withUnsafeBytes { hash.update(bufferPointer: $0) }
        }
        #expect(hash.finalize() == Hash.hash(data: bytes.prefix(bytes.count - rest.count)))
        var copy = hash
        copy.update(data: [1, 2, 3])
        #expect(copy.finalize() != hash.finalize())
      }
      #expect(hash.finalize() == Hash.hash(data: bytes))
    }
  }

  @Test("empty buffers change nothing")
  func emptyBuffers() {
    var hash = SHA256()
    hash.update(bufferPointer: UnsafeRawBufferPointer(start: nil, count: 0))
    hash.update(data: [])
    #expect(hash.finalize() == SHA256.hash(data: []))
  }

  @Test("HMAC with SHA-256 and SHA-512 matches RFC 4231")
  func hmac() {
    let key = (key: Array("Jefe".utf8), text: Array("what do ya want for nothing?".utf8))
    let long = [UInt8](repeating: 0xAA, count: 131)
    for (key, text, code) in [
      (
        [UInt8](repeating: 0x0B, count: 20), Array("Hi There".utf8),
        "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"
      ),
      (key.key, key.text, "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"),
      (
        [UInt8](repeating: 0xAA, count: 20), [UInt8](repeating: 0xDD, count: 50),
        "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe"
      ),
      (
        Array(1...25), [UInt8](repeating: 0xCD, count: 50),
        "82558a389a443c0ea4cc819899f2083a85f0faa3e578f8077a2e3ff46729665b"
      ),
      (
        long, Array("Test Using Larger Than Block-Size Key - Hash Key First".utf8),
        "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54"
      ),
      (
        long,
        Array(
          ("This is a test using a larger than block-size key and a larger than block-size data. "
            + "The key needs to be hashed before being used by the HMAC algorithm.").utf8),
        "9b09ffa71b942fcb27635fbcd5b0e944bfdc63644f0713938a7f51535c3a35e2"
      ),
    ] { #expect(hex(HMAC<SHA256>.authenticationCode(for: text, using: key)) == code) }
    #expect(
      hex(HMAC<SHA512>.authenticationCode(for: key.text, using: key.key))
        == "164b7a7bfcf819e2e395fbe73b56e0a387bd64222e831fd610270cd7ea250554"
        + "9758bf75c05a994a6d034f65f8f0e6fdcaeab1a34d4a6b4b636e070a38bce737")
  }

  @Test("HMAC with SHA-1 and MD5 matches RFC 2202")
  func insecureHMAC() {
    let (key, text) = (Array("Jefe".utf8), Array("what do ya want for nothing?".utf8))
    #expect(
      hex(HMAC<Insecure.SHA1>.authenticationCode(for: text, using: key))
        == "effcdf6ae5eb2fa2d27416d5f184df9c259a7c79")
    #expect(
      hex(HMAC<Insecure.MD5>.authenticationCode(for: text, using: key)) == "750c783e6ab0b503eaa86e310a5db738")
  }
}

/// Lowercase hexadecimal digits.
func hex(_ bytes: [UInt8]) -> String {
  bytes.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
}
