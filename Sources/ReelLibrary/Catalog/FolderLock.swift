import Glibc
import ReelCore

/// Keeps other processes out while a catalog is being opened or made. Blocks.
struct FolderLock {
  private let folder: Descriptor

  /// - Parameters:
  ///   - seconds: how long to wait when nobody is seen to be in it; who is seen is waited for, up to ten minutes.
  ///   - onWait: told once who is in it, when that takes more than 2 s.
  /// - Throws: ``CatalogError`` (`locked`) when it can't be had, or `unusable`.
  init(
    _ path: String, waitingUpTo seconds: Double, onWait: (LockHolder) -> Void = { _ in }
  ) throws(CatalogError) {
    let raw = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard raw >= 0 else { throw Self.failure(SystemError.last("open"), path) }
    folder = Descriptor(adopting: raw)
    let clock = ContinuousClock()
    let begun = clock.now
    var wait = CatalogBusyHandler.Progress()
    let policy = CatalogBusyHandler(longest: seconds)
    while flock(raw, LOCK_EX | LOCK_NB) != 0 {
      guard errno == EWOULDBLOCK || errno == EINTR else {
        throw Self.failure(SystemError.last("flock"), path)
      }
      let waited = (clock.now - begun) / .seconds(1)
      guard policy.goesOn(after: waited, &wait, beside: { LockHolder.opening(in: path) }, onWait) else {
        throw CatalogError(
          .locked,
          "another process has been opening the catalog in \(path) for \(Int(waited)) s: wait until it is done, "
            + "or end it, and try again")
      }
      usleep(5_000)
    }
  }

  /// Lets others in.
  func end() {
    flock(folder.rawValue, LOCK_UN)
  }

  private static func failure(_ error: SystemError, _ path: String) -> CatalogError {
    CatalogError(
      .unusable,
      "the library's folder \(path) cannot be locked (\(error.reason)): check its file system and permissions"
    )
  }
}
