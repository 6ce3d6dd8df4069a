import CProcess
import Dispatch
import Glibc
import ReelCore

/// Descriptors 0, 1 and 2, which whoever starts this process may have closed.
enum StandardDescriptors {
  /// Fills the closed ones, so that no file of Reel's own gets such a number, and a message for stderr never ends up
  /// in an object or in the catalog. To be called before anything else is opened.
  ///
  /// What fills them can't be used: that they were closed is still told to whoever reads or writes.
  static func fill() {
    for number in STDIN_FILENO...STDERR_FILENO where fcntl(number, F_GETFD) == -1 {
      // The lowest free number is this one: those below are open by now.
      _ = open("/dev/null", number == STDIN_FILENO ? O_WRONLY : O_RDONLY)
    }
  }
}

/// How many files this process may have open (`ulimit -n`).
enum DescriptorLimit {
  /// With fewer, four files at once can't be taken in (43 were not enough); and the system's own libraries end the
  /// process where one is missing.
  static let least: rlim_t = 64

  /// What is asked for: 16 jobs with full batches of files, each of another folder, may hold 6,200. The usual
  /// 1024 is there for programs that use select(2).
  private static let wanted: rlim_t = 8192

  /// How many files may be worked on at once: each takes up to six, its reader's among them, and forty are taken by what
  /// there is once, such as the catalog.
  static var jobs: Int { max(4, (Descriptor.limit - 40) / 6) }

  /// Raises the limit as far as it may be raised, up to what is wanted.
  /// - Throws: ``CommandFailure`` when it stays too low.
  static func ensure() throws {
    var limit = rlimit()
    guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0, limit.rlim_cur < wanted else {
      return
    }
    let isEnough = limit.rlim_cur >= least
    limit.rlim_cur = max(limit.rlim_cur, min(limit.rlim_max, wanted))
    let isRaised = setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0
    guard isEnough || isRaised && limit.rlim_cur >= least else {
      throw CommandFailure(
        .couldNotRun,
        "this process may have only \(limit.rlim_max) files open, and Reel needs \(least) at least; "
          + "raise the limit (`ulimit -n 256`)")
    }
  }
}

/// How much address space this process may use (`ulimit -v`).
enum AddressSpaceLimit {
  /// With less, the programs and their libraries do not fit, and whatever asks for memory first ends the process.
  private static let least: Int64 = 256 << 20

  /// Makes do with little where there is a limit.
  /// - Throws: ``CommandFailure`` when it is too little.
  static func ensure() throws {
    let limit = reel_heap_keeps_to_limit()
    guard limit >= 0, limit < least else { return }
    throw CommandFailure(
      .couldNotRun,
      "this process may use only \(limit >> 20) MiB of address space, and Reel needs \(least >> 20) at least; "
        + "raise the limit (`ulimit -v \(least >> 10)`)")
  }
}

/// What is made may be kept from others by the umask, never from its owner.
enum OwnerRights {
  /// Under `umask 777` nobody could open the folders and files that are made, this process's next run neither.
  static func keep() {
    let mask = umask(0o077)
    umask(mask & ~0o700)
  }
}

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

/// SIGINT, SIGTERM and SIGHUP end a run alike: once, and what is in flight is finished or rolled back; twice, at
/// once. What `nohup` told us to ignore stays ignored.
///
/// One at a time in a process, as signals are the process's.
struct Interruption: ~Copyable {
  private static let numbers = [SIGINT, SIGTERM, SIGHUP]
  /// Readable after the first signal; nil where the system has no descriptor left, and signals end the process as
  /// they do others.
  private let told: Int32?

  /// From now on no signal is lost, however late it is looked at: begin before what is to be interrupted.
  init() {
    let descriptor = reel_signals_listen(
      Self.numbers, Int32(Self.numbers.count), ReelExit.interrupted.rawValue)
    told = descriptor < 0 ? nil : descriptor
  }

  /// Waits for `task`, which the first signal cancels; nothing else is cancelled, so that who watches the task sees
  /// it to its end. Gives its result, and whether there was a signal.
  consuming func cancelling<Value: Sendable>(_ task: Task<Value, Never>) async -> (
    result: Value, wasInterrupted: Bool
  ) {
    let source = told.map { Self.source(of: $0) { task.cancel() } }
    let value = await task.value
    source?.cancel()
    // What is left to print is not worth waiting for: a signal ends it.
    reel_signals_stop(Self.numbers, Int32(Self.numbers.count))
    return (value, told != nil && reel_signals_count() > 0)
  }

  /// Runs `body`, which the first signal cancels. Gives how it ended, and whether there was a signal.
  static func cancelling<Value: Sendable>(
    _ body: @escaping @Sendable () async throws -> Value
  ) async -> (result: Result<Value, any Error>, wasInterrupted: Bool) {
    let interruption = Interruption()
    let task = Task { () -> Result<Value, any Error> in
      do { return .success(try await body()) } catch { return .failure(error) }
    }
    return await interruption.cancelling(task)
  }

  private static func source(
    of descriptor: Int32, _ handler: @escaping @Sendable () -> Void
  ) -> any DispatchSourceRead {
    // A queue of its own has a thread of its own: the shared ones may all be waiting for a disk.
    let queue = DispatchQueue(label: "reel.signals")
    let source = DispatchSource.makeReadSource(fileDescriptor: descriptor, queue: queue)
    source.setEventHandler {
      var byte: UInt8 = 0
      _ = read(descriptor, &byte, 1)
      handler()
    }
    source.resume()
    return source
  }
}
