import CReel
import Glibc
import ReelCore

/// A file that is being written where nobody looks, until it gets its name. It goes with this value unless it
/// was given one.
struct TemporaryFile: ~Copyable {
  private(set) var descriptor: Descriptor
  private let folder: Int32
  private let name: String

  private init(adopting descriptor: Descriptor, folder: Int32, name: String) {
    self.descriptor = descriptor
    self.folder = folder
    self.name = name
  }

  deinit {
    if unlinkat(folder, name, 0) == 0 { Failpoint.temporaryRemoved.pass() }
  }

  /// Creates `name`, which must not exist, in the open folder `folder`, with mode 0600.
  static func create(_ name: String, in folder: Int32) throws(SystemError) -> TemporaryFile {
    let raw = try retryingInterrupts("openat") {
      openat(folder, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
    }
    let file = TemporaryFile(adopting: Descriptor(adopting: raw), folder: folder, name: name)
    try Failpoint.temporaryCreated.reach()
    // The umask may have taken that away.
    _ = try retryingInterrupts("fchmod") { fchmod(raw, 0o600) }
    return file
  }

  /// From now on it is open for reading only.
  mutating func seal() throws(SystemError) {
    let raw = try retryingInterrupts("openat") {
      openat(folder, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC)
    }
    descriptor = Descriptor(adopting: raw)
  }

  /// Gives it exactly `mode`, whatever the umask.
  func allow(_ mode: mode_t) throws(SystemError) {
    guard mode != 0o600 else { return }
    _ = try retryingInterrupts("fchmod") { fchmod(descriptor.rawValue, mode) }
  }

  /// Makes the bytes durable. Called once for each file: an fsync that failed must not be asked again.
  func sync() throws(SystemError) {
    _ = try retryingInterrupts("fsync") { fsync(descriptor.rawValue) }
  }

  /// Gives the memory of bytes that are durable back to the system. A large run would push what other programs keep
  /// there out of it, and each next copy would have to take memory that the machine has never touched.
  func dropCache() {
    _ = posix_fadvise(descriptor.rawValue, 0, 0, POSIX_FADV_DONTNEED)
  }

  /// Bytes that the file system says it holds.
  func length() throws(SystemError) -> Int64 {
    var status = stat()
    _ = try retryingInterrupts("fstat") { fstat(descriptor.rawValue, &status) }
    return Int64(status.st_size)
  }

  /// Gives the file its name in `target`, in one step, and never over another one.
  /// - Throws: `EEXIST` when the name is taken.
  func rename(to newName: String, in target: Int32) throws(SystemError) {
    do {
      _ = try retryingInterrupts("renameat2") {
        reel_rename_without_replacing(folder, name, target, newName)
      }
    } catch  where [EINVAL, ENOSYS, EOPNOTSUPP].contains(error.code) {
      try link(to: newName, in: target)
    }
  }

  /// Gives the file the name of another one in `target`, in one step; the other one is gone then.
  func replace(_ other: String, in target: Int32) throws(SystemError) {
    _ = try retryingInterrupts("renameat") { renameat(folder, name, target, other) }
  }

  /// The way of older file systems: a second name, which cannot replace either; the first goes with this
  /// value.
  func link(to newName: String, in target: Int32) throws(SystemError) {
    _ = try retryingInterrupts("linkat") { linkat(folder, name, target, newName, 0) }
  }
}
