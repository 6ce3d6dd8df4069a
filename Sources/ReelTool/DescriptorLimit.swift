import Glibc
import ReelCore

/// How many files this process may have open (`ulimit -n`).
enum DescriptorLimit {
  /// With fewer, four files at once can't be taken in (43 were not enough); and the system's own libraries end the
  /// process where one is missing.
  static let least: rlim_t = 64

  /// How many files may be worked on at once: each takes up to six, its reader's among them, and forty are taken by what
  /// there is once, such as the catalog.
  static var jobs: Int { max(4, (Descriptor.limit - 40) / 6) }

  /// Raises the limit as far as it may be raised, where it is too low.
  /// - Throws: ``CommandFailure`` when it stays so.
  static func ensure() throws {
    var limit = rlimit()
    guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0, limit.rlim_cur < least else {
      return
    }
    limit.rlim_cur = min(limit.rlim_max, 1024)
    guard limit.rlim_cur >= least, setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else {
      throw CommandFailure(
        .couldNotRun,
        "this process may have only \(limit.rlim_max) files open, and Reel needs \(least) at least; "
          + "raise the limit (`ulimit -n 256`)")
    }
  }
}
