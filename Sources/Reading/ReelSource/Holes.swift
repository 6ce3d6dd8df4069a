import CReel
import Glibc
import ReelCore

/// Parts of a file that were never written. They take no space and read as zeros: a file of a few kilobytes can have so
/// many of them that reading it would never end.
enum Holes {
  /// The most bytes of holes that are read through, which takes some minutes.
  static let most: Int64 = 64 << 30
  /// A file larger than this can't be complete, even if the file system does not report its holes.
  private static let largestWhole: Int64 = 16 << 40

  /// - Throws: `readLimit` when the file has more holes than can be read through. Blocks.
  static func check(_ file: SourceFile) throws(SourceError) {
    guard file.size > most, let descriptor = file.handle.descriptor else { return }
    let isEndless = withExtendedLifetime(file.handle) {
      hasMore(than: most, descriptor, file.size)
        || file.size > largestWhole && file.handle.storedBytes().map { $0 < file.size / 2 } ?? false
    }
    guard isEndless else { return }
    throw SourceError(
      .readLimit,
      "too much of its \(Decimals.bytes(file.size)) is holes, which were never written and would take too long to read; copy its content into a file without holes"
    )
  }

  /// Whether the file has any holes, as far as its file system tells. Blocks.
  static func areIn(_ file: SourceFile) -> Bool {
    withExtendedLifetime(file.handle) {
      guard let descriptor = file.handle.descriptor else { return false }
      let hole = Int64(lseek(descriptor, 0, reel_seek_hole))
      return hole >= 0 && hole < file.size
    }
  }

  /// Whether all bytes are zero.
  static func isZero(_ bytes: UnsafeRawBufferPointer) -> Bool {
    guard let first = bytes.baseAddress else { return true }
    return bytes[0] == 0 && memcmp(first, first + 1, bytes.count - 1) == 0
  }

  /// Whether there are more than `most` bytes of holes. Stops at that number, so the time it takes is limited by the
  /// data that is really there.
  private static func hasMore(than most: Int64, _ file: Int32, _ size: Int64) -> Bool {
    var (position, holes) = (Int64(0), Int64(0))
    while position < size {
      let data = Int64(lseek(file, off_t(position), reel_seek_data))
      // ENXIO means a hole up to the end; any other error, that the file system does not report holes.
      guard data >= position || errno == ENXIO else { return false }
      let next = data < position ? size : min(data, size)
      holes = holes.addingClamped(next - position)
      if holes > most { return true }
      guard next < size, case let hole = Int64(lseek(file, off_t(next), reel_seek_hole)), hole > next else {
        return false
      }
      position = hole
    }
    return false
  }
}
