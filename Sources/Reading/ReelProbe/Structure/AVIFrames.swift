import ReelCore

/// The frames of an AVI file, by their chunks.
struct AVIFrames: Hashable {
  /// How many there are, with those that were dropped.
  private(set) var count: Int64 = 0
  /// Of those that were not, how many come before them.
  private(set) var times: [Int64] = []

  /// Chunks that are looked at: pictures and sound of five hours.
  private static let mostChunks = 1 << 20

  /// Nil where not all chunks were looked at.
  init?(_ file: some ByteReading, _ headers: AVIHeaders?, stream: Int) {
    guard let headers, let movie = headers.movie, stream < 100 else { return nil }
    let digits = [UInt8(0x30 + stream / 10), UInt8(0x30 + stream % 10)]
    var next = movie.lowerBound
    for _ in 0..<Self.mostChunks {
      guard next + 8 <= movie.upperBound else {
        if count == 0 { return nil }
        return
      }
      let head = file.bytes(at: next, count: 8)
      guard head.count == 8, !file.isHalfSpent else { return nil }
      // A list of chunks that belong together.
      if FourCharacterCode(head) == "LIST" {
        next += 12
        continue
      }
      let size = head[4..<8].reversed().reduce(Int64(0)) { $0 << 8 | Int64($1) }
      // `dc` and `db`: compressed, and not.
      if head.starts(with: digits), head[2] == 0x64, head[3] == 0x63 || head[3] == 0x62 {
        if size > 0 { times.append(count) }
        count += 1
      }
      next += 8 + size + size % 2
    }
    return nil
  }
}
