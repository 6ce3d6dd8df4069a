import Glibc
import ReelCore

extension SourceError {
  /// What a system call's failure means for a person. The file's name is not in it: who reports it knows.
  init(_ error: SystemError) {
    switch error.code {
    case ENOENT: self.init(.notFound, "there is no such file or folder; check the name")
    case ENOTDIR:
      self.init(.notFound, "a part of its path is a file where a folder should be; check the path")
    case EACCES, EPERM:
      self.init(.denied, "there is no permission to read it; ask its owner, or change its mode")
    case ELOOP:
      self.init(.outsideRoot, "it is a chain of symbolic links that never ends; name the file itself")
    case EXDEV: self.init(.outsideRoot, "it leads out of the given folder; name the file itself")
    case ENAMETOOLONG:
      self.init(.invalidName, "its name is too long for this file system; give it a shorter one")
    case EMFILE, ENFILE:
      self.init(
        .tooManyOpenFiles, "too many files are open; raise the limit (`ulimit -n`) or use fewer --jobs")
    case EISDIR: self.init(.isDirectory, "it is a folder, not a file; `reel ingest` takes folders")
    case ENXIO, ENODEV: self = .notRegular("a device")
    default: self.init(.unreadable, "it could not be read (\(error)); check its disk")
    }
  }

  /// - Parameter kind: a noun with its article.
  static func notRegular(_ kind: String) -> SourceError {
    SourceError(
      .notRegular, "it is \(kind), not a file; leave it out, or copy what it gives into a file first")
  }

  static let isLink = SourceError(
    .isLink, "it is, or lies behind, a symbolic link; name the file itself, or say --follow-links")

  static let changed = SourceError(
    .sourceChanged, "it changed while Reel was at it; wait until whoever writes it is done, then try again")

  static let isDirectory = SourceError(
    .isDirectory, "it is a folder, not a file; `reel ingest` takes folders")

  static let nulInName = SourceError(
    .invalidName, "there is a NUL byte in its name; check where the name comes from")

  static let emptyName = SourceError(.invalidName, "its name is empty; check where the name comes from")
}
