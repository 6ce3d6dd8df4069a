/// Ogg's pages, rewritten (RFC 3533, 6).
enum OggPages {
  /// The same without the packets that hold nothing.
  static func withoutEmptyPackets(_ bytes: [UInt8]) -> [UInt8] {
    pages(of: bytes).flatMap { page in
      let lengths = page[27..<(27 + Int(page[26]))]
      // After 255 a packet goes on, and 0 ends it; so does the first one where the page continues a packet.
      var kept: [UInt8] = []
      var goesOn = page[5] & 1 != 0
      for length in lengths {
        if length > 0 || goesOn { kept.append(length) }
        goesOn = length == 255
      }
      let contents = page[(27 + lengths.count)...]
      return sealed(Array(page[..<26]) + [UInt8(kept.count)] + kept + contents)
    }
  }

  /// The last page of the first stream ends so many pictures later, of whose granules the low bits count from a key frame.
  static func delayingLastPicture(_ bytes: [UInt8], by count: UInt64) -> [UInt8] {
    var pages = pages(of: bytes)
    let stream = pages[0][14..<18]
    guard let last = pages.lastIndex(where: { $0[14..<18].elementsEqual(stream) && $0[26] > 0 }) else {
      return bytes
    }
    var granule = pages[last][6..<14].reversed().reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
    let shift = UInt64(bytes[28 + 40] & 3) << 3 | UInt64(bytes[28 + 41] >> 5)
    granule += count << shift
    for index in 0..<8 { pages[last][6 + index] = UInt8(truncatingIfNeeded: granule >> (8 * UInt64(index))) }
    pages[last] = sealed(pages[last])
    return pages.flatMap { $0 }
  }

  private static func pages(of bytes: [UInt8]) -> [[UInt8]] {
    var pages: [[UInt8]] = []
    var at = 0
    while at + 27 <= bytes.count {
      let count = Int(bytes[at + 26])
      let end = at + 27 + count + bytes[(at + 27)..<(at + 27 + count)].reduce(0) { $0 + Int($1) }
      pages.append(Array(bytes[at..<end]))
      at = end
    }
    return pages
  }

  /// With its checksum: the polynomial 04C11DB7, from 0, highest bit first.
  private static func sealed(_ page: [UInt8]) -> [UInt8] {
    var page = page
    page.replaceSubrange(22..<26, with: [0, 0, 0, 0])
    var sum: UInt32 = 0
    for byte in page {
      sum ^= UInt32(byte) << 24
      for _ in 0..<8 { sum = sum & 0x8000_0000 != 0 ? sum << 1 ^ 0x04C1_1DB7 : sum << 1 }
    }
    for index in 0..<4 { page[22 + index] = UInt8(truncatingIfNeeded: sum >> (8 * UInt32(index))) }
    return page
  }
}
