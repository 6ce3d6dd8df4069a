import Glibc

/// `/proc`: Reel opens videos through it, and libdispatch ends a process whose threads it can't look at there.
enum ProcessFileSystem {
  /// - Throws: ``CommandFailure`` where it is not mounted.
  static func require() throws {
    guard access("/proc/self/fd", F_OK) != 0 else { return }
    throw CommandFailure(
      .couldNotRun,
      "Reel needs /proc, and it is not mounted here; mount it (`mount -t proc proc /proc`; `bwrap --proc /proc`)"
    )
  }
}
