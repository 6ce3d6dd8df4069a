import Glibc
import ReelModel
import ReelSystem

/// Keeps other processes out while a catalog is being opened or made. Blocks.
struct FolderLock {
  private let folder: Descriptor

  /// - Throws: ``CatalogError`` (`locked`) when another process stays in it for `seconds`, or `unusable`.
  init(_ path: String, waitingUpTo seconds: Double) throws(CatalogError) {
    let raw = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard raw >= 0 else { throw Self.failure(SystemError.last("open"), path) }
    folder = Descriptor(adopting: raw)
    let clock = ContinuousClock()
    let deadline = clock.now + .seconds(seconds)
    while flock(raw, LOCK_EX | LOCK_NB) != 0 {
      guard errno == EWOULDBLOCK || errno == EINTR else {
        throw Self.failure(SystemError.last("flock"), path)
      }
      guard clock.now < deadline else {
        throw CatalogError(
          .locked,
          "another process has been opening the catalog in \(path) for \(Int(seconds)) s: wait until it is done, "
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
