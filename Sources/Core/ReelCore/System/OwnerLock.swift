import Glibc
import Synchronization

/// A file that the kernel keeps locked while its owner lives. However a process ends, its lock ends with it, so a
/// process that finds the lock free knows that the owner is dead.
///
/// The lock is a `flock` on a descriptor that is closed on exec, so no child inherits it. Another kernel may not
/// see the lock, so the file identifies the owner's kernel (``HostIdentity``), and ``renew()`` shows others that
/// the owner is alive. On a file system without any locks (NFS without lockd, Lustre without `flock`), renewal can
/// replace the lock for this kernel, too.
package final class OwnerLock: Sendable {
  /// The owner's name: the lock file is `NAME.owner`.
  package let name: String
  private let path: String
  private let host: String
  private let needsLock: Bool
  /// Nil once the lock has been retired.
  private let locked: Mutex<Descriptor?>

  /// The suffix of every lock file.
  package static let suffix = ".owner"

  /// The suffix after ``suffix`` while a lock file is being created; a file that keeps it is left over from a
  /// crash.
  package static let unfinishedSuffix = ".new"

  /// Creates `directory/NAME.owner` (0600), locked from the moment that it has that name.
  /// - Parameter needsLock: False if every process that asks uses a lease, and the owner renews it. On a file
  ///   system without locks, the owner then works without one.
  /// - Throws: ``SystemError`` if the file cannot be created or locked; `EEXIST` if `name` is taken.
  package convenience init(directory: String, name: String, needsLock: Bool = true) throws(SystemError) {
    try self.init(directory: directory, name: name, host: HostIdentity.current(), needsLock: needsLock)
  }

  /// - Parameter host: The kernel that the file identifies; tests use it to simulate another machine.
  package init(directory: String, name: String, host: String, needsLock: Bool = true) throws(SystemError) {
    self.name = name
    self.host = host
    self.needsLock = needsLock
    path = directory + "/" + name + Self.suffix
    locked = Mutex(try Self.createLocked(path, host, needsLock))
    ExitingOwner.add(path)
    try Failpoint.lockFileNamed.reach()
  }

  /// Whether the owner `name` is alive: its file exists, and is either locked or, where owners may run under other
  /// kernels, was renewed recently by one of those.
  /// - Parameter foreignLease: How long after renewing its file an owner counts as alive if the file does not show
  ///   that it runs under this kernel, or if the file system has no locks. Nil to rely on the lock alone.
  /// - Throws: ``SystemError`` if this cannot be determined; treat such an owner as alive.
  package static func isAlive(
    directory: String, name: String, foreignLease: Duration? = nil
  ) throws(SystemError) -> Bool {
    let path = directory + "/" + name + suffix
    // A shared lock, so that two processes that ask at once do not take each other for the owner.
    guard let file = try lock(path, LOCK_SH, orLease: foreignLease) else { return try exists(path) }
    defer { unlock(file.descriptor) }
    return try mayLive(file, path, foreignLease)
  }

  /// Removes what the owner `name` left (`NAME.owner`, or an unfinished file) if the owner is dead.
  /// - Parameter foreignLease: As in ``isAlive(directory:name:foreignLease:)``.
  /// - Returns: Whether something was found and removed.
  /// - Throws: ``SystemError`` if its state cannot be determined or a file cannot be removed.
  @discardableResult
  package static func removeIfDead(
    directory: String, name: String, foreignLease: Duration? = nil
  ) throws(SystemError) -> Bool {
    var removed = false
    for ending in [suffix + unfinishedSuffix, suffix] {
      let path = directory + "/" + name + ending
      // Remove it only while holding its lock: an owner that is just creating it then notices that the file is
      // gone.
      guard let file = try lock(path, LOCK_EX, orLease: foreignLease) else { continue }
      defer { unlock(file.descriptor) }
      // An unfinished file protects nothing yet, and its creator makes another.
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

  /// Shows that the owner is alive to processes that cannot see its lock, by setting the file's time to the file
  /// system's current time. A file that was removed because this machine slept longer than a lease is created anew.
  /// Blocks.
  /// - Throws: ``SystemError`` if it cannot be written.
  package func renew() throws(SystemError) {
    try locked.withLock { descriptor throws(SystemError) in
      guard let current = descriptor else { return }
      if try Self.exists(path) {
        // Write rather than touch the file: for a write, a network file system uses its server's time.
        try Self.write(host, to: current)
        try current.sync()
      } else {
        descriptor = try Self.createLocked(path, host, needsLock)
      }
    }
  }

  /// Removes the file, and releases the lock.
  package func retire() {
    locked.withLock { descriptor in
      guard descriptor.take() != nil else { return }
      unlink(path)
      ExitingOwner.remove(path)
      Failpoint.lockFileRemoved.pass()
    }
  }

  /// Creates and locks the file under another name first, so that `path` is never visible unlocked, or without its
  /// host, while its owner lives.
  private static func createLocked(
    _ path: String, _ host: String, _ needsLock: Bool
  ) throws(SystemError) -> Descriptor {
    let unfinished = path + unfinishedSuffix
    while true {
      let descriptor = try Descriptor(
        opening: unfinished, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, mode: 0o600)
      try Failpoint.lockFileCreated.reach()
      do throws(SystemError) {
        // Waits for a sweeper that is inspecting the file; it holds the lock only for a moment.
        _ = try retryingInterrupts("flock") { flock(descriptor.rawValue, LOCK_EX) }
      } catch  where needsLock || !isWithoutLocks(error) {
        unlink(unfinished)
        throw error
      } catch {}
      try Failpoint.lockFileLocked.reach()
      if try descriptor.status().st_nlink == 0 { continue }  // The sweeper took it for a dead owner's file.
      try write(host, to: descriptor)
      do {
        _ = try retryingInterrupts("rename") { rename(unfinished, path) }
        return descriptor
      } catch  where error.code == ENOENT {
        continue  // A sweeper under another kernel, which does not see the lock, removed it.
      }
    }
  }

  /// Whether the error means that the file system has no locks.
  private static func isWithoutLocks(_ error: SystemError) -> Bool {
    [ENOLCK, ENOSYS, EOPNOTSUPP].contains(error.code)
  }

  private static func write(_ host: String, to descriptor: Descriptor) throws(SystemError) {
    let line = Array((host + "\n").utf8)
    _ = try retryingInterrupts("write") { pwrite(descriptor.rawValue, line, line.count, 0) }
  }

  /// A lock file that no other process has locked under this kernel.
  private struct UnownedFile {
    let descriptor: Descriptor
    /// Whether we hold its lock, which is impossible where there are no locks.
    let isLocked: Bool
  }

  /// Whether the file's owner may be alive under another kernel, or under this one where no lock can show it.
  private static func mayLive(
    _ file: UnownedFile, _ path: String, _ lease: Duration?
  ) throws(SystemError) -> Bool {
    guard let lease else { return false }
    var line = [UInt8](repeating: 0, count: 256)
    let count = try retryingInterrupts("read") { pread(file.descriptor.rawValue, &line, line.count, 0) }
    // A file that names no host was made by an older Reel, on any machine.
    let host = String(decoding: line.prefix(count).prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self)
    if file.isLocked, HostIdentity.isOneKernel(host, HostIdentity.current()) { return false }
    return try now(beside: path) - modificationTime(of: file.descriptor) < lease
  }

  /// The current time of the file system, as shown by a file written there, because the clocks of two machines may
  /// differ.
  private static func now(beside path: String) throws(SystemError) -> Duration {
    // The next sweep removes a file with this name if the process dies here.
    let scratch = path + unfinishedSuffix
    let file = try Descriptor(opening: scratch, O_RDWR | O_CREAT | O_NOFOLLOW, mode: 0o600)
    defer { unlink(scratch) }
    try write("", to: file)
    return try modificationTime(of: file)
  }

  /// The time since 1970.
  private static func modificationTime(of file: Descriptor) throws(SystemError) -> Duration {
    let time = try file.status().st_mtim
    return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
  }

  /// Locks the file; nil if another process holds it or it does not exist. Where there are no locks but there is a
  /// lease, returns the file unlocked.
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

  /// Closing the descriptor is not enough: between fork and exec, a child of this process shares the lock.
  private static func unlock(_ descriptor: Descriptor) { _ = flock(descriptor.rawValue, LOCK_UN) }

  private static func exists(_ path: String) throws(SystemError) -> Bool {
    var status = stat()
    if lstat(path, &status) == 0 { return true }
    if errno == ENOENT { return false }
    throw SystemError.last("lstat")
  }
}

/// Removes the lock files of a process that exits. Whoever was to retire a lock may not come to it: a thread that has
/// done its work may still hold a reference to the lock's owner.
private enum ExitingOwner {
  private static let paths = Mutex<Set<String>>([])
  /// A child that was forked holds no locks of its own.
  private static let process = getpid()
  private static let isReady: Void = {
    _ = process
    atexit {
      guard getpid() == process else { return }
      for path in paths.withLock({ $0 }) { unlink(path) }
    }
  }()

  static func add(_ path: String) {
    isReady
    paths.withLock { _ = $0.insert(path) }
  }

  static func remove(_ path: String) { paths.withLock { _ = $0.remove(path) } }
}
