/// The table of a run of samples (`trun`, ISO/IEC 14496-12, 8.8.8), by its flags.
struct SampleRunTable: Hashable {
  private static let knownFlags = 0x0F05
  private static let mostSamples = 1 << 20

  let count: Int
  /// Where the first row begins.
  private let rows: Int64
  private let flags: Int

  var hasSteps: Bool { flags & 0x100 != 0 }
  var hasSizes: Bool { flags & 0x200 != 0 }
  var hasOffsets: Bool { flags & 0x800 != 0 }

  /// The length of a row in bytes.
  var width: Int { (flags & 0xF00).nonzeroBitCount * 4 }
  /// Where the sample's size is in a row.
  var sizePlace: Int { hasSteps ? 4 : 0 }

  /// Nil if the box is not as long as it says, or has flags that are unknown.
  init?(_ box: ISOBox, of file: some ByteReading) {
    let head = file.bytes(at: box.contents, count: 8)
    guard let flags = head.number(at: 0, bytes: 4).map({ $0 & 0xFF_FFFF }),
      let count = head.number(at: 4, bytes: 4),
      flags & ~Self.knownFlags == 0, count <= Self.mostSamples
    else { return nil }
    (self.flags, self.count) = (flags, count)
    rows = box.contents + 8 + (flags & 1 != 0 ? 4 : 0) + (flags & 4 != 0 ? 4 : 0)
    guard box.end == rows + Int64(width * count) else { return nil }
  }

  /// Returns the offset of the media data from the fragment's origin; nil if the box does not state it.
  static func offset(in box: ISOBox, _ file: some ByteReading) -> Int64? {
    guard let flags = file.bigEndian(at: box.contents, width: 4), flags & 1 != 0 else { return nil }
    return file.bigEndian(at: box.contents + 8, width: 4).map { Int64(Int32(truncatingIfNeeded: $0)) }
  }

  /// Returns the first `count` rows; nil if they can't be read.
  func rows(_ count: Int, of file: some ByteReading) -> [UInt8]? {
    let bytes = file.bytes(at: rows, count: width * count)
    return bytes.count == width * count ? bytes : nil
  }
}

/// A run of samples, each of which follows the one before.
struct SampleRun: Hashable {
  /// Where the first sample begins.
  let start: Int64
  /// The size of each sample if the table does not state sizes.
  let size: Int64
  let table: SampleRunTable

  /// Returns where samples are.
  /// - Parameter numbers: from 0 on, in order.
  func ranges(of numbers: [Int], in file: some ByteReading) -> [Range<Int64>] {
    guard start >= 0, let last = numbers.last, last < table.count else { return [] }
    guard table.hasSizes else {
      return numbers.map { start.addingClamped(Int64($0) * size) }.map { $0..<$0.addingClamped(size) }
    }
    guard let rows = table.rows(last + 1, of: file) else { return [] }
    var (found, left, place): ([Range<Int64>], ArraySlice<Int>, Int64) = ([], numbers[...], start)
    for number in 0...last {
      let size = rows.number(at: number * table.width + table.sizePlace, bytes: 4) ?? 0
      let end = place.addingClamped(Int64(size))
      if left.first == number {
        found.append(place..<end)
        left.removeFirst()
      }
      place = end
    }
    return found
  }
}

extension [SampleRun] {
  /// The number of samples in all runs.
  var samples: Int { reduce(0) { $0 + $1.table.count } }

  /// Returns where samples are.
  /// - Parameter numbers: over all runs, from 0 on, in order.
  func ranges(of numbers: [Int], in file: some ByteReading) -> [Range<Int64>] {
    var (found, left, first): ([Range<Int64>], ArraySlice<Int>, Int) = ([], numbers[...], 0)
    for run in self where !left.isEmpty {
      let own = left.prefix { $0 < first + run.table.count }
      found += run.ranges(of: own.map { $0 - first }, in: file)
      left = left.dropFirst(own.count)
      first += run.table.count
    }
    return found
  }
}
