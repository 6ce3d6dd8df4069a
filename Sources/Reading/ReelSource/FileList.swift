import Glibc
import ReelCore

/// The format of `--files0-from`: names that each end with a NUL (optional after the last one), as `find -print0`
/// writes them.
public enum FileList {
  /// At most 256 MB of names, as they are kept in memory; the user has to split a longer list.
  private static let largest = 256 << 20

  /// In bytes. Longer than `PATH_MAX`, as longer paths are walked step by step. A list whose names end with something
  /// other than NUL would be one long name.
  private static let longestName = 64 << 10

  /// Returns the names in the file at `path`, or in standard input if it is `-`. Blocks.
  ///
  /// - Throws: `invalidName` if a name is empty, or longer than any path; `sidecarInvalid` if the list is too large;
  ///   `notFound` and the like if it can't be read.
  public static func inputs(from path: SourcePath) throws(SourceError) -> [SourceInput] {
    let isStandardInput = path.bytes == [UInt8(ascii: "-")]
    return try inputs(
      in: isStandardInput
        ? try NamedInput.readStandardInput(upTo: largest) : try NamedInput.read(path, upTo: largest))
  }

  static func inputs(in bytes: [UInt8]) throws(SourceError) -> [SourceInput] {
    let names = bytes.split(separator: 0, omittingEmptySubsequences: false)
    let given = names.last?.isEmpty == true ? names.dropLast() : names[...]
    var inputs: [SourceInput] = []
    for (index, name) in given.enumerated() {
      guard !name.isEmpty else {
        throw SourceError(
          .invalidName,
          "name \(index + 1) of the list is empty; make it with `find … -print0`, a NUL after each name")
      }
      guard name.count <= longestName else {
        throw SourceError(
          .invalidName,
          "name \(index + 1) of the list has \(name.count) bytes, and a path has \(longestName) at most; make it with "
            + "`find … -print0`, a NUL after each name")
      }
      inputs.append(SourceInput(path: SourcePath(bytes: name)))
    }
    return inputs
  }
}

/// The names in a directory, in byte order. They are kept in one block of memory, so each costs its own length and
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

  /// The index of the first name that does not come before `name`; ``count`` if all do.
  func firstIndex(notBefore name: [UInt8]) -> Int {
    var (low, high) = (0, count)
    while low < high {
      let middle = (low + high) / 2
      if self[middle].lexicographicallyPrecedes(name) { low = middle + 1 } else { high = middle }
    }
    return low
  }

  /// Reads the directory. Blocks.
  /// - Throws: `unreadable` and the like, also for a directory with more than 4 GB of names.
  init(of directory: DirectoryHandle) throws(SourceError) {
    try rethrowing(as: SourceError.init) { () throws(SystemError) in try read(directory) }
    sort()
  }

  private mutating func read(_ directory: DirectoryHandle) throws(SystemError) {
    // Opened again: the position in this file description is not shared with another listing of the directory.
    let own = try directory.descriptor.call("openat") { openat($0, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC) }
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

  /// Returns the name, whose length the entry determines: `NAME_MAX` is 255, but a name of 255 UTF-16 units on exFAT,
  /// NTFS or a network share takes up to 765 bytes here.
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
