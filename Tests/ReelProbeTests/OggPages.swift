/// The pages of an Ogg file (RFC 3533, 6), which a test may change.
struct OggPages {
  struct Page {
    var bytes: [UInt8]
    /// The stream's serial number.
    var stream: [UInt8] { Array(bytes[14..<18]) }

    /// The granule position; 2^64 - 1 if no packet ends on the page.
    var granule: UInt64 {
      get { (0..<8).reversed().reduce(0) { $0 << 8 | UInt64(bytes[6 + $1]) } }
      set {
        for place in 0..<8 { bytes[6 + place] = UInt8(truncatingIfNeeded: newValue >> (8 * UInt64(place))) }
      }
    }

    mutating func clearNumber() { bytes.replaceSubrange(18..<22, with: [0, 0, 0, 0]) }

    /// Removes the empty packets.
    fileprivate mutating func leaveEmptyPacketsOut() {
      let lengths = bytes[27..<(27 + Int(bytes[26]))]
      // After 255 a packet continues, and 0 ends it; the same applies to the first one if the page continues a packet.
      var kept: [UInt8] = []
      var goesOn = bytes[5] & 1 != 0
      for length in lengths {
        if length > 0 || goesOn { kept.append(length) }
        goesOn = length == 255
      }
      let contents = bytes[(27 + lengths.count)...]
      bytes = Array(bytes[..<26]) + [UInt8(kept.count)] + kept + contents
    }
  }
  var pages: [Page]

  init(_ bytes: [UInt8]) {
    pages = Self.places(bytes).map { Page(bytes: Array(bytes[$0.start..<$0.end])) }
  }

  /// The file with correct checksums.
  var bytes: [UInt8] {
    var bytes = pages.flatMap(\.bytes)
    Self.seal(&bytes)
    return bytes
  }

  /// The pages of the first stream, which is the video if there is one, on which packets of its content end.
  var pictures: [Int] {
    pages.indices.filter { pages[$0].stream == pages[0].stream && pages[$0].granule != 0 }
  }

  /// Removes empty packets, as FFmpeg has done since 6.1.
  mutating func leaveEmptyPacketsOut() {
    for index in pages.indices { pages[index].leaveEmptyPacketsOut() }
  }

  /// Makes a page end `count` pictures later; the low bits of Theora's granule positions count from a key frame.
  mutating func delay(_ page: Int, by count: UInt64) {
    let header = pages[0].bytes
    let shift = UInt64(header[28 + 40] & 3) << 3 | UInt64(header[28 + 41] >> 5)
    if pages[page].granule != .max { pages[page].granule += count << shift }
  }

  static func places(_ bytes: [UInt8]) -> [(start: Int, contents: Int, end: Int)] {
    var (at, found): (Int, [(Int, Int, Int)]) = (0, [])
    while at + 27 <= bytes.count, bytes[at...].starts(with: Array("OggS".utf8)) {
      let segments = Int(bytes[at + 26])
      guard at + 27 + segments <= bytes.count else { break }
      let contents = at + 27 + segments
      let end = contents + bytes[(at + 27)..<contents].reduce(0) { $0 + Int($1) }
      guard end <= bytes.count else { break }
      found.append((at, contents, end))
      at = end
    }
    return found
  }

  /// Corrects the checksums of all pages.
  static func seal(_ bytes: inout [UInt8]) {
    for page in places(bytes) {
      for place in 22..<26 { bytes[page.start + place] = 0 }
      var sum: UInt32 = 0
      for byte in bytes[page.start..<page.end] {
        sum ^= UInt32(byte) << 24
        for _ in 0..<8 { sum = sum & 0x8000_0000 != 0 ? sum << 1 ^ 0x04C1_1DB7 : sum << 1 }
      }
      for place in 0..<4 {
        bytes[page.start + 22 + place] = UInt8(truncatingIfNeeded: sum >> UInt32(8 * place))
      }
    }
  }
}
