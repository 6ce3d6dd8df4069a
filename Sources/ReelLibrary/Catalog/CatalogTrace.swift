import FoundationEssentials
import Glibc
import ReelCore

/// What shows that a library had a catalog: a file that says so, or objects in its own store. A library that has such a
/// trace and no catalog has lost it, and with a new one everything would be published again. Everything here blocks.
enum CatalogTrace {
  /// Beside the catalog.
  static let fileName = "catalog.made"

  private static let text = """
    Reel made catalog.sqlite in this folder. Should it be gone or empty, put a backup in its place, or run
    reel doctor --rebuild, which makes one of the stored objects.

    """

  static func isThere(in library: LibraryFolder) -> Bool {
    var facts = stat()
    if lstat(path(in: library), &facts) == 0 { return true }
    // Without the file: made by an older Reel.
    let names = try? FileManager.default.contentsOfDirectory(atPath: library.mediaPath)
    return names?.contains(where: ObjectKey.isDrawn) ?? false
  }

  /// Leaves the file, durably, unless it is there. The catalog must be durable before: who finds the file and no catalog
  /// takes it for lost.
  static func leave(in library: LibraryFolder) throws(CatalogError) {
    var facts = stat()
    if lstat(path(in: library), &facts) == 0 { return }
    do throws(SystemError) {
      let raw = open(path(in: library), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
      if raw < 0, errno == EEXIST { return }
      guard raw >= 0 else { throw SystemError.last("open") }
      let file = Descriptor(adopting: raw)
      let bytes = Array(text.utf8)
      _ = try retryingInterrupts("write") { write(raw, bytes, bytes.count) }
      _ = try retryingInterrupts("fsync") { fsync(file.rawValue) }
      try Failpoint.catalogTraceWritten.reach()
      try syncFolder(library.path)
    } catch {
      let isFull = error.code == ENOSPC || error.code == EDQUOT
      throw CatalogError(
        isFull ? .diskFull : .unusable,
        "cannot write \(path(in: library)) (\(error.reason)): "
          + (isFull ? "free some space, and run again" : "check its disk, its owner and its permissions"))
    }
  }

  /// Makes the names in the folder at `path` durable.
  static func syncFolder(_ path: String) throws(SystemError) {
    let raw = try retryingInterrupts("open") { open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC) }
    let folder = Descriptor(adopting: raw)
    do {
      _ = try retryingInterrupts("fsync") { fsync(folder.rawValue) }
    } catch  where error.code == EINVAL {
      // A file system that can't sync a folder has nothing to make durable.
    }
  }

  private static func path(in library: LibraryFolder) -> String { library.path + "/" + fileName }
}
