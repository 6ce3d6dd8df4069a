import Glibc
import Synchronization

/// A file that is locked by the kernel for as long as its owner lives: however a process ends, the lock ends
/// with it, and whoever finds the lock free knows that the owner is dead.
///
/// The lock is a `flock` on a descriptor that is closed on exec, so no child inherits it. Another kernel may not see
/// it, so the file names the owner's (``HostIdentity``), and ``renew()`` tells others that the owner lives.
package final class OwnerLock: Sendable {
  /// The owner's name: the lock file is `NAME.owner`.
  package let name: String
  private let path: String
  private let host: String
  /// Nil once it has retired.
  private let locked: Mutex<Descriptor?>

  /// What every owner's file ends with.
  package static let suffix = ".owner"

  /// What follows ``suffix`` while a lock file is being made; one that stays so is left over from a crash.
  package static let unfinishedSuffix = ".new"

  /// Creates `directory/NAME.owner` (0600), locked from the first moment that it has that name.
  /// - Throws: ``SystemError`` when the file can't be created or locked; `EEXIST` when `name` is taken.
  package convenience init(directory: String, name: String) throws(SystemError) {
    try self.init(directory: directory, name: name, host: HostIdentity.current())
  }

  /// - Parameter host: the kernel that the file names; tests play another machine with it.
  package init(directory: String, name: String, host: String) throws(SystemError) {
    self.name = name
    self.host = host
    path = directory + "/" + name + Self.suffix
    locked = Mutex(try Self.createLocked(path, host))
    try Failpoint.lockFileNamed.reach()
  }

  /// Whether the owner `name` is alive: its file is there, and locked by somebody or, where there may be owners under
  /// other kernels, renewed by one of those not long ago.
  /// - Parameter foreignLease: how long an owner that the file does not show to be under this kernel counts as alive
  ///   after it renewed its file; nil where there is none, and the lock tells.
  /// - Throws: ``SystemError`` when that can't be found out; treat such an owner as alive.
  package static func isAlive(
    directory: String, name: String, foreignLease: Duration? = nil
  ) throws(SystemError) -> Bool {
    let path = directory + "/" + name + suffix
    // Shared, so that two who ask at once do not take each other for the owner.
    guard let descriptor = try lock(path, LOCK_SH) else { return try exists(path) }
    defer { unlock(descriptor) }
    return try mayLiveElsewhere(descriptor, path, foreignLease)
  }

  /// Removes what the owner `name` has left (`NAME.owner`, or an unfinished one) if it is dead.
  /// - Parameter foreignLease: as in ``isAlive(directory:name:foreignLease:)``.
  /// - Returns: whether there was something, and it is gone.
  /// - Throws: ``SystemError`` when its state can't be found out or a file can't be removed.
  @discardableResult
  package static func removeIfDead(
    directory: String, name: String, foreignLease: Duration? = nil
  ) throws(SystemError) -> Bool {
    var removed = false
    for ending in [suffix + unfinishedSuffix, suffix] {
      let path = directory + "/" + name + ending
      // Removed only while we hold its lock: an owner that is being born sees that its file has gone.
      guard let descriptor = try lock(path, LOCK_EX) else { continue }
      defer { unlock(descriptor) }
      // An unfinished one protects nothing yet, and its maker makes another.
      if ending == suffix, try mayLiveElsewhere(descriptor, path, foreignLease) { continue }
      if unlink(path) == 0 {
        removed = true
        Failpoint.deadLockRemoved.pass()
      } else if errno != ENOENT {
        throw SystemError.last("unlink")
      }
    }
    return removed
  }

  /// Shows that the owner lives where others can't see its lock: its file gets the present time of its file system. One
  /// that was removed meanwhile, because this machine slept for longer than a lease, is made anew. Blocks.
  /// - Throws: ``SystemError`` when it can't be written.
  package func renew() throws(SystemError) {
    try locked.withLock { descriptor throws(SystemError) in
      guard let current = descriptor else { return }
      if try Self.exists(path) {
        // Written, not touched: a file system over the network takes the time of a write from its server.
        try Self.write(host, to: current)
        try current.sync()
      } else {
        descriptor = try Self.createLocked(path, host)
      }
    }
  }

  /// Removes the file, and lets go of the lock.
  package func retire() {
    locked.withLock { descriptor in
      guard descriptor.take() != nil else { return }
      unlink(path)
      Failpoint.lockFileRemoved.pass()
    }
  }

  /// Locks a file under another name first, so that nobody ever sees `path` unlocked, or without its host, while its
  /// owner lives.
  private static func createLocked(_ path: String, _ host: String) throws(SystemError) -> Descriptor {
    let unfinished = path + unfinishedSuffix
    while true {
      let descriptor = try Descriptor(
        opening: unfinished, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, mode: 0o600)
      try Failpoint.lockFileCreated.reach()
      // Waits for a sweeper that looks at the file just now; it holds it for a moment only.
      _ = try retryingInterrupts("flock") { flock(descriptor.rawValue, LOCK_EX) }
      try Failpoint.lockFileLocked.reach()
      if try descriptor.status().st_nlink == 0 { continue }  // That sweeper took it for a dead one's.
      try write(host, to: descriptor)
      do {
        _ = try retryingInterrupts("rename") { rename(unfinished, path) }
        return descriptor
      } catch  where error.code == ENOENT {
        continue  // So did one under another kernel, which does not see the lock.
      }
    }
  }

  private static func write(_ host: String, to descriptor: Descriptor) throws(SystemError) {
    let line = Array((host + "\n").utf8)
    _ = try retryingInterrupts("write") { pwrite(descriptor.rawValue, line, line.count, 0) }
  }

  /// Whether the owner of a file that nobody has locked here may live under another kernel.
  private static func mayLiveElsewhere(
    _ file: Descriptor, _ path: String, _ lease: Duration?
  ) throws(SystemError) -> Bool {
    guard let lease else { return false }
    var line = [UInt8](repeating: 0, count: 256)
    let count = try retryingInterrupts("read") { pread(file.rawValue, &line, line.count, 0) }
    // One that names no host is an older Reel's, on whatever machine.
    let host = String(decoding: line.prefix(count).prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self)
    if HostIdentity.isOneKernel(host, HostIdentity.current()) { return false }
    return try now(beside: path) - modificationTime(of: file) < lease
  }

  /// The present time of the file system, as a file that is written there shows it: the clocks of two machines differ.
  private static func now(beside path: String) throws(SystemError) -> Duration {
    // A name that the next sweep removes, should this process die here.
    let scratch = path + unfinishedSuffix
    let file = try Descriptor(opening: scratch, O_RDWR | O_CREAT | O_NOFOLLOW, mode: 0o600)
    defer { unlink(scratch) }
    try write("", to: file)
    return try modificationTime(of: file)
  }

  /// Since 1970.
  private static func modificationTime(of file: Descriptor) throws(SystemError) -> Duration {
    let time = try file.status().st_mtim
    return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
  }

  /// The locked file, or nil when somebody else holds it or it is not there.
  private static func lock(_ path: String, _ kind: Int32) throws(SystemError) -> Descriptor? {
    let raw = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
    if raw < 0 {
      if errno == ENOENT { return nil }
      throw SystemError.last("open")
    }
    let descriptor = Descriptor(adopting: raw)
    do {
      _ = try retryingInterrupts("flock") { flock(raw, kind | LOCK_NB) }
      return descriptor
    } catch  where error.code == EWOULDBLOCK {
      return nil
    }
  }

  /// Closing is not enough: a child of this process has the lock, too, between its fork and its exec.
  private static func unlock(_ descriptor: Descriptor) { _ = flock(descriptor.rawValue, LOCK_UN) }

  private static func exists(_ path: String) throws(SystemError) -> Bool {
    var status = stat()
    if lstat(path, &status) == 0 { return true }
    if errno == ENOENT { return false }
    throw SystemError.last("lstat")
  }
}
