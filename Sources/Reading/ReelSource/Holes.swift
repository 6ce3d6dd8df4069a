import CReel
import Glibc
import ReelCore

/// Parts of a file that were never written. They take no room and read as zeros: a file of a few kilobytes can have so many
/// of them that reading it would never end.
enum Holes {
  /// Bytes of holes that are read through: some minutes.
  static let most: Int64 = 64 << 30
  /// No file of that size is all there where the file system does not tell of its holes.
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
      "most of its \(Decimals.bytes(file.size)) are holes, which were never written, and reading them would take too long; copy what it holds into a file without them"
    )
  }

  /// Whether there are any, as far as its file system tells. Blocks.
  static func areIn(_ file: SourceFile) -> Bool {
    withExtendedLifetime(file.handle) {
      guard let descriptor = file.handle.descriptor else { return false }
      let hole = Int64(lseek(descriptor, 0, reel_seek_hole))
      return hole >= 0 && hole < file.size
    }
  }

  /// Whether there is nothing but zeros in it.
  static func isZero(_ bytes: UnsafeRawBufferPointer) -> Bool {
    guard let first = bytes.baseAddress else { return true }
    return bytes[0] == 0 && memcmp(first, first + 1, bytes.count - 1) == 0
  }

  /// It ends with the first holes that are too many, so it takes no longer than what is really there allows.
  private static func hasMore(than most: Int64, _ file: Int32, _ size: Int64) -> Bool {
    var (position, holes) = (Int64(0), Int64(0))
    while position < size {
      let data = Int64(lseek(file, off_t(position), reel_seek_data))
      // ENXIO: a hole up to the end. Anything else: the file system does not tell.
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
