import Glibc

/// A file that is locked by the kernel for as long as its owner lives: however a process ends, the lock ends with
/// it, and whoever finds the lock free knows that the owner is dead.
///
/// The lock is a `flock` on a descriptor that is closed on exec, so no child inherits it.
public final class OwnerLock: Sendable {
  /// The owner's name: the lock file is `NAME.owner`.
  public let name: String
  private let path: String
  private let descriptor: Descriptor

  /// What every owner's file ends with.
  public static let suffix = ".owner"

  /// Creates `directory/NAME.owner` (0600), locked from the first moment that it has that name.
  /// - Throws: ``SystemError`` when the file can't be created or locked.
  public init(directory: String, name: String) throws(SystemError) {
    self.name = name
    path = directory + "/" + name + Self.suffix
    let path = path
    let unlocked = path + ".new"
    let raw = try retryingInterrupts("open") { open(unlocked, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600) }
    descriptor = Descriptor(adopting: raw)
    _ = try retryingInterrupts("flock") { flock(raw, LOCK_EX | LOCK_NB) }
    _ = try retryingInterrupts("rename") { rename(unlocked, path) }
  }

  /// Whether the owner `name` is alive: its file is there and locked by somebody.
  /// - Throws: ``SystemError`` when that can't be found out; treat such an owner as alive.
  public static func isAlive(directory: String, name: String) throws(SystemError) -> Bool {
    let path = directory + "/" + name + suffix
    let raw = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW)
    if raw < 0 {
      if errno == ENOENT { return false }
      throw SystemError.last("open")
    }
    let descriptor = Descriptor(adopting: raw)
    return try withExtendedLifetime(descriptor) { () throws(SystemError) -> Bool in
      // Shared: two who ask at the same moment must not take each other for the owner.
      if flock(raw, LOCK_SH | LOCK_NB) == 0 { return false }
      if errno == EWOULDBLOCK { return true }
      throw SystemError.last("flock")
    }
  }

  /// Removes the file; the lock ends with the object.
  public func retire() {
    unlink(path)
  }
}
