import ReelCore
import ReelWire
import Synchronization

/// Reads files in separate confined processes, so that a hostile file can at worst corrupt the answer about itself.
///
/// The sniffer examines the first bytes in this process: a file that it refuses reaches no other program. The rest
/// is read by `reel-probe-worker`, which gets one descriptor for each file and nothing else. A worker that crashes,
/// hangs, exceeds a limit or lies costs one file, and is replaced. Workers start when they are needed, and end when
/// this object is released.
public final class SandboxedProber: MediaProber {
  let pool: WorkerPool
  let settings: WorkerSettings
  /// Allows none if there are only enough descriptors for the lanes: each postponed file holds one more.
  private let postponed = Postponements(most: max(0, min(16, Descriptor.limit / 64 - 1)))
  private let version = Mutex<ReaderVersion?>(nil)
  /// Held while asking for the version: one worker is enough for that.
  private let asking = Mutex(())
  private let starter: WorkerStarter
  private let server: ForkServer?
  /// Runs calls from code that must not block.
  private let queue: BlockingQueue

  /// How long reading one file may take by default.
  public static let defaultDeadline = Duration.seconds(10)

  /// - Parameters:
  ///   - worker: The location of `reel-probe-worker`.
  ///   - isolation: How strictly it is confined.
  ///   - workers: How many files are read at once, not counting pending ones; at least 1.
  ///   - deadline: The maximum time for reading one file; above 0.
  ///   - filesPerWorker: A worker is retired after this many files, so that an unnoticed compromise ends with it.
  ///     At least 1.
  ///   - limits: The maximum cost of reading one file.
  ///   - idleTime: Workers that have been unused for this long end.
  ///   - makesPosters: Whether posters will be made of many files, each of which requires a fresh worker.
  ///   - mends: Whether a ``SandboxedMender`` gets its workers from this prober.
  ///   - isThorough: Whether every packet of a file is read.
  package init(
    worker: WorkerLocation = .installed, isolation: IsolationRequest = .auto, workers: Int,
    deadline: Duration = defaultDeadline, filesPerWorker: Int = 1000, limits: ProbeLimits = ProbeLimits(),
    idleTime: Duration = .seconds(2), makesPosters: Bool = false, mends: Bool, isThorough: Bool = false
  ) {
    let settings = WorkerSettings(
      location: worker, isolation: isolation, limits: limits, deadline: deadline,
      // Loading FFmpeg takes 30 ms, but up to ten seconds on a very busy machine, which is no reason to end a run.
      startDeadline: max(deadline, .seconds(60)), filesPerWorker: max(1, filesPerWorker),
      // Forking does not pay for a single persistent worker, which would share the loaded libraries with no other.
      forks: isolation == .strict || isolation == .auto && (workers > 1 || makesPosters || mends),
      mends: mends, isThorough: isThorough)
    self.settings = settings
    let starter = WorkerStarter(settings: settings, thread: SpawnThread(), breaker: StartCircuitBreaker())
    self.starter = starter
    let server = settings.forks ? ForkServer(starter) : nil
    self.server = server
    pool = WorkerPool(size: max(1, workers), idleTime: idleTime, makeSlot: { WorkerSlot(starter, server) }) {
      server?.close()
    }
    // Twice as many threads, so that some can examine first bytes while the others wait for their workers.
    queue = BlockingQueue(label: "reel.probe", width: 2 * max(1, workers))
  }

  /// Creates a prober that provides no workers for mending.
  public convenience init(
    worker: WorkerLocation = .installed, isolation: IsolationRequest = .auto, workers: Int,
    deadline: Duration = defaultDeadline, filesPerWorker: Int = 1000, limits: ProbeLimits = ProbeLimits(),
    idleTime: Duration = .seconds(2), makesPosters: Bool = false
  ) {
    self.init(
      worker: worker, isolation: isolation, workers: workers, deadline: deadline,
      filesPerWorker: filesPerWorker, limits: limits, idleTime: idleTime, makesPosters: makesPosters,
      mends: false)
  }

  /// Reads the facts of `file`. If that takes longer than `patience`, the probe is returned as pending: its worker
  /// ends, and ``PendingProbe/finish()`` reads the file again, with the whole deadline. Up to 16 probes may be
  /// pending, fewer if descriptors are scarce; beyond that the caller waits.
  ///
  /// - Throws: What the sniffer or the worker reports about the file; `timeout`, `memoryLimit`, `crashed`,
  ///   `sandboxViolation`, `implausible` if the worker returned no plausible answer; `workerMissing`,
  ///   `workerBroken`, `isolationUnavailable` if every other file would fail, too; `tooManyOpenFiles`, `noReader`
  ///   if the machine is temporarily short of a resource; `cancelled`.
  public func probe(
    _ file: SourceFile, sniffed container: MediaContainer?, patience: Duration?,
    cancellation: CancellationFlag
  ) throws(ProbeError) -> ProbeProgress {
    // Done before taking a slot, so that no worker waits for it.
    let container =
      if let container { container } else { try FirstBytes.container(of: file, cancellation) }
    let job = ReadJob(
      size: file.size, container: container, bytes: try ReadBytes(of: file.handle),
      cancellation: CancellationFlag(parent: cancellation))
    let report = try pool.read(job, for: patience) { postponed.take() }
    if let report { return .done(report) }
    return .pending(PostponedProbe(job, in: pool, of: postponed))
  }

