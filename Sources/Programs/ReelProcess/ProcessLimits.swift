import CProcess
import Glibc
import ReelCore

/// The error of a process that is denied something Reel needs.
package struct ProcessProblem: ReelError {
  package let message: String

  fileprivate init(_ message: String) { self.message = message }
}

/// Descriptors 0, 1 and 2, which the parent process may have closed.
package enum StandardDescriptors {
  /// Opens those that are closed, so that none of Reel's own files gets one of these numbers and no message for stderr
  /// ends up in an object or in the catalog. Call it before anything else is opened.
  ///
  /// The descriptors are opened for the wrong direction on purpose: reading or writing still fails, as it would on a
  /// closed descriptor.
  package static func fill() {
    for number in STDIN_FILENO...STDERR_FILENO where fcntl(number, F_GETFD) == -1 {
      // open(2) returns the lowest free number, which is this one: those below are open by now.
      _ = open("/dev/null", number == STDIN_FILENO ? O_WRONLY : O_RDONLY)
    }
  }
}

/// The number of files that this process may have open (`ulimit -n`).
package enum DescriptorLimit {
  /// With fewer, Reel can't ingest four files at once (43 were not enough), and the system's own libraries end the
  /// process when they can't get a descriptor.
  private static let least: rlim_t = 64

  /// The limit to ask for: 16 jobs with full batches, each file from another folder, may hold 6,200 descriptors. The
  /// usual 1024 exists for programs that use select(2).
  private static let wanted: rlim_t = 8192

  /// The number of files that may be worked on at once. Each takes up to six descriptors, including its reader's, and
  /// forty are taken once per process, for example by the catalog.
  package static var jobs: Int { max(4, (Descriptor.limit - 40) / 6) }

  /// Raises the limit as far as the system allows, up to `wanted`.
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
        "this process may have only \(limit.rlim_max) files open, but Reel needs at least \(least); "
          + "raise the limit (`ulimit -n 256`)")
    }
  }
}

/// The amount of address space that this process may use (`ulimit -v`).
package enum AddressSpaceLimit {
  /// With less, the programs and their libraries do not fit, and the first failing allocation ends the process.
  private static let least: Int64 = 256 << 20

  /// Where the limit is below 4 GiB, makes all threads share one heap and have small stacks.
  /// - Throws: ``ProcessProblem`` when the limit is too low.
  package static func ensure() throws {
    let limit = reel_heap_keeps_to_limit()
    guard limit >= 0, limit < least else { return }
    throw ProcessProblem(
      "this process may use only \(limit >> 20) MiB of address space, but Reel needs at least \(least >> 20); "
        + "raise the limit (`ulimit -v \(least >> 10)`)")
  }
}

/// The owner's permissions on what this process creates. The umask may withhold them from others, never from the owner.
package enum OwnerRights {
  /// Clears the owner's bits of the umask. Under `umask 777` nobody could open the folders and files that Reel creates,
  /// not even its own next run.
  package static func keep() {
    let mask = umask(0o077)
    umask(mask & ~0o700)
  }
}

/// `/proc`: Reel opens videos through it, and libdispatch ends a process whose threads it can't look at there.
package enum ProcessFileSystem {
  /// - Throws: ``ProcessProblem`` where it is not mounted, or is that of another PID namespace.
  package static func require() throws {
    var target = [CChar](repeating: 0, count: 16)
    let length = readlink("/proc/self", &target, target.count)
    let number = target.prefix(max(0, length)).map { UInt8(bitPattern: $0) }
    guard !number.elementsEqual("\(getpid())".utf8) else { return }
    let fault = length < 0 ? "it is not mounted here" : "the one here is that of another PID namespace"
    throw ProcessProblem(
      "Reel needs /proc, and \(fault); mount it (`mount -t proc proc /proc`; `bwrap --proc /proc`)")
  }
}
