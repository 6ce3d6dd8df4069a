/// Decides how much of a file is fetched when some bytes of it are wanted: each request takes a way there and back, and
/// each byte beyond what is read is one too many.
struct ReadAhead: Sendable {
  /// What is fetched of a place about which nothing is known.
  static let smallest = 64 << 10
  /// What is fetched at most of bytes that are read one after the other.
  static let largest = 512 << 10
  /// What is fetched at most because whoever reads expects to read it.
  static let mostExpected = 4 << 20
  /// What may lie between bytes that are there and those that are wanted, to be fetched with them.
  static let gap: Int64 = 128 << 10
  /// The end of a file is fetched as a whole: what lies there (an index, the last times) is read to the end.
  static let tail: Int64 = 256 << 10

  private let size: Int64
  /// Where the last fetched range ended.
  private var last: Int64 = 0
  private var piece = smallest

  /// - Parameters:
  ///   - size: bytes of the file.
  ///   - fetched: how many of its first ones are there.
  init(size: Int64, fetched: Int64) {
    self.size = size
    last = fetched
  }

  /// What is to be fetched for `count` bytes at `offset`, which lies within the file.
  /// - Parameters:
  ///   - expected: how many will be read from there on, as far as anybody knows; not believed beyond ``mostExpected``.
  ///   - end: where bytes follow that are there.
  mutating func range(at offset: Int64, count: Int, expected: Int, before end: Int64? = nil) -> Range<Int64> {
    piece = offset == last ? min(2 * piece, Self.largest) : Self.smallest
    let wanted = max(count, min(expected, Self.mostExpected))
    // Who says what will be read knows better than what was read before.
    var upper = offset + min(size - offset, Int64(expected > count ? wanted : max(wanted, piece)))
    if offset >= size - Self.tail || size - upper < Int64(Self.smallest) { upper = size }
    if let end, end > offset { upper = min(upper, max(end, offset + 1)) }
    upper = min(upper, size)
    last = upper
    // What follows something that was read as a whole is something else.
    if expected > count { piece = Self.smallest / 2 }
    return offset..<upper
  }
}

/// Pieces of a file that were fetched, up to a number of bytes; those that were used last stay.
struct RangeCache: Sendable {
  private struct Piece: Sendable {
    let start: Int64
    let bytes: [UInt8]
    var used: Int
    var end: Int64 { start + Int64(bytes.count) }
  }
  private let capacity: Int
  /// In the order of the file.
  private var pieces: [Piece] = []
  private var held = 0
  private var clock = 0

  init(capacity: Int) { self.capacity = capacity }

  /// Copies what is there from `offset` on, and tells how many bytes that were.
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

  /// Where the last piece that begins before `offset` ends; nil where none does.
  func end(before offset: Int64) -> Int64? { pieces.last { $0.start < offset }?.end }

  /// Where the first piece behind `offset` begins.
  func next(after offset: Int64) -> Int64? { pieces.first { $0.start > offset }?.start }

  /// - Parameter bytes: overlap with nothing that is there.
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
