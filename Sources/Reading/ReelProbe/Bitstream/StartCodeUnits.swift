/// The NAL units of a byte stream, each preceded by a start code of three bytes (ITU-T H.264 and H.265, Annex B). Empty
/// units, and bytes before the first start code, are left out.
struct StartCodeUnits: Sequence, IteratorProtocol {
  /// A picture's headers are at the beginning of its packet, and the rest is coded picture data.
  static let mostBytes = 65_536
  private let bytes: ArraySlice<UInt8>
  private var position: Int

  /// - Parameter most: the number of bytes that are searched.
  init(_ bytes: [UInt8], atMost most: Int = mostBytes) {
    self.bytes = bytes.prefix(most)
    position = 0
    position = startCode(from: 0) ?? self.bytes.endIndex
  }

  mutating func next() -> ArraySlice<UInt8>? {
    while position + 3 < bytes.endIndex {
      let start = position + 3
      let end = startCode(from: start) ?? bytes.endIndex
      position = end
      // Zeros before a start code belong to it.
      var last = end
      while last > start, bytes[last - 1] == 0 { last -= 1 }
      if last > start { return bytes[start..<last] }
    }
    return nil
  }

  /// Returns the position of the next 0 0 1.
  private func startCode(from start: Int) -> Int? {
    var at = start
    while at + 2 < bytes.endIndex {
      switch bytes[at + 2] {
      case 0: at += 1
      case 1 where bytes[at] == 0 && bytes[at + 1] == 0: return at
      default: at += 3
      }
    }
    return nil
  }
}
