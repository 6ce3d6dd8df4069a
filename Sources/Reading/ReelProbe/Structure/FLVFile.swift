/// The tags of an FLV file, each of which is followed by its own length (Adobe Flash Video File Format 10.1, E.3).
enum FLVFile {
  /// Whether the file ends within a tag, or before the size that `onMetaData` states. Nil if that can't be determined
  /// within the limits.
  static func isTruncated(_ file: some ByteReading) -> Bool? {
    guard let last = lastTag(file) else { return walk(file) }
    return isShort(file, endingWith: last)
  }

  /// Whether `onMetaData` states a larger size, and more time than there is up to the tag at `last`.
  private static func isShort(_ file: some ByteReading, endingWith last: Int64) -> Bool {
    guard let stated = metadata("filesize", of: file), stated > Double(file.size) else { return false }
    // The size may be that of the file from which this one was made: if the tags last for the stated duration, the
    // file is whole.
    guard let duration = metadata("duration", of: file), let time = milliseconds(file, of: last) else {
      return true
    }
    return duration - Double(time) / 1000 > max(0.5, duration * 0.02)
  }

  /// Returns a number in `onMetaData`, which is in the first tag; nil if it is not there, or not above 0.
  static func metadata(_ name: String, of file: some ByteReading) -> Double? {
    let head = file.bytes(at: 0, count: 1024)
    let key = [0, UInt8(truncatingIfNeeded: name.utf8.count)] + Array(name.utf8) + [0]
    guard let place = head.indices.first(where: { head[$0] == 0 && head[$0...].starts(with: key) }),
      place + key.count + 8 <= head.count
    else { return nil }
    let bits = head[(place + key.count)..<(place + key.count + 8)].reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
    let number = Double(bitPattern: bits)
    return number.isFinite && number > 0 ? number : nil
  }

  /// Returns the size of the pictures in `onMetaData`.
  static func size(_ file: some ByteReading) -> PixelSize? {
    guard let width = metadata("width", of: file).flatMap({ Int(exactly: $0.rounded()) }),
      let height = metadata("height", of: file).flatMap({ Int(exactly: $0.rounded()) })
    else { return nil }
    return PixelSize(width: width, height: height)
  }

  private static let tagHeader: Int64 = 11
  /// Returns the most tags to walk over if the end is not as it should be: those of some hours.
  private static func mostTags(_ file: some ByteReading) -> Int { file.isFar ? 20_000 : 2_000_000 }

  /// Returns where the last tag begins; nil if the file does not end with a whole tag.
  private static func lastTag(_ file: some ByteReading) -> Int64? {
    guard let length = file.bigEndian(at: file.size - 4, width: 4), length > UInt64(tagHeader) else {
      return nil
    }
    let start = file.size - 4 - Int64(length)
    guard start >= 13, isTag(file, at: start), let data = file.bigEndian(at: start + 1, width: 3) else {
      return nil
    }
    return Int64(data) + tagHeader == Int64(length) ? start : nil
  }

  /// Returns the time of a tag, the highest byte of which comes last.
  private static func milliseconds(_ file: some ByteReading, of tag: Int64) -> UInt64? {
    guard let low = file.bigEndian(at: tag + 4, width: 3), let high = file.bigEndian(at: tag + 7, width: 1)
    else {
      return nil
    }
    return high << 24 | low
  }

  private static func walk(_ file: some ByteReading) -> Bool? {
    guard let header = file.bigEndian(at: 5, width: 4), header >= 9, header < 1 << 20 else { return nil }
    var next = Int64(header) + 4
    var last = next
    for _ in 0..<mostTags(file) where !file.isHalfSpent {
      if next + tagHeader > file.size {
        // A few bytes after the last tag are the beginning of another one, or no tag.
        let isEnd = next == file.size || metadata("filesize", of: file) == Double(next)
        return isEnd ? isShort(file, endingWith: last) : isKind(file, at: next) ? true : nil
      }
      guard isTag(file, at: next), let data = file.bigEndian(at: next + 1, width: 3) else {
        guard let end = FLVTag.end(file, at: next) else { return nil }
        next = end + 4
        continue
      }
      (last, next) = (next, next + tagHeader + Int64(data) + 4)
      if next > file.size {
        // Some writers leave out the length of the last tag, which no player needs.
        return next - 4 > file.size || isShort(file, endingWith: last)
      }
    }
    return nil
  }

  /// Whether a tag of sound, pictures or script data begins here. Its stream number is always 0.
  private static func isTag(_ file: some ByteReading, at offset: Int64) -> Bool {
    isKind(file, at: offset) && file.bigEndian(at: offset + 8, width: 3) == 0
  }

  private static func isKind(_ file: some ByteReading, at offset: Int64) -> Bool {
    file.bigEndian(at: offset, width: 1).map { [8, 9, 18].contains($0 & 0x1f) } ?? false
  }
}
