import FoundationEssentials
import Glibc
import NIOPosix
import Synchronization

/// Threads that may wait for a disk. Event loops and Swift's own threads must not.
///
/// Each request has at most one call in the queue.
final class DiskThreads: Sendable {
  private let pool: NIOThreadPool
  /// The number of bytes of all uploads that wait to be written.
  let waiting = Atomic(0)

  init(count: Int) {
    pool = NIOThreadPool(numberOfThreads: count)
    pool.start()
  }

  func run<Value: Sendable>(
    _ body: @escaping @Sendable () throws(Problem) -> Value
  ) async throws(Problem) -> Value {
    let result: Result<Value, Problem>
    do {
      result = try await pool.runIfActive { Result { () throws(Problem) in try body() } }
    } catch {
      throw .shuttingDown
    }
    return try result.get()
  }

  /// - Parameter body: called on one of the threads, with false when they are being shut down.
  func start(_ body: @escaping @Sendable (Bool) -> Void) {
    pool.submit { body($0 == .active) }
  }

  func close() async { try? await pool.shutdownGracefully() }
}

/// System calls on files. All of them block.
enum Disk {
  /// Calls `body`, and repeats it as long as a signal interrupts it.
  @discardableResult
  static func call<Number: FixedWidthInteger>(
    _ name: String, _ body: () -> Number
  ) throws(Problem) -> Number {
    while true {
      let result = body()
      if result != -1 { return result }
      if errno != EINTR { throw Problem(errno: errno, in: name) }
    }
  }

  /// The contents of a file; nil when there is no such file.
  static func contents(of path: String) throws(Problem) -> [UInt8]? {
    guard let file = try opened(path, O_RDONLY) else { return nil }
    var (bytes, filled) = ([UInt8](repeating: 0, count: 4_096), 0)
    while true {
      let count = try call("read") {
        bytes.withUnsafeMutableBytes {
          read(file.number, $0.baseAddress?.advanced(by: filled), $0.count - filled)
        }
      }
      filled += count
      if count == 0 { return Array(bytes[..<filled]) }
      if filled == bytes.count { bytes += [UInt8](repeating: 0, count: bytes.count) }
    }
  }

  /// Replaces the file at `path` by one with `bytes`, atomically.
  /// - Parameter durably: whether the new file must survive a power cut.
  static func replace(_ path: String, with bytes: [UInt8], durably: Bool) throws(Problem) {
    let new = path + ".new"
    let file = try open(new, O_WRONLY | O_CREAT | O_TRUNC)
    try write(bytes, to: file)
    if durably { try call("fdatasync") { fdatasync(file.number) } }
    try call("rename") { rename(new, path) }
    if durably { try syncFolder(of: path) }
  }

  static func write(_ bytes: [UInt8], to file: OpenFile) throws(Problem) {
    try bytes.withUnsafeBytes { bytes in
      Result { () throws(Problem) in try write(bytes, to: file, at: 0) }
    }.get()
  }

  static func write(_ bytes: UnsafeRawBufferPointer, to file: OpenFile, at offset: Int64) throws(Problem) {
    var done = 0
    while done < bytes.count {
      let count = try call("pwrite") {
        pwrite(
          file.number, bytes.baseAddress?.advanced(by: done), bytes.count - done, off_t(offset) + off_t(done))
      }
      // Some FUSE file systems write nothing and report no error.
      guard count > 0 else { throw Problem(errno: EIO, in: "pwrite") }
      done += count
    }
  }

  /// Opens a file without following a symbolic link. A new file is for this user alone (0600).
  static func open(_ path: String, _ flags: Int32) throws(Problem) -> OpenFile {
    OpenFile(number: try call("open") { Glibc.open(path, flags | O_CLOEXEC | O_NOFOLLOW, 0o600) })
  }

  /// Opens a file; nil when there is no such file.
  static func opened(_ path: String, _ flags: Int32) throws(Problem) -> OpenFile? {
    do throws(Problem) {
      return try open(path, flags)
    } catch {
      guard error == .noSuchUpload else { throw error }
      return nil
    }
  }

  /// The status of a file; nil when there is no such file.
  static func status(of path: String) -> stat? {
    var status = stat()
    return lstat(path, &status) == 0 ? status : nil
  }

  /// Creates the folder (0700) if it is missing; it may be a symbolic link to one.
  /// - Returns: its path without symbolic links, as nothing here follows any.
  static func makeFolder(_ path: String) throws(Problem) -> String {
    if mkdir(path, 0o700) != 0, errno != EEXIST { throw Problem(errno: errno, in: "mkdir") }
    try syncFolder(of: path)
    guard let target = realpath(path, nil) else {
      throw Problem(
        .serviceUnavailable, "storage", "\(path) leads nowhere (\(String(cString: strerror(errno))))")
    }
    defer { free(target) }
    return String(cString: target)
  }

  static func syncFolder(of path: String) throws(Problem) {
    let folder = try open(
      String(path[..<(path.lastIndex(of: "/") ?? path.startIndex)]), O_RDONLY | O_DIRECTORY)
    try call("fsync") { fsync(folder.number) }
  }

  /// The number of bytes that may still be written where `path` is.
  static func room(at path: String) throws(Problem) -> Int64 {
    var status = statvfs()
    try call("statvfs") { statvfs(path, &status) }
    let (bytes, isTooLarge) = Int64(clamping: status.f_bavail).multipliedReportingOverflow(
      by: Int64(clamping: status.f_frsize))
    return isTooLarge ? .max : bytes
  }

  /// The names in a folder, either those that are hidden or those that are not.
  static func names(in folder: String, hidden: Bool = false) throws(Problem) -> [String] {
    guard let stream = opendir(folder) else { throw Problem(errno: errno, in: "opendir") }
    defer { closedir(stream) }
    var names: [String] = []
    while let entry = readdir(stream) {
      let name = withUnsafePointer(to: &entry.pointee.d_name) {
        $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
      }
      if name.hasPrefix(".") == hidden { names.append(name) }
    }
    return names
  }
}

/// An open file, which is closed when its last reference is released.
final class OpenFile: Sendable {
  let number: Int32

  init(number: Int32) { self.number = number }

  var status: stat? {
    var status = stat()
    return fstat(number, &status) == 0 ? status : nil
  }

  deinit { close(number) }
}

extension Problem {
  /// The problem behind the error of a system call on an upload's files.
  init(errno code: Int32, in call: String) {
    switch code {
    case ENOSPC, EDQUOT, EFBIG: self = .diskFull
    case ENOENT, ENOTDIR: self = .noSuchUpload
    default:
      self.init(
        .serviceUnavailable, "storage",
        "the server can't keep uploads just now (\(call): \(String(cString: strerror(code))))", retryAfter: 10
      )
    }
  }
}
