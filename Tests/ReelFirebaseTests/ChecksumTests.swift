import Testing

@testable import ReelRemoteStorage

/// CRC-32C against published values.
@Suite struct ChecksumTests {
  /// RFC 3720, B.4, and the check value of the catalogue of CRCs ("123456789").
  @Test(
    "published vectors match",
    arguments: [
      ([UInt8](repeating: 0, count: 32), 0x8A91_36AA), ([UInt8](repeating: 0xFF, count: 32), 0x62A8_AB43),
      ((0..<32).map { UInt8($0) }, 0x46DD_794E), ((0..<32).map { UInt8(31 - $0) }, 0x113F_DB5C),
      (Array("123456789".utf8), 0xE306_9283), ([], 0),
    ] as [([UInt8], UInt32)])
  func vectors(_ bytes: [UInt8], _ value: UInt32) {
    var crc = CRC32C()
    crc.update(bytes)
    #expect(crc.value == value)
  }

  @Test("the checksum does not depend on how the bytes are split")
  func pieces() {
    let bytes = (0..<1000).map { UInt8(truncatingIfNeeded: $0 &* 37 ^ $0 >> 3) }
    var whole = CRC32C()
    whole.update(bytes)
    for size in 1...40 {
      var crc = CRC32C()
      for start in stride(from: 0, to: bytes.count, by: size) {
        crc.update(Array(bytes[start...].prefix(size)))
      }
      #expect(crc == whole, "in pieces of \(size)")
    }
  }

  /// The example in Cloud Storage's documentation of x-goog-hash: that of an empty object.
  @Test("the checksum is written in Cloud Storage's notation")
  func text() {
    #expect(CRC32C().text == "AAAAAA==")
    var crc = CRC32C()
    crc.update(Array("123456789".utf8))
    #expect(crc.text == "4waSgw==")
  }
}
