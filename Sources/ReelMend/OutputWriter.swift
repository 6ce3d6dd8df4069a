import CReel
import Glibc
import ReelCore

/// Writes a file from a source, by their descriptors.
struct OutputWriter {
  let source: Int32
  let output: Int32

  private static let pieceSize = 1 << 20

  /// Into an empty file: what is zeros, or a hole in the source, is a hole there.
  /// - Throws: `notWritten`, `sourceChanged`, `unreadable`.
  func write(_ file: MendedFile) throws(MendError) {
    var (position, end): (Int64, Int64) = (0, 0)
    for part in file.parts {
      switch part {
      case .bytes(let bytes):
        try bytes.withUnsafeBufferPointer { bytes throws(MendError) in
          try put(UnsafeRawBufferPointer(bytes), position)
        }
        end = position + part.count
      case .source(let range): end = try copy(range, to: position) ?? end
      case .zeros: break
      }
      position += part.count
    }
    guard end < position else { return }
    try ([0] as [UInt8]).withUnsafeBufferPointer { bytes throws(MendError) in
      try put(UnsafeRawBufferPointer(bytes), position - 1)
    }
  }

  /// Where what was copied ends; nil where all of it is a hole.
  private func copy(_ range: Range<Int64>, to start: Int64) throws(MendError) -> Int64? {
    var (position, end): (Int64, Int64?) = (range.lowerBound, nil)
    while position < range.upperBound {
      let data = nextData(from: position, in: range)
      guard !data.isEmpty else { break }
      end = start + data.upperBound - range.lowerBound
      try copyData(data, to: start + data.lowerBound - range.lowerBound)
      position = data.upperBound
    }
    return end
  }

  /// The next bytes that are not in a hole; all, where the file system knows none.
  private func nextData(from position: Int64, in range: Range<Int64>) -> Range<Int64> {
    let first = lseek(source, off_t(position), reel_seek_data)
    guard first >= 0 else {
      return errno == ENXIO ? range.upperBound..<range.upperBound : position..<range.upperBound
    }
    guard first < range.upperBound else { return range.upperBound..<range.upperBound }
    let hole = lseek(source, first, reel_seek_hole)
    return Int64(first)..<(hole > first ? min(Int64(hole), range.upperBound) : range.upperBound)
  }

  private func copyData(_ range: Range<Int64>, to start: Int64) throws(MendError) {
    var done: Int64 = 0
    let count = range.upperBound - range.lowerBound
    while done < count {
      let copied = reel_copy_range(source, range.lowerBound + done, output, start + done, count - done)
      guard copied > 0 else { break }
      done += copied
    }
    // What the kernel does not copy by itself.
    if done < count { try copyPieces(range.lowerBound + done..<range.upperBound, to: start + done) }
  }

  private func copyPieces(_ range: Range<Int64>, to start: Int64) throws(MendError) {
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: Self.pieceSize, alignment: 4096)
    defer { buffer.deallocate() }
    var done: Int64 = 0
    while range.lowerBound + done < range.upperBound {
      let left = range.upperBound - range.lowerBound - done
      let count = pread(
        source, buffer.baseAddress, Int(min(left, Int64(buffer.count))), off_t(range.lowerBound + done))
      if count < 0, errno == EINTR { continue }
      guard count >= 0 else {
        throw MendError(.unreadable, "it could not be read (system error \(errno)); check the disk it is on")
      }
      guard count > 0 else {
        throw MendError(
          .sourceChanged, "it became shorter while it was read; try again when nothing writes to it")
      }
      try put(UnsafeRawBufferPointer(rebasing: buffer[..<count]), start + done)
      done += Int64(count)
    }
  }

  private func put(_ bytes: UnsafeRawBufferPointer, _ position: Int64) throws(MendError) {
    var done = 0
    while done < bytes.count {
      let count = pwrite(
        output, bytes.baseAddress.map { $0 + done }, bytes.count - done, off_t(position + Int64(done)))
      if count < 0, errno == EINTR { continue }
      guard count > 0 else { throw Self.notWritten(errno) }
      done += count
    }
  }

  private static func notWritten(_ error: Int32) -> MendError {
    switch error {
    case ENOSPC, EDQUOT:
      MendError(.notWritten, "there is no room for the mended file; free some space, or name another folder")
    case EFBIG:
      MendError(.notWritten, "the mended file would be larger than the source allows")
    default: MendError(.notWritten, "the mended file could not be written (system error \(error))")
    }
  }
}
