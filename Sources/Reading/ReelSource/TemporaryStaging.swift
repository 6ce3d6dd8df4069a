import CReel
import Glibc
import ReelCore
import Synchronization

/// Private copies that never become objects, for stores to which bytes are sent. They are unnamed files in a folder, or
/// in memory if they are small. The system frees them when no descriptor is left, however the process ends.
public struct TemporaryStaging: StagingArea {
  private let folder: String
  private let randomness: any Randomness

  /// - Parameter folder: must exist; nil for `TMPDIR`, or `/tmp`.
  public init(folder: String? = nil, randomness: any Randomness = SystemRandomness()) {
    self.folder = folder ?? getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp"
    self.randomness = randomness
  }

  /// Creates a file of mode 0600. Blocks.
  /// - Throws: `storeFull`, `storeUnusable` if nothing can be created in the folder, `unavailable` (no descriptors or
  ///   memory left), `interrupted` (a disk error).
  public func makeFile() throws(UploadError) -> any StagedFile {
    try rethrowing(
      as: { UnnamedFile.failure($0.code, "make a private copy", in: folder) }
    ) { () throws(SystemError) in
      if let file = try withoutName() { return file }
      // A sweep may remove the name before the file is opened for reading.
      for _ in 0..<3 { if let file = try unlinked() { return file } }
      throw SystemError(code: ENOENT, call: "open")
    }
  }

  /// Creates the file in memory if it has up to 1 MiB, and all such files of the process together no more than 32 MiB.
  /// Blocks.
  /// - Throws: the errors of ``makeFile()``.
  public func makeFile(upTo size: Int64) throws(UploadError) -> any StagedFile {
    if let file = MemoryFile(upTo: size) { return file }
    return try makeFile()
  }

  /// Returns nil if the file system lacks O_TMPFILE, or the file can't be reopened through `/proc`.
  private func withoutName() throws(SystemError) -> UnnamedFile? {
    do throws(SystemError) {
      let writer = try Descriptor(opening: folder, reel_o_tmpfile | O_RDWR, mode: 0o600)
      // The umask may have removed some of these bits.
      try settleMode(0o600, of: writer)
      let reader = open("/proc/self/fd/\(writer.rawValue)", O_RDONLY | O_CLOEXEC)
      return reader < 0 ? nil : UnnamedFile(folder, writer: writer, reader: Descriptor(adopting: reader))
    } catch  where [EOPNOTSUPP, EISDIR, EINVAL].contains(error.code) {
      return nil
    }
  }

  /// Creates the file under a name that exists only for a moment. If it is left behind, any sweep of temporary files
  /// takes it for a dead uploader's.
  private func unlinked() throws(SystemError) -> UnnamedFile? {
    let path = folder + "/upload-" + randomness.name(length: 22) + ".0.part"
    let writer = try Descriptor(opening: path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, mode: 0o600)
    defer { unlink(path) }
    try settleMode(0o600, of: writer)
    do throws(SystemError) {
      let reader = try Descriptor(opening: path, O_RDONLY | O_NOFOLLOW)
      return UnnamedFile(folder, writer: writer, reader: reader)
    } catch  where error.code == ENOENT {
      return nil
    }
  }
}

/// A file of ``TemporaryStaging``.
private final class UnnamedFile: StagedFile {
  private let folder: String
  private let reader: Descriptor
  /// Nil once the file is sealed.
  private let writer: Mutex<Descriptor?>

  init(_ folder: String, writer: Descriptor, reader: Descriptor) {
    self.folder = folder
    self.reader = reader
    self.writer = Mutex(writer)
  }

  var descriptor: Int32 { writer.withLock { $0?.rawValue } ?? reader.rawValue }
  var mayBecomeObject: Bool { false }

  func seal() { writer.withLock { $0 = nil } }

  func failure(_ code: Int32, _ task: String) -> UploadError { Self.failure(code, task, in: folder) }

  static func failure(_ code: Int32, _ task: String, in folder: String) -> UploadError {
    let reason = SystemError(code: code, call: "").reason
    let (kind, advice): (UploadError.Code, ErrorMessage) =
      switch code {
      case ENOSPC, EDQUOT: (.storeFull, "free some space there, then try again")
      case EFBIG: (.tooLarge, "the file is larger than that file system, or a limit of this process, allows")
      case EMFILE, ENFILE, ENOMEM, EAGAIN:
        (.unavailable, "close other programs, raise the limit (ulimit -n), or use fewer \(setting: .jobs)")
      case EIO, ESTALE, ETIMEDOUT: (.interrupted, "check the system log for errors of that disk")
      default: (.storeUnusable, "check that the folder is there and writable for this user")
      }
    return UploadError(kind, "could not \(task) in \(folder) (\(reason)): \(advice)")
  }
}

/// A small file that takes no space on a file system. Once written, it is sealed against further writing
/// (memfd_create(2)).
final class MemoryFile: StagedFile {
  /// The largest size of one such file in bytes.
  static let largest: Int64 = 1 << 20
  /// The largest size of all of them in this process, in bytes.
  static let most: Int64 = 32 << 20
  private static let held = Mutex<Int64>(0)

  private let file: Descriptor
  private let size: Int64

  /// Returns nil if the file is too large, by itself or together with the others, or if the system can't create it.
  init?(upTo size: Int64) {
    guard (0...Self.largest).contains(size), Self.take(size) else { return nil }
    let file = reel_memory_file("reel-copy")
    guard file >= 0 else {
      Self.giveBack(size)
      return nil
    }
    (self.file, self.size) = (Descriptor(adopting: file), size)
  }

  deinit { Self.giveBack(size) }

  private static func take(_ size: Int64) -> Bool {
    held.withLock { held in
      guard held <= most - size else { return false }
      held += size
      return true
    }
  }

  private static func giveBack(_ size: Int64) { held.withLock { $0 -= size } }

  var descriptor: Int32 { file.rawValue }
  var mayBecomeObject: Bool { false }

  func seal() throws(UploadError) {
    let error = reel_seal_memory_file(file.rawValue)
    if error != 0 { throw failure(error, "seal a private copy") }
  }

  func failure(_ code: Int32, _ task: String) -> UploadError {
    UploadError(
      .unavailable,
      "could not \(task) in memory (\(SystemError(code: code, call: "").reason)): close other programs, or use fewer \(setting: .jobs)"
    )
  }
}

/// A source file's bytes for an uploader.
public struct SourceFileBytes: ByteSource {
  private let file: SourceFile

  /// The bytes of `file`, which other processes may change.
  public init(_ file: SourceFile) {
    self.file = file
  }

  /// Always false.
  public var isPrivate: Bool { false }

  /// The descriptor of the source file itself.
  public var descriptor: Int32? { file.handle.descriptor }

  /// Returns less than `buffer.count` only at the end. Blocks.
  public func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws(SourceError) -> Int {
    try file.handle.read(into: buffer, at: offset)
  }

  /// Throws `sourceChanged` if the file's inode, size or one of its times differs from when it was opened. Blocks.
  public func checkUnchanged() throws(SourceError) {
    guard try file.handle.currentIdentity() == file.identity else { throw .changed }
  }
}
