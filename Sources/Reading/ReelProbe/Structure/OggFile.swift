/// The pages of an Ogg file (RFC 3533, 6).
enum OggFile {
  /// Whether the file ends within a page. False if its last page is whole and ends its stream; nil if it is whole and
  /// more could have followed.
  static func isTruncated(_ file: some ByteReading) -> Bool? {
    guard let last = lastPage(of: file) else { return nil }
    if last.end > file.size { return true }
    return last.end == file.size && last.endsStream ? false : nil
  }

  private struct Page {
    let end: Int64
    let endsStream: Bool
  }

  /// The longest page that is possible: a header of 27 bytes, 255 lengths, 255 times 255 bytes.
  private static let longestPage: Int64 = 27 + 255 + 255 * 255

  private static func lastPage(of file: some ByteReading) -> Page? {
    let start = max(0, file.size - longestPage)
    let tail = file.bytes(at: start, count: Int(file.size - start))
    let mark = Array("OggS".utf8)
    guard tail.count >= 27 else { return nil }
    for offset in stride(from: tail.count - 4, through: 0, by: -1) where tail[offset...].starts(with: mark) {
      return page(tail[offset...], at: start + Int64(offset))
    }
    return nil
  }

  private static func page(_ bytes: ArraySlice<UInt8>, at offset: Int64) -> Page {
    let page = Array(bytes.prefix(27 + 255))
    guard page.count >= 27, page.count >= 27 + Int(page[26]) else {
      return Page(end: .max, endsStream: false)
    }
    let lengths = page[27..<(27 + Int(page[26]))]
    let end = offset + 27 + Int64(lengths.count) + lengths.reduce(0) { $0 + Int64($1) }
    return Page(end: end, endsStream: page[5] & 4 != 0)
  }
}
