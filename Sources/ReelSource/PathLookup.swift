import COpenat2
import Glibc
import ReelModel
import ReelSystem

/// Finds what a path names without opening it: an `O_PATH` descriptor has no effect on a FIFO or a device, does not
/// wait for anybody, and goes on naming the same file whatever happens to the path.
enum PathLookup {
  /// What `path` names, seen from `directory` (nil: the working directory).
  /// - Throws: `notFound`, `denied`, `isLink` (a component before the last), `outsideRoot`, `invalidName`, …
  static func find(
    _ path: [UInt8], from directory: Descriptor?, links: LinkRule
  ) throws(SourceError) -> LocatedFile {
    let name = try PathBytes(path)
    let descriptor: Descriptor
    do {
      descriptor = try openAtOnce(name, from: directory, links: links)
    } catch {
      guard error.code == ENOSYS || error.code == ENAMETOOLONG else { throw failure(error, links) }
      descriptor = try ComponentWalk.open(path, from: directory, links: links)
    }
    return LocatedFile(descriptor: descriptor, status: try FileStatus(of: descriptor))
  }

  /// One system call, which the kernel resolves as a whole.
  private static func openAtOnce(
    _ name: PathBytes, from directory: Descriptor?, links: LinkRule
  ) throws(SystemError) -> Descriptor {
    let flags = reel_o_path | O_CLOEXEC | (links == .refuse ? O_NOFOLLOW : 0)
    let start = directory?.rawValue ?? AT_FDCWD
    return try withExtendedLifetime(directory) { () throws(SystemError) -> Descriptor in
      Descriptor(
        adopting: try retryingInterrupts("openat2") {
          reel_openat2(start, name.characters, UInt64(flags), links.resolve)
        })
    }
  }

  private static func failure(_ error: SystemError, _ links: LinkRule) -> SourceError {
    error.code == ELOOP && links == .refuse ? .isLink : SourceError(error)
  }
}
