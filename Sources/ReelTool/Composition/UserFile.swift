import Glibc
import ReelCore

/// A file of the user's own that a command reads or writes as a whole: a policy, a lock, a report.
struct UserFile {
  /// All of its bytes.
  /// - Parameter limit: in bytes; of more only so many are read, and one.
  static func read(_ path: String, upTo limit: Int) throws(SystemError) -> [UInt8] {
    let file = Descriptor(
      adopting: try retryingInterrupts("open") { open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY) })
    var bytes: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 64 * 1024)
    while bytes.count <= limit {
      let count = try retryingInterrupts("read") { Glibc.read(file.rawValue, &chunk, chunk.count) }
      if count == 0 { break }
      bytes += chunk[..<count]
    }
    return bytes
  }

  let path: String
  private let stream: OutputStream
  private let appends: Bool

  /// Opens it for writing before the work is done, so that a wrong name costs nothing; it keeps its old content until
  /// ``write(_:)``.
  /// - Throws: ``CommandFailure``.
  init(writing path: String, appends: Bool = false) throws {
    self.path = path
    self.appends = appends
    let descriptor = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOCTTY | (appends ? O_APPEND : 0), 0o666)
    guard descriptor >= 0 else {
      throw CommandFailure(.couldNotRun, "\(path) can't be written: \(String(cString: strerror(errno)))")
    }
    stream = OutputStream(descriptor: descriptor)
  }

  /// Puts `text` in place of what was there, or after it.
  func write(_ text: String) throws {
    // A pipe or a device has no length.
    if !appends { _ = ftruncate(stream.descriptor, 0) }
    try stream.write(text)
  }
}
