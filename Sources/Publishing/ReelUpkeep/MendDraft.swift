import CReel
import Glibc
import ReelCore
import ReelSource

/// A mended file before it gets its name. It has none in the file system of its target, so that a process that is
/// killed leaves nothing. If the file system has no unnamed files, it has a temporary name beside its target, and is
/// removed with this object.
final class MendDraft: SourceHandle {
  private let path: SourcePath
  /// The temporary name, beside the target.
  private let temporary: SourcePath
  /// Whether the file has the temporary name.
  private let hasName: Bool
  private let source: FileIdentity
  private let replaces: Bool
  private let opened: Descriptor

  /// Creates the file, and the folders above it.
  /// - Parameter source: the file that is mended, which is never replaced.
  /// - Throws: `notWritten`.
  init(at path: SourcePath, source: FileIdentity, replaces: Bool) throws(MendError) {
    (self.path, self.source, self.replaces) = (path, source, replaces)
    try Self.makeFolders(of: path)
    let name = path.lastComponent.bytes
    let folder = path.bytes.dropLast(name.count)
    temporary = SourcePath(
      bytes: folder + Array(".reel-mend-\(SystemRandomness().name(length: 12))".utf8))
    let temporary = temporary
    (opened, hasName) = try rethrowing(
      as: { Self.failure(path, $0) }
    ) { () throws(SystemError) -> (Descriptor, Bool) in
      let place = SourcePath(bytes: folder.isEmpty ? [UInt8(ascii: ".")] : folder)
      if let unnamed = try Self.unnamed(in: place) { return (unnamed, false) }
      return (try temporary.opened(O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, mode: 0o666), true)
    }
    try checkPlace()
  }

  deinit {
    if hasName { _ = temporary.withCString { unlink($0) } }
  }

  /// Returns nil if the file system has no unnamed files, or if there is no `/proc` to name them by later.
  private static func unnamed(in folder: SourcePath) throws(SystemError) -> Descriptor? {
    do throws(SystemError) {
      let file = try folder.opened(reel_o_tmpfile | O_RDWR, mode: 0o666)
      return access(place(of: file), F_OK) == 0 ? file : nil
    } catch  where [EOPNOTSUPP, EISDIR, EINVAL].contains(error.code) {
      return nil
    }
  }

  private static func place(of file: borrowing Descriptor) -> String { "/proc/self/fd/\(file.rawValue)" }

  /// The file itself, open for reading and writing.
  var output: Descriptor { opened }

  var descriptor: Int32? { opened.rawValue }

  func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws(SourceError) -> Int {
    try rethrowing(
      as: { SourceError(.unreadable, "the mended file could not be read: \($0.reason)") }
    ) { () throws(SystemError) in
      try retryingInterrupts("pread") {
        pread(opened.rawValue, buffer.baseAddress, buffer.count, off_t(offset))
      }
    }
  }

  func currentIdentity() throws(SourceError) -> FileIdentity {
    FileIdentity(
      try rethrowing(
        as: { SourceError(.unreadable, "the mended file could not be examined: \($0.reason)") }
      ) { () throws(SystemError) in try opened.status() })
  }

  /// Returns the file as it is now, to be read.
  func sourceFile() throws(ProbeError) -> SourceFile {
    try rethrowing(as: { ProbeError(.unreadable, $0.message) }) { () throws(SourceError) in
      SourceFile(path: path, identity: try currentIdentity(), handle: self)
    }
  }

  /// Makes it durable, and gives it its name.
  /// - Throws: `notWritten`.
  func finish() throws(MendError) {
    try rethrowing(as: { Self.failure(path, $0) }) { () throws(SystemError) in try opened.sync() }
    Failpoint.temporarySynced.pass()
    try checkPlace()
    try rethrowing(
      as: { $0.code == EEXIST ? taken : Self.failure(path, $0) }
    ) { () throws(SystemError) in
      if hasName {
        if replaces { try temporary.rename(to: path) } else { try temporary.takeName(path) }
      } else {
        try name()
      }
      Failpoint.objectNamed.pass()
      try syncFolder()
    }
  }

  // MARK: Names

  private var taken: MendError {
    MendError(.nameTaken, "\(path.text) already exists; name another place, or use --force")
  }

  /// Checks the target before hours of work, and again after them.
  private func checkPlace() throws(MendError) {
    guard let status = path.ownStatus else { return }
    guard replaces else { throw taken }
    guard path.fileStatus.map({ DirectoryIdentity($0) }) != DirectoryIdentity(source) else {
      throw MendError(.nameTaken, "\(path.text) is the source itself, which is never replaced")
    }
    guard status.st_mode & S_IFMT == S_IFREG else {
      throw MendError(.nameTaken, "\(path.text) is not a regular file, and is not replaced")
    }
  }

  /// Gives the unnamed file its name. A name that is taken is replaced by way of a temporary name.
  private func name() throws(SystemError) {
    do throws(SystemError) {
      return try name(path)
    } catch  where replaces && error.code == EEXIST {
      try name(temporary)
    }
    do throws(SystemError) {
      try temporary.rename(to: path)
    } catch {
      _ = temporary.withCString { unlink($0) }
      throw error
    }
  }

  private func name(_ path: SourcePath) throws(SystemError) {
    _ = try retryingInterrupts("linkat") {
      path.withCString { linkat(AT_FDCWD, Self.place(of: opened), AT_FDCWD, $0, AT_SYMLINK_FOLLOW) }
    }
  }

  private func syncFolder() throws(SystemError) {
    let folder = path.bytes.lastIndex(of: UInt8(ascii: "/")).map { SourcePath(bytes: path.bytes[...$0]) }
    try (folder ?? SourcePath(".")).opened(O_RDONLY | O_DIRECTORY).syncFolder()
  }

  private static func makeFolders(of path: SourcePath) throws(MendError) {
    let slash = UInt8(ascii: "/")
    for place in path.bytes.indices where path.bytes[place] == slash && place > 0 {
      let folder = SourcePath(bytes: path.bytes[..<place])
      let result = folder.withCString { mkdir($0, 0o777) }
      if result != 0, errno != EEXIST, errno != EISDIR {
        let error = SystemError.last("mkdir")
        guard folder.fileKind == S_IFDIR else { throw failure(folder, error) }
      }
    }
  }

  private static func failure(_ path: SourcePath, _ error: SystemError) -> MendError {
    MendError(.notWritten, "\(path.text) can't be written: \(error.reason)")
  }
}
