import ReelCore

/// The frames of an AVI file, counted by their chunks.
struct AVIFrames: Hashable {
  /// The number of frames, including those that were dropped.
  private(set) var count: Int64 = 0
  /// For each frame that was not dropped, the number of frames before it.
  private(set) var times: [Int64] = []
  /// Whether something between the chunks is not a chunk.
  private(set) var isDamaged = false
  /// Whether no chunk was found after such a place.
  private(set) var isEndLost = false

  /// The most chunks to look at: those of pictures and sound of five hours.
  private static let mostChunks = 1 << 20

  /// Returns nil if not all chunks were looked at.
  init?(_ file: some ByteReading, _ headers: AVIHeaders?, stream: Int) {
    guard let headers, let movie = headers.movie, stream < 100 else { return nil }
    let digits = [UInt8(0x30 + stream / 10), UInt8(0x30 + stream % 10)]
    // After bytes that were lost or inserted, nothing is where its list says.
    var (next, end) = (movie.lowerBound, AVIFile.goesOn(file) ? file.size : movie.upperBound)
    var partsToSearch = 64
    for _ in 0..<Self.mostChunks {
      guard next + 8 <= end else {
        if count == 0 { return nil }
        return
      }
      let head = file.bytes(at: next, count: 8)
      guard head.count == 8, !file.isHalfSpent else { return nil }
      // A list of chunks that belong together, or a `RIFF` that continues the file.
      if FourCharacterCode(head) == "LIST" || AVIFile.isCarriedOn(file, at: next) {
        next += 12
        continue
      }
      guard let chunk = AVIChunk(file, at: next, before: end) else {
        guard let found = AVIChunk.first(in: file, from: next + 1, &partsToSearch) else {
          isEndLost = !AVIChunk.isCut(file, at: next)
          isDamaged = isDamaged || isEndLost
          end = next
          continue
        }
        (next, end, isDamaged) = (found, file.size, true)
        continue
      }
      // `dc` and `db`: compressed, and uncompressed.
      if head.starts(with: digits), head[2] == 0x64, head[3] == 0x63 || head[3] == 0x62 {
        if chunk.size > 0 { times.append(count) }
        count += 1
      }
      next = chunk.end
    }
    return nil
  }
}

/// A chunk among the pictures and the sound of an AVI.
private struct AVIChunk {
  let size: Int64
  /// The end of the chunk, including its padding byte.
  let end: Int64

  /// Returns nil if there can't be a chunk: the name is not that of a stream's chunk, and no other chunk begins where
  /// this one ends.
  init?(_ file: some ByteReading, at place: Int64, before limit: Int64) {
    let head = file.bytes(at: place, count: 8)
    guard head.count == 8, head[..<4].allSatisfy({ (0x20..<0x7f).contains($0) }) else { return nil }
    size = Self.size(head)
    // Some writers leave out the padding byte.
    let isPadded = size % 2 == 1 && !Self.isOfStream(file.bytes(at: place + 8 + size, count: 4))
    end = place + 8 + size + (isPadded ? 1 : 0)
    if place + 8 + size > limit { return nil }
    if Self.isOfStream(head) || end >= limit { return }
    let next = file.bytes(at: end, count: 4)
    guard next.count == 4, next.allSatisfy({ (0x20..<0x7f).contains($0) }) else { return nil }
  }

  /// Whether nothing more follows: the file ends within a chunk, or with space that was allocated and never written.
  static func isCut(_ file: some ByteReading, at place: Int64) -> Bool {
    let bytes = file.bytes(at: place, count: 4096)
    return bytes.count <= 8 || isOfStream(bytes) && place + 8 + size(bytes) > file.size
      || bytes.allSatisfy { $0 == 0 }
  }

  /// Returns the first chunk of a stream that is followed by another one.
  static func first(in file: some ByteReading, from start: Int64, _ parts: inout Int) -> Int64? {
    var place = start
    while !file.isFar, parts > 0, place < file.size {
      parts -= 1
      let bytes = file.bytes(at: place, count: searched + 7)
      let found = bytes.indices.dropLast(7).first {
        guard bytes[$0 + 2] == 0x64 || bytes[$0 + 2] == 0x77, isOfStream(bytes[$0...]) else { return false }
        let end = place + Int64($0) + 8 + size(bytes[$0...])
        let behind = file.bytes(at: end + end % 2, count: 4)
        return end == file.size || isOfStream(behind) || FourCharacterCode(behind) == "idx1"
      }
      if let found { return place + Int64(found) }
      place += Int64(searched)
    }
    return nil
  }

  private static let searched = 256 << 10

  /// Whether this is the name of a stream's chunk: two digits, then pictures or sound: `00dc`, `00db`, `01wb`.
  private static func isOfStream(_ name: some Collection<UInt8>) -> Bool {
    let name = Array(name.prefix(4))
    guard name.count == 4, name[..<2].allSatisfy({ (0x30..<0x3a).contains($0) }) else { return false }
    return name[2] == 0x64 && (name[3] == 0x63 || name[3] == 0x62) || name[2] == 0x77 && name[3] == 0x62
  }

  private static func size(_ head: some Collection<UInt8>) -> Int64 {
    head.dropFirst(4).prefix(4).reversed().reduce(0) { $0 << 8 | Int64($1) }
  }
}
