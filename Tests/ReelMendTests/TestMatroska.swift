import Testing

/// A synthetic WebM file like those that browsers record: nothing in it states a duration.
struct TestMatroska: CustomTestStringConvertible {
  var scale: UInt64 = 1_000_000
  var start: UInt64 = 0
  /// The track's default frame duration in nanoseconds.
  var defaultDuration: UInt64 = 0
  /// The duration of the last block.
  var lastDuration: UInt64?
  var codecDelay: UInt64 = 0
  /// The number of frames in each block.
  var lacing = 1
  var clusters = 1
  /// The number of blocks per cluster, 30 ticks apart.
  var blocks = 3
  /// Additional ticks before the last block.
  var pause: UInt16 = 0
  var hasTracks = true
  var ownClock = false
  var infoChecksum = false
  /// The number of bytes in the field that marks a cluster's size as unknown.
  var sizeWidth = 8
  /// Elements before and after the clusters, and in the first one.
  var before: [UInt8] = []
  var behind: [UInt8] = []
  var inCluster: [UInt8] = []

  var testDescription: String {
    "\(scale) \(start) \(defaultDuration) \(lastDuration ?? 0) \(codecDelay) \(lacing) \(pause)"
  }

  var bytes: [UInt8] {
    let header = TestEBML.element(
      0x1A45_DFA3, TestEBML.element(0x4282, Array("webm".utf8)) + TestEBML.element(0x4287, [4]))
    let unknown: [UInt8] = [0x01, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF]
    var info = TestEBML.element(0x2AD7B1, number: scale) + TestEBML.element(0x4D80, Array("made up".utf8))
    if infoChecksum { info = TestEBML.element(0xBF, [1, 2, 3, 4]) + info }
    return header + [0x18, 0x53, 0x80, 0x67] + unknown + TestEBML.element(0x1549_A966, info)
      + (hasTracks ? TestEBML.element(0x1654_AE6B, track) : []) + before
      + (0..<clusters).flatMap { cluster($0) } + behind
  }

  private var track: [UInt8] {
    var entry =
      TestEBML.element(0xD7, [1]) + TestEBML.element(0x73C5, [1]) + TestEBML.element(0x83, [1])
      + TestEBML.element(0x86, Array("V_VP8".utf8))
      + TestEBML.element(0xE0, TestEBML.element(0xB0, [64]) + TestEBML.element(0xBA, [64]))
    if defaultDuration > 0 { entry += TestEBML.element(0x23E383, number: defaultDuration) }
    if codecDelay > 0 { entry += TestEBML.element(0x56AA, number: codecDelay) }
    if ownClock { entry += TestEBML.element(0x23314F, [0x40, 0, 0, 0]) }
    return TestEBML.element(0xAE, entry)
  }

  private func cluster(_ number: Int) -> [UInt8] {
    let unknown: [UInt8] =
      [UInt8(truncatingIfNeeded: 0xFF >> (sizeWidth - 1))] + [UInt8](repeating: 0xFF, count: sizeWidth - 1)
    var contents = TestEBML.element(0xE7, number: start &+ UInt64(number * 30 * blocks))
    if number == 0 { contents += inCluster }
    for block in 0..<blocks {
      let isLast = number == clusters - 1 && block == blocks - 1
      let time = UInt16(block * 30) + (isLast ? pause : 0)
      contents += self.block(time, isKey: block == 0, isLast ? lastDuration : nil)
    }
    return [0x1F, 0x43, 0xB6, 0x75] + unknown + contents
  }

  private func block(_ time: UInt16, isKey: Bool, _ duration: UInt64?) -> [UInt8] {
    // A VP8 key frame of 64 by 64 pixels, header only.
    let frame: [UInt8] = [isKey ? 0x10 : 0x11, 2, 0, 0x9D, 1, 0x2A, 64, 0, 64, 0, 1, 2]
    let isLaced = lacing > 1
    let head: [UInt8] = [
      0x81, UInt8(time >> 8), UInt8(time & 255), (isKey ? 0x80 : 0) | (isLaced ? 0x04 : 0),
    ]
    let frames = (isLaced ? [UInt8(lacing - 1)] : []) + (0..<lacing).flatMap { _ in frame }
    guard let duration else { return TestEBML.element(0xA3, head + frames) }
    return TestEBML.element(
      0xA0, TestEBML.element(0xA1, head + frames) + TestEBML.element(0x9B, number: duration))
  }
}

/// An EBML element, as the tests write and read it.
struct TestEBML {
  let id: UInt32
  let start: Int
  let contents: Range<Int>

  func number(in bytes: [UInt8]) -> UInt64 { bytes[contents].reduce(0) { $0 << 8 | UInt64($1) } }

  static func element(_ id: UInt32, _ contents: [UInt8]) -> [UInt8] {
    let name = withUnsafeBytes(of: id.bigEndian) { Array($0) }.drop { $0 == 0 }.map(\.self)
    let size = UInt32(contents.count)
    let length = withUnsafeBytes(of: (size | 0x1000_0000).bigEndian) { Array($0) }
    return name + length + contents
  }

  static func element(_ id: UInt32, number: UInt64) -> [UInt8] {
    element(id, withUnsafeBytes(of: number.bigEndian) { Array($0) })
  }

  /// Nil if there is no element, its size is unknown, or it ends beyond `bytes`.
  static func element(at start: Int, in bytes: [UInt8]) -> TestEBML? {
    guard start < bytes.count, bytes[start] >= 0x10 else { return nil }
    let width = bytes[start].leadingZeroBitCount + 1
    guard start + width < bytes.count, bytes[start + width] != 0 else { return nil }
    let sizeWidth = bytes[start + width].leadingZeroBitCount + 1
    let begin = start + width + sizeWidth
    guard begin <= bytes.count else { return nil }
    let id = bytes[start..<start + width].reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
    let mask = UInt64(1) << UInt64(7 * sizeWidth) - 1
    let size = bytes[start + width..<begin].reduce(UInt64(0)) { $0 << 8 | UInt64($1) } & mask
    guard size != mask, size <= UInt64(bytes.count - begin) else { return nil }
    return TestEBML(id: id, start: start, contents: begin..<begin + Int(size))
  }

  static func children(in range: Range<Int>, of bytes: [UInt8]) -> [TestEBML] {
    var (found, next): ([TestEBML], Int) = ([], range.lowerBound)
    while next < range.upperBound, let element = element(at: next, in: bytes) {
      found.append(element)
      next = element.contents.upperBound
    }
    return found
  }

  /// The elements with an ID, at any depth within SeekHead and Cues.
  static func children(of id: UInt32, in bytes: [UInt8]) -> [TestEBML] {
    let masters: Set<UInt32> = [0x1853_8067, 0x114D_9B74, 0x1C53_BB6B, 0xBB, 0xB7]
    func all(_ range: Range<Int>) -> [TestEBML] {
      children(in: range, of: bytes).flatMap { element in
        (element.id == id ? [element] : []) + (masters.contains(element.id) ? all(element.contents) : [])
      }
    }
    return all(0..<bytes.count)
  }
}
