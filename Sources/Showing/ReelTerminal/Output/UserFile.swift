import Glibc
import ReelCore

/// A file of the user's own that a command reads or writes as a whole: a policy, a lock, a report.
package struct UserFile {
  /// All of its bytes.
  /// - Parameter limit: in bytes; of more only so many are read, and one.
  package static func read(_ path: String, upTo limit: Int) throws(SystemError) -> [UInt8] {
    try Descriptor(opening: path, O_RDONLY | O_NOCTTY).readToEnd(limit: limit + 1)
  }

  /// Its last bytes, or all where there are no more.
  static func readEnd(of path: String, upTo limit: Int) throws(SystemError) -> [UInt8] {
    let file = try Descriptor(opening: path, O_RDONLY | O_NOCTTY)
    // Refused where there are fewer.
    _ = lseek(file.rawValue, -off_t(limit), SEEK_END)
    return try file.readToEnd(limit: limit)
  }

  package let path: String
  private let stream: OutputStream
  private let appends: Bool
  private let isNew: Bool

  /// Opens it for writing before the work is done, so that a wrong name costs nothing; it keeps its old content until
  /// ``write(_:)``.
  /// - Parameter form: what it is to be; nil for one that is added to.
  /// - Throws: ``OutputFailure``; ``OutputRefusal`` where it holds something else.
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

  /// Whether both are one file, which only one of them can be written to.
  package func isSameFile(as other: UserFile) -> Bool { size != nil && stream.isSamePlace(as: other.stream) }

  /// Bytes; nil for a pipe or a device.
  package var size: Int? {
    var status = stat()
    guard fstat(stream.descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
    return Int(clamping: status.st_size)
  }

  /// Puts `text` in place of what was there, as a whole or not at all, where its folder allows that; or after it.
  package func write(_ text: String) throws {
    guard !appends, size != nil else { return try stream.write(text) }
    do {
      if let file = try? WholeFile(at: path) {
        try file.write(text)
        if (try? file.finish(durably: false)) != nil { return }
      }
      // Nobody may put another file into its place: its folder is somebody else's, or it is mounted alone.
      _ = ftruncate(stream.descriptor, 0)
      try stream.write(text)
    } catch {
      if isNew { unlink(path) }
      throw error
    }
  }
}
