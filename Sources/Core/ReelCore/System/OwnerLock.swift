import Glibc
import Synchronization

/// A file that is locked by the kernel for as long as its owner lives: however a process ends, the lock ends
/// with it, and whoever finds the lock free knows that the owner is dead.
///
/// The lock is a `flock` on a descriptor that is closed on exec, so no child inherits it. Another kernel may not see
/// it, so the file names the owner's (``HostIdentity``), and ``renew()`` tells others that the owner lives. Where a file
/// system has no locks at all (NFS without lockd, Lustre without `flock`), that can do for this kernel, too.
package final class OwnerLock: Sendable {
  /// The owner's name: the lock file is `NAME.owner`.
  package let name: String
  private let path: String
  private let host: String
  private let needsLock: Bool
  /// Nil once it has retired.
  private let locked: Mutex<Descriptor?>

  /// What every owner's file ends with.
  package static let suffix = ".owner"

  /// What follows ``suffix`` while a lock file is being made; one that stays so is left over from a crash.
  package static let unfinishedSuffix = ".new"

  /// Creates `directory/NAME.owner` (0600), locked from the first moment that it has that name.
  /// - Parameter needsLock: false where everybody asks with a lease, and the owner renews it: where the file system has no
  ///   locks, it goes without.
  /// - Throws: ``SystemError`` when the file can't be created or locked; `EEXIST` when `name` is taken.
  package convenience init(directory: String, name: String, needsLock: Bool = true) throws(SystemError) {
    try self.init(directory: directory, name: name, host: HostIdentity.current(), needsLock: needsLock)
  }

  /// - Parameter host: the kernel that the file names; tests play another machine with it.
  package init(directory: String, name: String, host: String, needsLock: Bool = true) throws(SystemError) {
    self.name = name
    self.host = host
    self.needsLock = needsLock
    path = directory + "/" + name + Self.suffix
    locked = Mutex(try Self.createLocked(path, host, needsLock))
    try Failpoint.lockFileNamed.reach()
  }

  /// Whether the owner `name` is alive: its file is there, and locked by somebody or, where there may be owners under
  /// other kernels, renewed by one of those not long ago.
  /// - Parameter foreignLease: how long an owner that the file does not show to be under this kernel counts as alive
  ///   after it renewed its file, and any where the file system has no locks; nil where there is none, and the lock tells.
  /// - Throws: ``SystemError`` when that can't be found out; treat such an owner as alive.
  package static func isAlive(
    directory: String, name: String, foreignLease: Duration? = nil
  ) throws(SystemError) -> Bool {
    let path = directory + "/" + name + suffix
    // Shared, so that two who ask at once do not take each other for the owner.
    guard let file = try lock(path, LOCK_SH, orLease: foreignLease) else { return try exists(path) }
    defer { unlock(file.descriptor) }
    return try mayLive(file, path, foreignLease)
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
      guard let file = try lock(path, LOCK_EX, orLease: foreignLease) else { continue }
      defer { unlock(file.descriptor) }
      // An unfinished one protects nothing yet, and its maker makes another.
      if ending == suffix, try mayLive(file, path, foreignLease) { continue }
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
        descriptor = try Self.createLocked(path, host, needsLock)
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
  private static func createLocked(
    _ path: String, _ host: String, _ needsLock: Bool
  ) throws(SystemError) -> Descriptor {
    let unfinished = path + unfinishedSuffix
    while true {
      let descriptor = try Descriptor(
        opening: unfinished, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, mode: 0o600)
      try Failpoint.lockFileCreated.reach()
      do throws(SystemError) {
        // Waits for a sweeper that looks at the file just now; it holds it for a moment only.
        _ = try retryingInterrupts("flock") { flock(descriptor.rawValue, LOCK_EX) }
      } catch  where needsLock || !isWithoutLocks(error) {
        unlink(unfinished)
        throw error
      } catch {}
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

  /// It is the file system that has none.
  private static func isWithoutLocks(_ error: SystemError) -> Bool {
    [ENOLCK, ENOSYS, EOPNOTSUPP].contains(error.code)
  }

  private static func write(_ host: String, to descriptor: Descriptor) throws(SystemError) {
    let line = Array((host + "\n").utf8)
    _ = try retryingInterrupts("write") { pwrite(descriptor.rawValue, line, line.count, 0) }
  }

  /// An owner's file that nobody else has locked here.
  private struct UnownedFile {
    let descriptor: Descriptor
    /// Whether it is locked by us; it can't be where there are no locks.
    let isLocked: Bool
  }

  /// Whether the owner of that file may live under another kernel, or under this one where no lock can tell.
  private static func mayLive(
    _ file: UnownedFile, _ path: String, _ lease: Duration?
  ) throws(SystemError) -> Bool {
    guard let lease else { return false }
    var line = [UInt8](repeating: 0, count: 256)
    let count = try retryingInterrupts("read") { pread(file.descriptor.rawValue, &line, line.count, 0) }
    // One that names no host is an older Reel's, on whatever machine.
    let host = String(decoding: line.prefix(count).prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self)
    if file.isLocked, HostIdentity.isOneKernel(host, HostIdentity.current()) { return false }
    return try now(beside: path) - modificationTime(of: file.descriptor) < lease
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

  /// The locked file, or nil when somebody else holds it or it is not there. Where there are no locks, and there is a
  /// lease, the file as it is.
  private static func lock(
    _ path: String, _ kind: Int32, orLease lease: Duration?
  ) throws(SystemError) -> UnownedFile? {
    let raw = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
    if raw < 0 {
      if errno == ENOENT { return nil }
      throw SystemError.last("open")
    }
    let descriptor = Descriptor(adopting: raw)
    do {
      _ = try retryingInterrupts("flock") { flock(raw, kind | LOCK_NB) }
      return UnownedFile(descriptor: descriptor, isLocked: true)
    } catch  where error.code == EWOULDBLOCK {
      return nil
    } catch  where lease != nil && isWithoutLocks(error) {
      return UnownedFile(descriptor: descriptor, isLocked: false)
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
