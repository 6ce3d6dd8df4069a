/// Decides how much of a file to fetch when some of its bytes are wanted: each request costs a round trip, and each
/// byte beyond what is read is wasted.
struct ReadAhead: Sendable {
  /// The number of bytes fetched at a place about which nothing is known.
  static let smallest = 64 << 10
  /// The maximum number of bytes fetched at once when reading sequentially.
  static let largest = 512 << 10
  /// The maximum number of bytes fetched at once because the reader expects to read them.
  static let mostExpected = 4 << 20
  /// The maximum gap between cached and wanted bytes that is fetched along with the latter.
  static let gap: Int64 = 128 << 10
  /// The number of bytes at the end of a file that are fetched together: what lies there (an index, the last
  /// timestamps) is read to the end.
  static let tail: Int64 = 256 << 10

  private let size: Int64
  /// The end of the last fetched range.
  private var last: Int64 = 0
  private var piece = smallest

  /// - Parameters:
  ///   - size: the size of the file in bytes.
  ///   - fetched: the number of its first bytes fetched already.
  init(size: Int64, fetched: Int64) {
    self.size = size
    last = fetched
  }

  /// Returns the range to fetch for `count` bytes at `offset`, which lies within the file.
  /// - Parameters:
  ///   - expected: how many bytes will probably be read from there on; ignored beyond ``mostExpected``.
  ///   - end: where cached bytes follow.
  mutating func range(at offset: Int64, count: Int, expected: Int, before end: Int64? = nil) -> Range<Int64> {
    piece = offset == last ? min(2 * piece, Self.largest) : Self.smallest
    let wanted = max(count, min(expected, Self.mostExpected))
    // The reader's expectation is more reliable than a guess from earlier reads.
    var upper = offset + min(size - offset, Int64(expected > count ? wanted : max(wanted, piece)))
    if offset >= size - Self.tail || size - upper < Int64(Self.smallest) { upper = size }
    if let end, end > offset { upper = min(upper, max(end, offset + 1)) }
    upper = min(upper, size)
    last = upper
    // What follows data that was read as a whole is unrelated to it, so begin again with little.
    if expected > count { piece = Self.smallest / 2 }
    return offset..<upper
  }
}

/// Fetched pieces of a file, up to a number of bytes; the least recently used are dropped.
struct RangeCache: Sendable {
  private struct Piece: Sendable {
    let start: Int64
    let bytes: [UInt8]
    var used: Int
    var end: Int64 { start + Int64(bytes.count) }
  }
  private let capacity: Int
  /// In file order.
  private var pieces: [Piece] = []
  private var held = 0
  private var clock = 0

  init(capacity: Int) { self.capacity = capacity }

  /// Copies the cached bytes from `offset` on, and returns their number.
  mutating func copy(from offset: Int64, into buffer: UnsafeMutableRawBufferPointer) -> Int {
    guard let index = pieces.lastIndex(where: { $0.start <= offset }), offset < pieces[index].end else {
      return 0
    }
    clock += 1
    pieces[index].used = clock
    let piece = pieces[index]
    let (first, count) = (Int(offset - piece.start), min(buffer.count, Int(piece.end - offset)))
    piece.bytes.withUnsafeBytes {
      buffer.copyMemory(from: UnsafeRawBufferPointer(rebasing: $0[first..<first + count]))
    }
    return count
  }

  /// Returns the end of the last piece that begins before `offset`; nil if there is none.
  func end(before offset: Int64) -> Int64? { pieces.last { $0.start < offset }?.end }

  /// Returns the beginning of the first piece after `offset`; nil if there is none.
  func next(after offset: Int64) -> Int64? { pieces.first { $0.start > offset }?.start }

  /// - Parameter bytes: must not overlap with anything cached.
  mutating func add(_ bytes: [UInt8], at start: Int64) {
    guard !bytes.isEmpty else { return }
    clock += 1
    let index = pieces.firstIndex { $0.start > start } ?? pieces.endIndex
    pieces.insert(Piece(start: start, bytes: bytes, used: clock), at: index)
    held += bytes.count
    while held > capacity, pieces.count > 1,
      let oldest = pieces.indices.min(by: { pieces[$0].used < pieces[$1].used })
    {
      held -= pieces.remove(at: oldest).bytes.count
    }
  }
}
