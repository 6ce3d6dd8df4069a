import Glibc
import ReelCore

/// The names in a directory, in byte order, kept in one piece of memory: a name costs its own length and
/// eight bytes.
struct NameList: Sendable {
  private struct Span: Sendable {
    let start: UInt32
    let length: UInt32
  }
  private var bytes: [UInt8] = []
  private var spans: [Span] = []

  var count: Int { spans.count }

  subscript(index: Int) -> [UInt8] {
    let span = spans[index]
    return Array(bytes[Int(span.start)..<Int(span.start + span.length)])
  }

  /// Reads the directory. Blocks.
  /// - Throws: `unreadable` and the like; also for a directory with more than 4 GB of names.
  init(of directory: DirectoryHandle) throws(SourceError) {
    do {
      try read(directory)
    } catch {
      throw SourceError(error)
    }
    sort()
  }

  private mutating func read(_ directory: DirectoryHandle) throws(SystemError) {
    // A description of its own: its position is not shared with whoever lists the directory again.
    let own = try directory.descriptor.holding { number throws(SystemError) in
      try retryingInterrupts("openat") { openat(number, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC) }
    }
    guard let stream = fdopendir(own) else {
      let error = SystemError.last("fdopendir")
      close(own)
      throw error
    }
    defer { closedir(stream) }
    while true {
      errno = 0
      guard let entry = readdir(stream) else {
        if errno != 0 { throw SystemError.last("readdir") }
        return
      }
      try append(entry)
    }
  }

  private mutating func append(_ entry: UnsafeMutablePointer<dirent>) throws(SystemError) {
    let buffer = Self.name(of: entry)
    let length = buffer.count
    if buffer.elementsEqual(".".utf8) || buffer.elementsEqual("..".utf8) { return }
    guard let start = UInt32(exactly: bytes.count), UInt32(exactly: bytes.count + length) != nil else {
      throw SystemError(code: EOVERFLOW, call: "readdir")
    }
    spans.append(Span(start: start, length: UInt32(length)))
    bytes.append(contentsOf: buffer)
  }

  /// As long as the entry says: `NAME_MAX` is 255, but a name of 255 UTF-16 units on exFAT, NTFS or a share takes up to
  /// 765 bytes here.
  static func name(of entry: UnsafePointer<dirent>) -> UnsafeRawBufferPointer {
    guard let offset = MemoryLayout<dirent>.offset(of: \.d_name) else {
      return UnsafeRawBufferPointer(start: nil, count: 0)
    }
    let name = UnsafeRawPointer(entry).advanced(by: offset)
    let room = max(0, Int(entry.pointee.d_reclen) - offset)
    return UnsafeRawBufferPointer(start: name, count: strnlen(name.assumingMemoryBound(to: CChar.self), room))
  }

  private mutating func sort() {
    let bytes = bytes
    spans.sort { left, right in
      bytes[Int(left.start)..<Int(left.start + left.length)]
        .lexicographicallyPrecedes(bytes[Int(right.start)..<Int(right.start + right.length)])
    }
  }
}
