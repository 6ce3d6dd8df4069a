import Glibc
import ReelCore

/// Copies a catalog while it is in use.
public enum CatalogBackup {
  /// Writes the catalog of `library`, as it is at one moment, to `path`: a new file (0600) that needs no other file. It
  /// gets its name only once it is complete, checked and durable.
  ///
  /// Processes that write to the catalog meanwhile are not held up.
  /// - Throws: ``CatalogError``: as opening does, `corrupt` if the catalog is damaged, `diskFull`, and `unusable` if
  ///   there is no catalog, if something is at `path`, or if the backup can't be written.
  public static func write(
    of library: LibraryFolder, to path: String, busyTimeout: Duration = .seconds(10)
  ) async throws(CatalogError) {
    let timeout = busyTimeout / .seconds(1)
    try await BlockingQueue(label: "reel.catalog.backup", width: 1).run { () throws(CatalogError) in
      guard
        let source = try CatalogDatabase.openReadOnly(
          library, at: CatalogPlace(library), busyTimeout: timeout)
      else {
        throw CatalogError(
          .unusable,
          "there is no catalog in \(library.path) yet: name another library with \(setting: .library)")
      }
      defer { try? CatalogDatabase.close(source, path: library.catalogPath) }
      try BackupFile(path: path).write(source, at: library.catalogPath)
    }
  }
}

/// A backup file that is written under a temporary name first. Everything here blocks.
private struct BackupFile {
  let path: String
  /// The temporary name. It is in the same folder, so that renaming the file moves no byte.
  private let unfinished: String

  init(path: String) {
    self.path = path
    unfinished = path + ".unfinished"
  }

  func write(_ source: Database, at origin: String) throws(CatalogError) {
    var facts = stat()
    if lstat(path, &facts) == 0 { throw failure(EEXIST, path) }
    try removeWhatIsLeft()
    let file = Glibc.open(unfinished, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
    guard file >= 0 else { throw failure(errno, unfinished) }
    defer { close(file) }
    // Held until this process ends: an unfinished file that no process holds was left by one that was killed.
    try hold(file)
    do {
      try copy(source, at: origin)
      if fsync(file) != 0 { throw failure(errno, unfinished) }
      try rethrowing(as: { failure($0.code, path) }) { () throws(SystemError) in
        _ = try renameWithoutReplacing(unfinished, to: path)
      }
    } catch {
      unlink(unfinished)
      throw CatalogError.from(error, at: origin)
    }
    try settle()
  }

  /// Removes what an interrupted backup has left, and nothing that could be anything else.
  private func removeWhatIsLeft() throws(CatalogError) {
    let left = Glibc.open(unfinished, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
    guard left >= 0 else { return }
    defer { close(left) }
    var (opened, named) = (stat(), stat())
    let format = Array("SQLite format 3\0".utf8)
    var beginning = [UInt8](repeating: 0, count: format.count)
    let count = read(left, &beginning, beginning.count)
    guard fstat(left, &opened) == 0, opened.st_mode & S_IFMT == S_IFREG, count == 0 || beginning == format
    else { return }
    try hold(left)
    // Another process may have removed it, too, and begun its own backup under that name.
    guard lstat(unfinished, &named) == 0, named.st_ino == opened.st_ino, named.st_dev == opened.st_dev else {
      return
    }
    for ending in ["-journal", ""] { unlink(unfinished + ending) }
  }

  /// Locks the file for this process.
  /// - Throws: if another process holds it. On a file system without locks, the file counts as free.
  private func hold(_ file: Int32) throws(CatalogError) {
    if flock(file, LOCK_EX | LOCK_NB) != 0, errno == EWOULDBLOCK { throw failure(errno, unfinished) }
  }

  private func copy(_ source: Database, at origin: String) throws(CatalogError) {
    let damage = try rethrowing(as: { CatalogError.from($0, at: unfinished, noun: "backup") }) {
      try source.look { source in
        let target = try Connection(unfinished, .readWrite)
        try source.backup(to: target)
        // A single file that can be copied by any means. A catalog that is made of it uses a write-ahead log again.
        try target.execute("PRAGMA journal_mode = DELETE")
        let damage = try DamageQuery.damage(in: target)
        try target.close()
        return damage
      }
    }
    guard let first = damage.first else { return }
    throw CatalogError(
      .corrupt,
      "the catalog \(origin) is damaged (\(first)), so no backup was made: run \(command: "doctor")")
  }

  /// Makes the backup's name durable.
  private func settle() throws(CatalogError) {
    let slash = path.lastIndex(of: "/")
    let parent = slash.map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? "."
    try rethrowing(as: { failure($0.code, parent) }) { () throws(SystemError) in
      try CatalogTrace.syncFolder(parent)
    }
  }

  private func failure(_ code: Int32, _ what: String) -> CatalogError {
    let reason = SystemError(code: code, call: "open").reason
    switch code {
    case EEXIST:
      return CatalogError(
        .unusable, "there is a file \(what) already, and a backup never replaces one: name another")
    case EWOULDBLOCK:
      return CatalogError(.unusable, "another backup to \(path) is being written: wait until it has ended")
    case ENOSPC, EDQUOT:
      return CatalogError(.diskFull, "no space left for the backup \(what): free some, or name another disk")
    default:
      return CatalogError(
        .unusable,
        "the backup \(what) can't be written (\(reason)): \(CatalogError.advice(code))")
    }
  }
}
