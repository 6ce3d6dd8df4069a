import CProcess
import Glibc
import ReelCore

/// This process may not have what Reel needs.
package struct ProcessProblem: ReelError {
  package let message: String

  fileprivate init(_ message: String) { self.message = message }
}

/// Descriptors 0, 1 and 2, which whoever starts this process may have closed.
package enum StandardDescriptors {
  /// Fills the closed ones, so that no file of Reel's own gets such a number, and a message for stderr never ends up
  /// in an object or in the catalog. To be called before anything else is opened.
  ///
  /// What fills them can't be used: that they were closed is still told to whoever reads or writes.
  package static func fill() {
    for number in STDIN_FILENO...STDERR_FILENO where fcntl(number, F_GETFD) == -1 {
      // The lowest free number is this one: those below are open by now.
      _ = open("/dev/null", number == STDIN_FILENO ? O_WRONLY : O_RDONLY)
    }
  }
}

/// How many files this process may have open (`ulimit -n`).
package enum DescriptorLimit {
  /// With fewer, four files at once can't be taken in (43 were not enough); and the system's own libraries end the
  /// process where one is missing.
  private static let least: rlim_t = 64

  /// What is asked for: 16 jobs with full batches of files, each of another folder, may hold 6,200. The usual
  /// 1024 is there for programs that use select(2).
  private static let wanted: rlim_t = 8192

  /// How many files may be worked on at once: each takes up to six, its reader's among them, and forty are taken by what
  /// there is once, such as the catalog.
  package static var jobs: Int { max(4, (Descriptor.limit - 40) / 6) }

  /// Raises the limit as far as it may be raised, up to what is wanted.
  /// - Throws: ``ProcessProblem`` when it stays too low.
  package static func ensure() throws {
    var limit = rlimit()
    guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0, limit.rlim_cur < wanted else {
      return
    }
    let isEnough = limit.rlim_cur >= least
    limit.rlim_cur = max(limit.rlim_cur, min(limit.rlim_max, wanted))
    let isRaised = setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0
    guard isEnough || isRaised && limit.rlim_cur >= least else {
      throw ProcessProblem(
        "this process may have only \(limit.rlim_max) files open, and Reel needs \(least) at least; "
          + "raise the limit (`ulimit -n 256`)")
    }
  }
}

/// How much address space this process may use (`ulimit -v`).
package enum AddressSpaceLimit {
  /// With less, the programs and their libraries do not fit, and whatever asks for memory first ends the process.
  private static let least: Int64 = 256 << 20

  /// Makes do with little where there is a limit.
  /// - Throws: ``ProcessProblem`` when it is too little.
  package static func ensure() throws {
    let limit = reel_heap_keeps_to_limit()
    guard limit >= 0, limit < least else { return }
    throw ProcessProblem(
      "this process may use only \(limit >> 20) MiB of address space, and Reel needs \(least >> 20) at least; "
        + "raise the limit (`ulimit -v \(least >> 10)`)")
  }
}

/// What is made may be kept from others by the umask, never from its owner.
package enum OwnerRights {
  /// Under `umask 777` nobody could open the folders and files that are made, this process's next run neither.
  package static func keep() {
    let mask = umask(0o077)
    umask(mask & ~0o700)
  }
}

/// `/proc`: Reel opens videos through it, and libdispatch ends a process whose threads it can't look at there.
package enum ProcessFileSystem {
  /// - Throws: ``ProcessProblem`` where it is not mounted.
  package static func require() throws {
    guard access("/proc/self/fd", F_OK) != 0 else { return }
    throw ProcessProblem(
      "Reel needs /proc, and it is not mounted here; mount it (`mount -t proc proc /proc`; `bwrap --proc /proc`)"
    )
  }
}
