/// The outermost chunks of an AVI file: one `RIFF` after the other (OpenDML AVI file format extensions, 1996).
enum AVIFile {
  /// Whether a chunk ends beyond the file. Nil when the first says no length, as one that was never finished.
  static func isTruncated(_ file: some ByteReading) -> Bool? {
    var next: Int64 = 0
    for _ in 0..<mostChunks {
      guard let length = riffLength(file, at: next) else { return next == 0 ? nil : false }
      if length == 0 || length == UInt32.max { return nil }
      let end = next + 8 + Int64(length)
      if end > file.size { return true }
      // The last chunk's byte of padding is often left out.
      next = end + Int64(length % 2)
      if next >= file.size { return false }
    }
    return nil
  }

  /// A chunk of OpenDML holds a gigabyte.
  private static let mostChunks = 4096

  private static func riffLength(_ file: some ByteReading, at offset: Int64) -> UInt32? {
    let header = file.bytes(at: offset, count: 8)
    guard header.count == 8, FourCharacterCode(header) == "RIFF" else { return nil }
    return header[4..<8].reversed().reduce(0) { $0 << 8 | UInt32($1) }
  }
}
