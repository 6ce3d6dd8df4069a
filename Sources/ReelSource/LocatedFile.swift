import Glibc
import ReelCore

/// A file that was found and not yet opened.
struct LocatedFile: Sendable {
  /// Opened with `O_PATH`: it can be asked, not read.
  let descriptor: Descriptor
  let status: FileStatus

  /// Opens the file for reading.
  /// - Throws: `isLink`, `isDirectory` or `notRegular` unless it is a regular file; `denied` and the like.
  func openRegular() throws(SourceError) -> OpenedFile {
    switch status.kind {
    case .regular: break
    case .directory: throw .isDirectory
    case .link: throw .isLink
    case .special(let kind): throw .notRegular(kind)
    }
    return OpenedFile(descriptor: try reopen(flags: O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC))
  }

  /// Opens the directory for listing, as an open file description of its own.
  func openDirectory() throws(SourceError) -> DirectoryHandle {
    do {
      let opened = try descriptor.holding { number throws(SystemError) in
        try retryingInterrupts("openat") { openat(number, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC) }
      }
      return DirectoryHandle(descriptor: Descriptor(adopting: opened), identity: status.directoryIdentity)
    } catch {
      guard error.code == EACCES else { throw SourceError(error) }
      throw SourceError(
        .denied, "there is no permission to list this folder; ask its owner, or change its mode")
    }
  }

  /// The same file, whatever its name means by now: only /proc can open what an `O_PATH` descriptor holds.
  private func reopen(flags: Int32) throws(SourceError) -> Descriptor {
    do {
      let opened = try descriptor.holding { number throws(SystemError) in
        try retryingInterrupts("open") { open("/proc/self/fd/\(number)", flags) }
      }
      return Descriptor(adopting: opened)
    } catch {
      guard error.code == ENOENT else { throw SourceError(error) }
      throw SourceError(.unreadable, "Reel opens files through /proc, and /proc is not there; mount it")
    }
  }
}
