import CReel
import Glibc
import ReelCore

/// Writes a file from its beginning to its end, with parts of a source. Both are given as file descriptors.
struct OutputWriter: ~Copyable {
  private let source: Int32
  private let output: Int32
  /// Whether the source has no holes.
  private let isDense: Bool
  /// Gathers small parts, which are written together.
  private let buffer: UnsafeMutableRawBufferPointer
  /// The number of bytes of ``buffer`` that are to be written at ``start``.
  private var filled = 0
  private var start: Int64 = 0

  private static let bufferSize = 1 << 20
  /// Larger parts are copied by the kernel.
  private static let smallPart: Int64 = 256 << 10
  /// More zeros than that become a hole.
  private static let fewZeros: Int64 = 4096

  init(source: Int32, output: Int32) {
    (self.source, self.output) = (source, output)
    buffer = .allocate(byteCount: Self.bufferSize, alignment: 4096)
    let size = lseek(source, 0, SEEK_END)
    let hole = lseek(source, 0, reel_seek_hole)
    isDense = size >= 0 && hole >= size
  }

  deinit { buffer.deallocate() }

  /// Writes into an empty file. Long runs of zeros, and holes in the source, become holes.
  /// - Throws: `notWritten`, `sourceChanged`, `unreadable`.
  mutating func write(_ file: MendedFile) throws(MendError) {
    var (position, end): (Int64, Int64) = (0, 0)
    for part in file.parts {
      let next = position + part.count
      switch part {
      case .bytes(let bytes):
        try gather(bytes, at: position)
        end = next
      case .source(let range) where isDense && part.count <= Self.smallPart:
        try gather(range, at: position)
        end = next
      case .source(let range):
        try flush()
        end = try copy(range, to: position) ?? end
      case .zeros(let count) where count <= Self.fewZeros:
        try gather([UInt8](repeating: 0, count: Int(count)), at: position)
        end = next
      case .zeros: break
      }
      position = next
    }
    if end < position { try gather([0], at: position - 1) }
    try flush()
  }

  // MARK: Small parts

  private mutating func gather(_ bytes: [UInt8], at position: Int64) throws(MendError) {
    try makeRoom(bytes.count, at: position)
    guard bytes.count <= buffer.count else {
      return try bytes.withUnsafeBufferPointer { bytes throws(MendError) in
        try put(UnsafeRawBufferPointer(bytes), position)
      }
    }
    UnsafeMutableRawBufferPointer(rebasing: buffer[filled...]).copyBytes(from: bytes)
    filled += bytes.count
  }

  private mutating func gather(_ range: Range<Int64>, at position: Int64) throws(MendError) {
    let count = Int(range.upperBound - range.lowerBound)
    try makeRoom(count, at: position)
    var done = 0
    while done < count {
      let room = UnsafeMutableRawBufferPointer(rebasing: buffer[filled + done..<filled + count])
      done += try read(into: room, range.lowerBound + Int64(done))
    }
    filled += count
  }

  /// Makes room for `count` bytes in the buffer, whose contents then end at `position`.
  private mutating func makeRoom(_ count: Int, at position: Int64) throws(MendError) {
    if filled + count > buffer.count || position != start + Int64(filled) { try flush() }
    if filled == 0 { start = position }
  }

  private mutating func flush() throws(MendError) {
    try put(UnsafeRawBufferPointer(rebasing: buffer[..<filled]), start)
    start += Int64(filled)
    filled = 0
  }

  // MARK: Large parts

  /// Copies a range. Returns where the copied data ends; nil if all of the range is a hole.
  private func copy(_ range: Range<Int64>, to start: Int64) throws(MendError) -> Int64? {
    var (position, end): (Int64, Int64?) = (range.lowerBound, nil)
    while position < range.upperBound {
      let data = isDense ? range : nextData(from: position, in: range)
      guard !data.isEmpty else { break }
      end = start + data.upperBound - range.lowerBound
      try copyData(data, to: start + data.lowerBound - range.lowerBound)
      position = data.upperBound
    }
    return end
  }

  /// Returns the next bytes that are not in a hole, or all of them if the file system reports no holes.
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
    // Copy what the kernel does not copy by itself.
    while done < count {
      let room = UnsafeMutableRawBufferPointer(
        rebasing: buffer.prefix(Int(min(count - done, Int64(buffer.count)))))
      let got = try read(into: room, range.lowerBound + done)
      try put(UnsafeRawBufferPointer(rebasing: room[..<got]), start + done)
      done += Int64(got)
    }
  }

  // MARK: Calls

  /// - Returns: the number of bytes read, at least one.
  private func read(into room: UnsafeMutableRawBufferPointer, _ offset: Int64) throws(MendError) -> Int {
    while true {
      let count = pread(source, room.baseAddress, room.count, off_t(offset))
      if count > 0 { return count }
      guard count < 0 else {
        throw MendError(
          .sourceChanged, "it became shorter while it was read; try again when nothing writes to it")
      }
      guard errno == EINTR else {
        throw MendError(.unreadable, "it could not be read (system error \(errno)); check the disk it is on")
      }
    }
  }

  private func put(_ bytes: UnsafeRawBufferPointer, _ position: Int64) throws(MendError) {
    try rethrowing(as: { Self.notWritten($0.code) }) { () throws(SystemError) in
      try writeFully(output, bytes, at: position)
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
