import CReel
import Glibc
import ReelCore

/// Finds what a path names without opening it: an `O_PATH` descriptor has no effect on a FIFO or a device,
/// does not wait for anybody, and goes on naming the same file whatever happens to the path.
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
      guard Self.worthSteps.contains(error.code) else { throw failure(error, links) }
      descriptor = try ComponentWalk.open(path, from: directory, links: links)
    }
    return LocatedFile(descriptor: descriptor, status: try FileStatus(of: descriptor))
  }

  /// The kernel does not have the call, or a container's filter does not let it through (older ones say
  /// EPERM, which opening with `O_PATH` never does by itself), or the path is longer than one call takes.
  private static let worthSteps: Set<Int32> = [ENOSYS, EPERM, ENAMETOOLONG]

  /// One system call, which the kernel resolves as a whole.
  private static func openAtOnce(
    _ name: PathBytes, from directory: Descriptor?, links: LinkRule
  ) throws(SystemError) -> Descriptor {
    let flags = reel_o_path | O_CLOEXEC | (links == .refuse ? O_NOFOLLOW : 0)
    return try withExtendedLifetime(directory) { () throws(SystemError) -> Descriptor in
      let start = directory?.rawValue ?? AT_FDCWD
      return Descriptor(
        adopting: try retryingRaces {
          reel_openat2(start, name.characters, UInt64(flags), links.resolve)
        })
    }
  }

  /// The kernel answers EAGAIN when something was renamed on the way, and it can't tell whether a `..` still
  /// is beneath. Who renames all the time gets that as the answer.
  private static func retryingRaces(_ body: () -> Int32) throws(SystemError) -> Int32 {
    for _ in 0..<16 {
      do throws(SystemError) {
        return try retryingInterrupts("openat2", body)
      } catch {
        guard error.code == EAGAIN else { throw error }
      }
    }
    throw SystemError(code: EAGAIN, call: "openat2")
  }

  private static func failure(_ error: SystemError, _ links: LinkRule) -> SourceError {
    error.code == ELOOP && links == .refuse ? .isLink : SourceError(error)
  }
}
