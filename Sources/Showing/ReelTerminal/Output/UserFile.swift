import Glibc
import ReelCore

/// A file of the user's that a command reads or writes as a whole: a policy, a lock, a report.
package struct UserFile {
  /// Reads all of its bytes.
  /// - Parameter limit: the largest expected size in bytes; of a larger file, this many bytes and one more are read.
  package static func read(_ path: String, upTo limit: Int) throws(SystemError) -> [UInt8] {
    try Descriptor(opening: path, O_RDONLY | O_NOCTTY).readToEnd(limit: limit + 1)
  }

  /// Reads its last bytes, or all if there are fewer.
  static func readEnd(of path: String, upTo limit: Int) throws(SystemError) -> [UInt8] {
    let file = try Descriptor(opening: path, O_RDONLY | O_NOCTTY)
    // lseek fails if the file is shorter.
    _ = lseek(file.rawValue, -off_t(limit), SEEK_END)
    return try file.readToEnd(limit: limit)
  }

  package let path: String
  private let stream: OutputStream
  private let appends: Bool
  private let isNew: Bool

  /// Opens the file for writing before the work is done, so that a wrong name costs nothing. The file keeps its
  /// contents until ``write(_:)``.
  /// - Parameter form: the kind of file to write; nil to append.
  /// - Throws: ``OutputFailure``; ``OutputRefusal`` if the file contains something else.
  package init(writing path: String, as form: OutputForm?) throws {
    try form?.check(path)
    self.path = path
    appends = form == nil
    var facts = stat()
    isNew = stat(path, &facts) != 0
    let descriptor = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOCTTY | (appends ? O_APPEND : 0), 0o666)
    guard descriptor >= 0 else {
      throw OutputFailure(writing: path, errno)
    }
    stream = OutputStream(descriptor: descriptor, name: path)
  }

  /// Whether both paths name the same file, to which only one output can be written.
  package func isSameFile(as other: UserFile) -> Bool { size != nil && stream.isSamePlace(as: other.stream) }

  /// The size in bytes; nil for a pipe or a device.
  package var size: Int? {
    var status = stat()
    guard fstat(stream.descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
    return Int(clamping: status.st_size)
  }

  /// Replaces the file's contents with `text`, completely or not at all if its folder allows that; or appends `text`.
  package func write(_ text: String) throws {
    guard !appends, size != nil else { return try stream.write(text) }
    do {
      if let file = try? WholeFile(at: path) {
        try file.write(text)
        if (try? file.finish(durably: false)) != nil { return }
      }
      // The file can't be replaced, because its folder belongs to another user or the file itself is a mount point.
      _ = ftruncate(stream.descriptor, 0)
      try stream.write(text)
    } catch {
      if isNew { unlink(path) }
      throw error
    }
  }
}
