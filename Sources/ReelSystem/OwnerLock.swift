import Glibc

/// A file that is locked by the kernel for as long as its owner lives: however a process ends, the lock ends
/// with it, and whoever finds the lock free knows that the owner is dead.
///
/// The lock is a `flock` on a descriptor that is closed on exec, so no child inherits it.
public final class OwnerLock: Sendable {
  /// The owner's name: the lock file is `NAME.owner`.
  public let name: String
  private let path: String
  private let descriptor: Descriptor

  /// What every owner's file ends with.
  public static let suffix = ".owner"

  /// What follows ``suffix`` while a lock file is being made; one that stays so is left over from a crash.
  public static let unfinishedSuffix = ".new"

  /// Creates `directory/NAME.owner` (0600), locked from the first moment that it has that name.
  /// - Throws: ``SystemError`` when the file can't be created or locked; `EEXIST` when `name` is taken.
  public init(directory: String, name: String) throws(SystemError) {
    self.name = name
    path = directory + "/" + name + Self.suffix
    descriptor = try Self.createLocked(path)
    try Failpoint.lockFileNamed.reach()
  }

  /// Whether the owner `name` is alive: its file is there and locked by somebody.
  /// - Throws: ``SystemError`` when that can't be found out; treat such an owner as alive.
  public static func isAlive(directory: String, name: String) throws(SystemError) -> Bool {
    let path = directory + "/" + name + suffix
    // Shared, so that two who ask at once do not take each other for the owner.
    guard let descriptor = try lock(path, LOCK_SH) else { return try exists(path) }
    return withExtendedLifetime(descriptor) { false }
  }

  /// Removes what the owner `name` has left (`NAME.owner`, or an unfinished one) if it is dead.
  /// - Returns: whether there was something, and it is gone.
  /// - Throws: ``SystemError`` when its state can't be found out or a file can't be removed.
  @discardableResult
  public static func removeIfDead(directory: String, name: String) throws(SystemError) -> Bool {
    var removed = false
    for ending in [suffix + unfinishedSuffix, suffix] {
      let path = directory + "/" + name + ending
      // Removed only while we hold its lock: an owner that is being born sees that its file has gone.
      guard let descriptor = try lock(path, LOCK_EX) else { continue }
      defer { withExtendedLifetime(descriptor) {} }
      if unlink(path) == 0 {
        removed = true
        Failpoint.deadLockRemoved.pass()
      } else if errno != ENOENT {
        throw SystemError.last("unlink")
      }
    }
    return removed
  }

  /// Removes the file; the lock ends with the object.
  public func retire() {
    unlink(path)
    Failpoint.lockFileRemoved.pass()
  }

  /// Locks a file under another name first, so that nobody ever sees `path` unlocked while its owner lives.
  private static func createLocked(_ path: String) throws(SystemError) -> Descriptor {
    let unfinished = path + unfinishedSuffix
    while true {
      let raw = try retryingInterrupts("open") {
        open(unfinished, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
      }
      let descriptor = Descriptor(adopting: raw)
      try Failpoint.lockFileCreated.reach()
      // Waits for a sweeper that looks at the file just now; it holds it for a moment only.
      _ = try retryingInterrupts("flock") { flock(raw, LOCK_EX) }
      try Failpoint.lockFileLocked.reach()
      var status = stat()
      _ = try retryingInterrupts("fstat") { fstat(raw, &status) }
      if status.st_nlink == 0 { continue }  // That sweeper took it for a dead one's.
      _ = try retryingInterrupts("rename") { rename(unfinished, path) }
      return descriptor
    }
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

  private static func exists(_ path: String) throws(SystemError) -> Bool {
    var status = stat()
    if lstat(path, &status) == 0 { return true }
    if errno == ENOENT { return false }
    throw SystemError.last("lstat")
  }
}
