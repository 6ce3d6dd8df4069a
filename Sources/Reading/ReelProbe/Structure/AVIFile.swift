/// The outermost chunks of an AVI file: one `RIFF` after the other (OpenDML AVI file format extensions, 1996).
enum AVIFile {
  /// Whether a chunk ends beyond the file. Nil if a chunk has no length, as in a file that was never finished.
  static func isTruncated(_ file: some ByteReading) -> Bool? {
    var next: Int64 = 0
    for _ in 0..<mostChunks {
      guard let length = riffLength(file, at: next) else { return next == 0 ? nil : false }
      if length == 0 || length == UInt32.max { return nil }
      let end = next + 8 + Int64(length)
      // The padding byte of the last chunk is often missing.
      if end > file.size { return !(end == file.size + 1 && lacksOnlyPadding(file, in: next + 12)) }
      next = end + Int64(length % 2)
      if next >= file.size { return false }
    }
    return nil
  }

  /// Returns where the first file and those that were joined to it begin: every `RIFF` that does not continue the one
  /// before it.
  static func starts(_ file: some ByteReading, most: Int) -> [Int64] {
    var (starts, next): ([Int64], Int64) = ([], 0)
    for _ in 0..<mostChunks where starts.count < most {
      guard let length = riffLength(file, at: next) else { break }
      if FourCharacterCode(file.bytes(at: next + 8, count: 4)) == "AVI " { starts.append(next) }
      let end = next + 8 + Int64(length)
      if length == 0 || end >= file.size { break }
      // Some writers leave out the padding byte.
      next = riffLength(file, at: end) == nil ? end + Int64(length % 2) : end
    }
    return starts
  }

  /// Whether another `RIFF` follows the first. If no files were joined, it continues the first.
  static func goesOn(_ file: some ByteReading) -> Bool {
    guard let length = riffLength(file, at: 0) else { return false }
    let end = 8 + Int64(length)
    return riffLength(file, at: end) != nil || riffLength(file, at: end + Int64(length % 2)) != nil
  }

  /// Whether what begins here continues the `RIFF` before it.
  static func isCarriedOn(_ file: some ByteReading, at offset: Int64) -> Bool {
    riffLength(file, at: offset) != nil && FourCharacterCode(file.bytes(at: offset + 8, count: 4)) == "AVIX"
  }

  /// The most chunks to look at; one of OpenDML holds a gigabyte.
  private static let mostChunks = 4096

  /// Whether the last of the chunks from `start` on ends with the file, and only its padding byte is missing.
  private static func lacksOnlyPadding(_ file: some ByteReading, in start: Int64) -> Bool {
    var next = start
    for _ in 0..<mostInnerChunks {
      let head = file.bytes(at: next, count: 8)
      guard head.count == 8 else { return false }
      let size = head[4..<8].reversed().reduce(Int64(0)) { $0 << 8 | Int64($1) }
      let end = next + 8 + size
      if end == file.size { return size % 2 == 1 }
      // A list contains the padding of its chunks.
      if end == file.size + 1, FourCharacterCode(head) == "LIST" {
        next += 12
      } else if end < file.size {
        next = end + size % 2
      } else {
        return false
      }
    }
    return false
  }

  private static let mostInnerChunks = 65_536

  private static func riffLength(_ file: some ByteReading, at offset: Int64) -> UInt32? {
    let header = file.bytes(at: offset, count: 8)
    guard header.count == 8, FourCharacterCode(header) == "RIFF" else { return nil }
    return header[4..<8].reversed().reduce(0) { $0 << 8 | UInt32($1) }
  }
}