  /// Starts a worker, unless one has already stated its version.
  public func readerVersion(cancellation: CancellationFlag) throws(ProbeError) -> ReaderVersion {
    if let known = version.withLock({ $0 }) { return known }
    return try asking.withLock { _ throws(ProbeError) in
      if let known = version.withLock({ $0 }) { return known }
      let flag = CancellationFlag(parent: cancellation)
      guard let slot = pool.take(flag) else { throw .cancelled }
      return try prepare(slot, flag)
    }
  }

  /// Checks that the worker's program exists.
  /// - Throws: `workerMissing` if it does not.
  public func checkInstallation() throws(ProbeError) {
    _ = try settings.location.resolve()
  }

  /// Examines the first bytes.
  /// - Throws: What the sniffer reports about them; `unreadable`, `sourceChanged`.
  public func firstLook(at file: SourceFile) throws(ProbeError) -> MediaContainer? {
    try FirstBytes.container(of: file)
  }

  /// The sniffer's version is Reel's own.
  public var firstLookVersion: ReaderVersion? { .firstBytes }

  /// Starts workers, all at once, until there is one for each of `files` files, or as many as allowed.
  public func warmUp(for files: Int) async {
    await withTaskGroup(of: Void.self) { group in
      for (slot, flag) in pool.takeFree(atMost: files) {
        group.addTask { [self] in
          await flag.whileRunning {
            await queue.run { [self] () throws(Never) in _ = try? prepare(slot, flag) }
          }
        }
      }
    }
  }

  /// Ends every worker. Files that are being read end with `cancelled`, as do those that come later, and pending
  /// ones when they are finished.
  public func close() async {
    // Not on the threads of the calls that it ends.
    await BlockingQueue(label: "reel.probe.close", width: 1).run { [pool, server] in
      pool.close()
      server?.close()
    }
  }

  /// How many workers crashed, were killed while reading a file (for its deadline, its limits or the sandbox), or
  /// ended because their file took too long and was postponed. Each was replaced when there was a file for it.
  public var replacedWorkers: Int { starter.losses.count }

  /// Whether the worker's program was found to be of another version than this one.
  package var hasMetOtherVersion: Bool { starter.breaker.hasMetOtherVersion }

  /// For tests to wait on.
  var counts: (lent: Int, waiting: Int, postponed: Int) {
    let (lent, waiting) = pool.counts
    return (lent, waiting, postponed.taken)
  }

  /// Starts or forks a worker that has read nothing, for one file. Blocks.
  /// - Throws: As ``WorkerStarter/start(_:_:)``.
  func freshWorker(
    _ request: ForkRequest, _ cancellation: CancellationFlag
  ) throws(ProbeError) -> ReadyWorker {
    guard let server else { return try starter.start(FrameBuffer(), cancellation) }
    let ready = try server.fork(request, FrameBuffer(), cancellation)
    guard settings.isolation != .strict || ready.hello.isolation == .full else {
      throw .lessIsolation(ready.hello.isolation)
    }
    return ready
  }

  /// Gets the version of the slot's worker, and returns the slot.
  private func prepare(_ slot: WorkerSlot, _ flag: CancellationFlag) throws(ProbeError) -> ReaderVersion {
    defer { pool.giveBack(flag) }
    let found = try slot.prepare(flag)
    version.withLock { $0 = found }
    return found
  }
}

/// The same operations for code that must not block.
extension SandboxedProber {
  /// Reads the facts of `file`, however long that takes.
  /// - Throws: As ``probe(_:sniffed:patience:cancellation:)``; `cancelled` if the task is cancelled.
  public func probe(
    _ file: SourceFile, sniffed container: MediaContainer? = nil
  ) async throws(ProbeError) -> ProbeReport {
    try await queue.runCancellable { [self] flag throws(ProbeError) in
      try probe(file, sniffed: container, cancellation: flag)
    }
  }

  /// Returns the name and version of the reader.
  /// - Throws: As ``readerVersion(cancellation:)``; `cancelled` if the task is cancelled.
  public func readerVersion() async throws(ProbeError) -> ReaderVersion {
    try await queue.runCancellable { [self] flag throws(ProbeError) in
      try readerVersion(cancellation: flag)
    }
  }

  /// Returns how strictly this system allows a worker to be confined, as a worker itself reports; one is started if
  /// there is none.
  /// - Throws: As ``readerVersion(cancellation:)``; `cancelled` if the task is cancelled.
  public func isolation() async throws(ProbeError) -> IsolationLevel {
    try await queue.runCancellable { [self] parent throws(ProbeError) in
      let flag = CancellationFlag(parent: parent)
      guard let slot = pool.take(flag) else { throw .cancelled }
      defer { pool.giveBack(flag) }
      return try slot.isolation(flag)
    }
  }
}
