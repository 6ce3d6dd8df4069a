import Glibc
import ReelCore

/// A regular file that is open for reading.
public final class OpenedFile: SourceHandle {
  let file: Descriptor

  init(descriptor: Descriptor) {
    file = descriptor
  }

  /// Opens the bytes that were written to `file`, which is sealed.
  /// - Throws: `unreadable`, `tooManyOpenFiles`.
  package static func reading(_ file: any StagedFile, as path: SourcePath) throws(SourceError) -> SourceFile {
    let number = try rethrowing(as: SourceError.init) { () throws(SystemError) in
      try retryingInterrupts("dup") { fcntl(file.descriptor, F_DUPFD_CLOEXEC, 3) }
    }
    let opened = OpenedFile(descriptor: Descriptor(adopting: number))
    return SourceFile(path: path, identity: try opened.currentIdentity(), handle: opened)
  }

  /// Stays open as long as this object lives.
  public var descriptor: Int32? { file.rawValue }

  /// Fills `buffer` as far as the file goes: returns less than `buffer.count` only at the end. Blocks.
  /// - Throws: `unreadable` on a disk error.
  public func read(
    into buffer: UnsafeMutableRawBufferPointer, at offset: Int64
  ) throws(SourceError) -> Int {
    try rethrowing(as: SourceError.init) { () throws(SystemError) in
      try file.holding { number throws(SystemError) in try readFully(number, into: buffer, at: offset) }
    }
  }

  /// Calls `fstat`. Blocks.
  public func currentIdentity() throws(SourceError) -> FileIdentity {
    try FileStatus(of: file).identity
  }

  /// Calls `fstat`, which counts in blocks of 512 bytes. Blocks.
  public func storedBytes() -> Int64? {
    var status = stat()
    guard file.holding({ fstat($0, &status) }) == 0 else { return nil }
    return Int64(status.st_blocks).multipliedClamped(by: 512)
  }

  /// Tells the kernel that the file will be read from its beginning to its end.
  func willBeReadInOrder() {
    file.holding { _ = posix_fadvise($0, 0, 0, POSIX_FADV_SEQUENTIAL) }
  }
}

/// A file that was found but is not open for reading.
struct LocatedFile: Sendable {
  /// Opened with `O_PATH`: its status can be read, but not its bytes.
  let descriptor: Descriptor
  let status: FileStatus

  /// Opens the file for reading.
  /// - Throws: `isLink`, `isDirectory` or `notRegular` unless it is a regular file; `denied` and the like.
  func openRegular() throws(SourceError) -> OpenedFile {
    try status.checkRegular()
    return OpenedFile(descriptor: try reopen(flags: O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC))
  }

  /// Opens the directory for listing, with an open file description of its own.
  func openDirectory() throws(SourceError) -> DirectoryHandle {
    do {
      let opened = try descriptor.call("openat") { openat($0, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC) }
      return DirectoryHandle(descriptor: Descriptor(adopting: opened), identity: status.directoryIdentity)
    } catch {
      guard error.code == EACCES else { throw SourceError(error) }
      throw SourceError(
        .denied, "there is no permission to list this folder; ask its owner, or change its mode")
    }
  }

  /// Opens the same file, whatever its name means by now: only /proc can open what an `O_PATH` descriptor holds.
  private func reopen(flags: Int32) throws(SourceError) -> Descriptor {
    do {
      return Descriptor(adopting: try descriptor.call("open") { open("/proc/self/fd/\($0)", flags) })
    } catch {
      // Another program holds a write lease on it, and has just been told that a reader is waiting.
      if error.code == EAGAIN {
        throw SourceError(
          .sourceChanged, "another program has it open for writing; wait until that is done, then try again")
      }
      guard error.code == ENOENT else { throw SourceError(error) }
      throw SourceError(.unreadable, "Reel opens files through /proc, and /proc is not there; mount it")
    }
  }
}

/// A file of settings or names to which the user points Reel. It is the user's own, so links and pipes are allowed, as
/// in `--files0-from <(find … -print0)`.
enum NamedInput {
  /// Returns the whole content. Blocks, for a pipe until its other end is closed.
  /// - Throws: `sidecarInvalid` if there are more than `limit` bytes; `notFound` and the like.
  static func read(_ path: SourcePath, upTo limit: Int) throws(SourceError) -> [UInt8] {
    let name = try PathBytes(path.bytes)
    return try read("open", upTo: limit) { open(name.characters, O_RDONLY | O_CLOEXEC | O_NOCTTY) }
  }

  /// Returns standard input up to its end. Blocks.
  static func readStandardInput(upTo limit: Int) throws(SourceError) -> [UInt8] {
    try read("fcntl", upTo: limit) { fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0) }
  }

  private static func read(
    _ call: String, upTo limit: Int, _ opening: () -> Int32
  ) throws(SourceError) -> [UInt8] {
    let bytes = try rethrowing(as: SourceError.init) { () throws(SystemError) in
      let file = Descriptor(adopting: try retryingInterrupts(call, opening))
      return try file.holding { _ throws(SystemError) in try file.readToEnd(limit: limit + 1) }
    }
    guard bytes.count <= limit else {
      throw SourceError(.sidecarInvalid, "it is larger than \(limit >> 20) MB; split it")
    }
    return bytes
  }
}

extension SourceError {
  /// What a system call's failure means for a person. It does not name the file; its reporter does.
  init(_ error: SystemError) {
    switch error.code {
    case ENOENT: self.init(.notFound, "there is no such file or folder; check the name")
    case ENOTDIR:
      self.init(.notFound, "a part of its path is a file where a folder should be; check the path")
    case EACCES, EPERM:
      self.init(.denied, "there is no permission to read it; ask its owner, or change its mode")
    case ELOOP:
      self.init(.outsideRoot, "it is a chain of symbolic links that never ends; name the file itself")
    case EXDEV: self.init(.outsideRoot, "it leads out of the given folder; name the file itself")
    case ENAMETOOLONG:
      self.init(.invalidName, "its name is too long for this file system; give it a shorter one")
    case EMFILE, ENFILE:
      self.init(
        .tooManyOpenFiles,
        "too many files are open; raise the limit (`ulimit -n`) or use fewer \(setting: .jobs)")
    case EISDIR: self = .isDirectory
    case ENXIO, ENODEV: self = .notRegular("a device")
    default: self.init(.unreadable, "it could not be read (\(error)); check its disk")
    }
  }

  /// - Parameter kind: a noun with its article.
  static func notRegular(_ kind: String) -> SourceError {
    SourceError(
      .notRegular, "it is \(kind), not a file; leave it out, or copy what it gives into a file first")
  }

  static let isLink = SourceError(
    .isLink,
    "it is a symbolic link, or is reached through one; name the file itself, or use \(setting: .followLinks)")

  static let isLinkToFolder = SourceError(
    .isLink, "it is a symbolic link to a folder, which is not entered; name that folder as well")

  static let changed = SourceError(
    .sourceChanged,
    "it changed while Reel was processing it; wait until its writer has finished, then try again")

  static let isDirectory = SourceError(
    .isDirectory, "it is a folder, not a file; ingest takes folders")

  static let nulInName = SourceError(
    .invalidName, "there is a NUL byte in its name; check where the name comes from")

  static let emptyName = SourceError(.invalidName, "its name is empty; check where the name comes from")
}
