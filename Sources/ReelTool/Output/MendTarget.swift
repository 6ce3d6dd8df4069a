import CReel
import Glibc
import ReelCore
import ReelSource

/// Where mended files go.
struct MendTarget: Sendable {
  /// Nil for a single file.
  let folder: SourcePath?
  /// Whether files that are there are replaced.
  let replaces: Bool
  private let file: SourcePath?

  /// - Throws: ``CommandFailure`` for a file that is a folder, and for a folder that is none.
  init(output: SourcePath?, folder: SourcePath?, replaces: Bool) throws {
    (file, self.folder, self.replaces) = (output, folder, replaces)
    if let output, PictureTarget.kind(of: output) == S_IFDIR || output.bytes.last == UInt8(ascii: "/") {
      throw CommandFailure(.usage, "-o \(output.text) is a folder; name a file, or use --to")
    }
    if let folder, let kind = PictureTarget.kind(of: folder), kind != S_IFDIR {
      throw CommandFailure(.usage, "--to \(folder.text) is not a folder")
    }
  }

  var isOneFile: Bool { file != nil }

  /// Where the mended `source` goes.
  /// - Parameter container: what its extension is to say; nil to leave it as it is.
  func path(
    for source: SourcePath, below inputs: [SourceInput], extension container: MediaContainer?
  ) -> SourcePath {
    if let file { return file }
    let place = place(of: source, below: inputs)
    // What leads out of the folder is only a name in it.
    let parts = place.bytes.split(separator: UInt8(ascii: "/"))
    let isInside = !parts.contains { $0.elementsEqual("..".utf8) || $0.elementsEqual(".".utf8) }
    var path = (folder ?? SourcePath(".")).appending(isInside ? place.bytes : place.lastComponent.bytes)
    if let container {
      let claimed = path.claimedExtension.map { $0.utf8.count } ?? -1
      path = SourcePath(bytes: path.bytes.dropLast(claimed + 1) + Array(".\(container.fileExtension)".utf8))
    }
    return path
  }

  /// The path from the longest input that holds it; of an input itself, its name.
  func place(of path: SourcePath, below inputs: [SourceInput]) -> SourcePath {
    let slash = UInt8(ascii: "/")
    let folders = inputs.map { $0.path.bytes.last == slash ? $0.path.bytes : $0.path.bytes + [slash] }
    let holding = folders.filter { path.bytes.starts(with: $0) }.max { $0.count < $1.count }
    return holding.map { SourcePath(bytes: path.bytes.dropFirst($0.count)) } ?? path.lastComponent
  }
}

/// A mended file before it has its name: beside its place, and gone with this unless it is finished.
final class MendDraft: SourceHandle {
  private let path: SourcePath
  private let temporary: SourcePath
  private let source: FileIdentity
  private let replaces: Bool
  private let opened: Descriptor

