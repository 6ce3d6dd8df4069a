import Glibc
import ReelCore

/// The file of a catalog, before SQLite looks at it. Everything here blocks.
enum CatalogFile {
  /// Makes an empty file, 0600, unless one of ours is there. SQLite would make it readable for everybody; the
  /// files beside it take their mode from this one.
  ///
  /// One that is there is not opened: closing it again would let go of every lock that another connection of this
  /// process has on it (fcntl(2), "Record locks").
  static func make(_ path: String) throws(CatalogError) {
    let file = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
    if file >= 0 {
      // The umask may have taken from the owner, too.
      _ = fchmod(file, 0o600)
      close(file)
    } else if errno != EEXIST {
      throw failure(errno, path)
    }
    var facts = stat()
    guard stat(path, &facts) == 0 else { throw failure(errno, path) }
    try check(facts, of: path)
  }

  /// Whether there is a file at `path` that is not empty.
  /// - Throws: `unusable` when it is not a file, `notOurs` when others may write to it.
  static func hasContent(_ path: String) throws(CatalogError) -> Bool {
    var facts = stat()
    guard stat(path, &facts) == 0 else {
      if errno == ENOENT { return false }
      throw failure(errno, path)
    }
    try check(facts, of: path)
    return facts.st_size > 0
  }

  /// Which file a path leads to.
  struct Identity: Hashable {
    let device: dev_t
    let inode: ino_t

    /// Nil when there is none.
    init?(at path: String) {
      var facts = stat()
      guard stat(path, &facts) == 0 else { return nil }
      (device, inode) = (facts.st_dev, facts.st_ino)
    }
  }

  /// Why a file with these facts is refused; pure.
  static func check(_ facts: stat, of path: String, user: uid_t = geteuid()) throws(CatalogError) {
    guard facts.st_mode & S_IFMT == S_IFREG else { throw failure(EISDIR, path) }
    guard facts.st_uid == user, facts.st_mode & (S_IWGRP | S_IWOTH) == 0 else {
      throw CatalogError(
        .notOurs,
        "the catalog \(path) belongs to another user, or others may write to it: look who has been there, "
          + "then make it yours alone (`chown`, `chmod 600`), or name another library with --library")
    }
  }

  private static func failure(_ code: Int32, _ path: String) -> CatalogError {
    switch code {
    case ENOSPC, EDQUOT:
      return CatalogError(
        .diskFull, "no space left on the disk of the catalog \(path): free some, and run again")
    case EISDIR:
      return CatalogError(
        .unusable,
        "\(path) is not a file, where the catalog should be: move it away, or name another library with "
          + "--library")
    default:
      let reason = SystemError(code: code, call: "open").reason
      return CatalogError(
        .unusable,
        "the catalog \(path) cannot be opened (\(reason)): \(CatalogError.advice(code))")
    }
  }
}
