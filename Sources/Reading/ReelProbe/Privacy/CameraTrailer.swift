/// What Insta360's cameras put behind the last box, or into one of their own there (`inst`): records, each with its kind and its
/// length behind it, then some bytes and a mark.
enum CameraTrailer {
  private static let mark = Array("8db42d694ccc418790edff439fe026bf".utf8)
  /// Bytes from the kind of the last record to the end of the file.
  private static let end: Int64 = 6 + 32 + 8 + 32
  private static let mostRecords = 64
  /// The kind of the record of positions, and bytes of each of them.
  private static let (positions, step) = (UInt64(0x700), Int64(53))

  /// Whether the file ends with one that has a position.
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
        // Whether the satellites are found.
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
