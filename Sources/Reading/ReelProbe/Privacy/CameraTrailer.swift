/// The trailer that Insta360's cameras put after the last box, or into a box of their own there (`inst`): records, each
/// followed by its kind and its length, then some bytes and a mark.
enum CameraTrailer {
  private static let mark = Array("8db42d694ccc418790edff439fe026bf".utf8)
  /// The number of bytes from the kind of the last record to the end of the file.
  private static let end: Int64 = 6 + 32 + 8 + 32
  private static let mostRecords = 64
  /// The kind of the record of positions, and the size of each position in bytes.
  private static let (positions, step) = (UInt64(0x700), Int64(53))

  /// Returns whether the file ends with a trailer that has a position.
  static func tellsPosition(_ file: some ByteReading) -> Bool {
    guard file.size > end, file.bytes(at: file.size - Int64(mark.count), count: mark.count) == mark else {
      return false
    }
    var next = file.size - end
    for _ in 0..<mostRecords {
      guard let kind = file.littleEndian(at: next, width: 2),
        let length = file.littleEndian(at: next + 2, width: 4), Int64(length) <= next
      else { return false }
      let start = next - Int64(length)
      if kind == positions {
        // Whether the receiver has found its satellites.
        let isFound = SampleSearch.numbers(of: Int(Int64(length) / step)).contains {
          file.bytes(at: start + step * Int64($0) + 10, count: 1) == [UInt8(ascii: "A")]
        }
        if isFound { return true }
      }
      next = start - 6
    }
    return false
  }
}