  /// Makes the folders that it lies in.
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
    do throws(SystemError) {
      opened = Descriptor(
        adopting: try retryingInterrupts("open") {
          temporary.withCString { open($0, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o666) }
        })
    } catch {
      throw Self.failure(path, error)
    }
    try checkPlace()
  }

  deinit {
    _ = temporary.withCString { unlink($0) }
  }

  /// The file itself, open for reading and writing.
  var output: Descriptor { opened }

  var descriptor: Int32? { opened.rawValue }

  func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws(SourceError) -> Int {
    do throws(SystemError) {
      return try retryingInterrupts("pread") {
        pread(opened.rawValue, buffer.baseAddress, buffer.count, off_t(offset))
      }
    } catch {
      throw SourceError(.unreadable, "the mended file could not be read: \(error.reason)")
    }
  }

  func currentIdentity() throws(SourceError) -> FileIdentity {
    var status = stat()
    guard fstat(opened.rawValue, &status) == 0 else {
      throw SourceError(
        .unreadable, "the mended file could not be looked at: \(SystemError.last("fstat").reason)")
    }
    let nanoseconds = { (time: timespec) in Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec) }
    return FileIdentity(
      device: UInt64(status.st_dev), inode: UInt64(status.st_ino), size: Int64(status.st_size),
      modifiedAt: nanoseconds(status.st_mtim), changedAt: nanoseconds(status.st_ctim))
  }

  /// The file as it is now, to be read.
  func sourceFile() throws(ProbeError) -> SourceFile {
    do throws(SourceError) {
      return SourceFile(path: path, identity: try currentIdentity(), handle: self)
    } catch {
      throw ProbeError(.unreadable, error.message)
    }
  }

  /// Makes it durable, and gives it its name.
  /// - Throws: `notWritten`.
  func finish() throws(MendError) {
    do throws(SystemError) {
      _ = try retryingInterrupts("fsync") { fsync(opened.rawValue) }
    } catch {
      throw Self.failure(path, error)
    }
    try checkPlace()
    do throws(SystemError) {
      if replaces { try rename() } else { try link() }
      try syncFolder()
    } catch {
      if error.code == EEXIST { throw taken }
      throw Self.failure(path, error)
    }
  }

  // MARK: Names

  private var taken: MendError {
    MendError(.notWritten, "\(path.text) already exists; name another place, or use --force")
  }

  /// Before hours of work, and once more after them.
  private func checkPlace() throws(MendError) {
    var status = stat()
    guard path.withCString({ lstat($0, &status) }) == 0 else { return }
    guard replaces else { throw taken }
    var target = stat()
    let isSource =
      path.withCString({ stat($0, &target) }) == 0 && UInt64(target.st_dev) == source.device
      && UInt64(target.st_ino) == source.inode
    guard !isSource else {
      throw MendError(.notWritten, "\(path.text) is the source itself, which is never replaced")
    }
    guard status.st_mode & S_IFMT == S_IFREG else {
      throw MendError(.notWritten, "\(path.text) is not a regular file, and is not replaced")
    }
  }

  private func rename() throws(SystemError) {
    _ = try retryingInterrupts("rename") {
      temporary.withCString { from in path.withCString { Glibc.rename(from, $0) } }
    }
  }

  /// A second name never replaces a file.
  private func link() throws(SystemError) {
    let result = temporary.withCString { from in path.withCString { Glibc.link(from, $0) } }
    guard result != 0 else { return }
    let error = SystemError.last("link")
    guard [EPERM, EOPNOTSUPP, ENOSYS, EMLINK].contains(error.code) else { throw error }
    // A file system without second names.
    let renamed = temporary.withCString { from in
      path.withCString { reel_rename_without_replacing(AT_FDCWD, from, AT_FDCWD, $0) }
    }
    guard renamed != 0 else { return }
    let refused = SystemError.last("rename")
    guard [EINVAL, ENOSYS].contains(refused.code) else { throw refused }
    // Nor with this; that nothing is there was seen above.
    try rename()
  }

  private func syncFolder() throws(SystemError) {
    let folder = path.bytes.lastIndex(of: UInt8(ascii: "/")).map { SourcePath(bytes: path.bytes[...$0]) }
    let number = try retryingInterrupts("open") {
      (folder ?? SourcePath(".")).withCString { open($0, O_RDONLY | O_DIRECTORY | O_CLOEXEC) }
    }
    try Descriptor(adopting: number).syncFolder()
  }

  private static func makeFolders(of path: SourcePath) throws(MendError) {
    let slash = UInt8(ascii: "/")
    for place in path.bytes.indices where path.bytes[place] == slash && place > 0 {
      let folder = SourcePath(bytes: path.bytes[..<place])
      let result = folder.withCString { mkdir($0, 0o777) }
      if result != 0, errno != EEXIST, errno != EISDIR {
        let error = SystemError.last("mkdir")
        guard PictureTarget.kind(of: folder) == S_IFDIR else { throw failure(folder, error) }
      }
    }
  }

  private static func failure(_ path: SourcePath, _ error: SystemError) -> MendError {
    MendError(.notWritten, "\(path.text) can't be written: \(error.reason)")
  }
}

extension SourcePath {
  fileprivate func withCString<Result>(_ body: (UnsafePointer<CChar>) -> Result) -> Result {
    let bytes = bytes.map(CChar.init(bitPattern:)) + [0]
    return bytes.withUnsafeBufferPointer { buffer in
      // Never empty.
      buffer.baseAddress.map(body) ?? "".withCString(body)
    }
  }
}
