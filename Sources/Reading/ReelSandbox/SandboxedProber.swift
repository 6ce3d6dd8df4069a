import ReelCore
import ReelWire
import Synchronization

/// Reads files in confined processes of their own, so that a hostile one can at worst spoil its own answer.
///
/// The first bytes are looked at here, by the sniffer: what they refuse reaches no other program. The rest is read
/// by `reel-probe-worker`, which gets one descriptor for each file and nothing else. A worker that crashes, hangs,
/// overruns or lies costs one file, and is replaced. Workers start when they are needed, and end with this.
public final class SandboxedProber: MediaProber {
  let pool: WorkerPool
  let settings: WorkerSettings
  /// None where there are only as many descriptors as the lanes need: each holds a file more.
  private let postponed = Postponements(most: max(0, min(16, Descriptor.limit / 64 - 1)))
  private let version = Mutex<ReaderVersion?>(nil)
  /// One worker is enough to ask for the version.
  private let asking = Mutex(())
  private let starter: WorkerStarter
  private let server: ForkServer?
  /// For calls from code that must not block.
  private let queue: BlockingQueue

  /// How long reading one file may take, unless something else is asked for.
  public static let defaultDeadline = Duration.seconds(10)

  /// - Parameters:
  ///   - worker: where `reel-probe-worker` is.
  ///   - isolation: how far it is confined.
  ///   - workers: how many files are read at once, not counting pending ones; at least 1.
  ///   - deadline: how long reading one file may take; above 0.
  ///   - filesPerWorker: after so many files a worker retires, so that a break-in that nobody noticed ends with it.
  ///     At least 1.
  ///   - limits: how much the reading of one file may cost.
  ///   - idleTime: workers that nobody has needed for that long end.
  ///   - makesPosters: whether posters will be made of many files: each takes a fresh worker.
  ///   - mends: whether a ``SandboxedMender`` has its workers from this.
  ///   - isThorough: whether every packet of a file is read.
  package init(
    worker: WorkerLocation = .installed, isolation: IsolationRequest = .auto, workers: Int,
    deadline: Duration = defaultDeadline, filesPerWorker: Int = 1000, limits: ProbeLimits = ProbeLimits(),
    idleTime: Duration = .seconds(2), makesPosters: Bool = false, mends: Bool, isThorough: Bool = false
  ) {
    let settings = WorkerSettings(
      location: worker, isolation: isolation, limits: limits, deadline: deadline,
      // Loading FFmpeg takes 30 ms, and ten seconds on a machine that is busy enough: no reason to end a run.
      startDeadline: max(deadline, .seconds(60)), filesPerWorker: max(1, filesPerWorker),
      // A single worker that is kept has nobody to share what it has loaded with.
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
    // As many again look at first bytes while the others wait for their workers.
    queue = BlockingQueue(label: "reel.probe", width: 2 * max(1, workers))
  }

  /// The same, for one that mends nothing.
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

  /// A file that takes longer than `patience` comes back pending: its worker ends, and ``PendingProbe/finish()`` reads
  /// it anew, with the whole deadline. Up to 16 may be pending, fewer where descriptors are short; beyond that the
  /// caller waits.
  ///
  /// - Throws: what the sniffer or the worker says of the file; `timeout`, `memoryLimit`, `crashed`,
  ///   `sandboxViolation`, `implausible` when the worker did not come back with an answer that can be true;
  ///   `workerMissing`, `workerBroken`, `isolationUnavailable` when no file will fare better; `tooManyOpenFiles`,
  ///   `noReader` when this machine is short of something just now; `cancelled`.
  public func probe(
    _ file: SourceFile, sniffed container: MediaContainer?, patience: Duration?,
    cancellation: CancellationFlag
  ) throws(ProbeError) -> ProbeProgress {
    // Before it has a slot: no worker waits for that.
    let container =
      if let container { container } else { try FirstBytes.container(of: file, cancellation) }
    let job = ReadJob(
      size: file.size, container: container, bytes: try ReadBytes(of: file.handle),
      cancellation: CancellationFlag(parent: cancellation))
    let report = try pool.read(job, for: patience) { postponed.take() }
    if let report { return .done(report) }
    return .pending(PostponedProbe(job, in: pool, of: postponed))
  }

  /// Starts a worker unless one has said its version already.
  public func readerVersion(cancellation: CancellationFlag) throws(ProbeError) -> ReaderVersion {
    if let known = version.withLock({ $0 }) { return known }
    return try asking.withLock { _ throws(ProbeError) in
      if let known = version.withLock({ $0 }) { return known }
      let flag = CancellationFlag(parent: cancellation)
      guard let slot = pool.take(flag) else { throw .cancelled }
      return try prepare(slot, flag)
    }
  }

  /// - Throws: `workerMissing` when there is no such program.
  public func checkInstallation() throws(ProbeError) {
    _ = try settings.location.resolve()
  }

  /// Looks at the first bytes.
  /// - Throws: what the sniffer says of them; `unreadable`, `sourceChanged`.
  public func firstLook(at file: SourceFile) throws(ProbeError) -> MediaContainer? {
    try FirstBytes.container(of: file)
  }

  /// The sniffer is as old as Reel.
  public var firstLookVersion: ReaderVersion? { .firstBytes }

  /// Starts workers, all at once, until there is one for each of `files` files, or as many as this may have.
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

  /// Ends every worker; files that are being read end with `cancelled`, and so do those that come later. A pending one
  /// ends so when it is finished.
  public func close() async {
    // Not on the threads of those that it ends.
    await BlockingQueue(label: "reel.probe.close", width: 1).run { [pool, server] in
      pool.close()
      server?.close()
    }
  }

  /// How many readers crashed, were ended at a file (by its deadline, its limits or the sandbox), or gave way to others
  /// because a file took long. Each was replaced when there was a file for it.
  public var replacedWorkers: Int { starter.losses.count }

  /// Whether the program that reads media was found to be of another version than this one.
  package var hasMetOtherVersion: Bool { starter.breaker.hasMetOtherVersion }

  /// What the tests wait for.
  var counts: (lent: Int, waiting: Int, postponed: Int) {
    let (lent, waiting) = pool.counts
    return (lent, waiting, postponed.taken)
  }

  /// A worker that has read nothing, for one file. Blocks.
  /// - Throws: as ``WorkerStarter/start(_:_:)``.
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

  /// Has the slot's worker say its version, and gives the slot back.
  private func prepare(_ slot: WorkerSlot, _ flag: CancellationFlag) throws(ProbeError) -> ReaderVersion {
    defer { pool.giveBack(flag) }
    let found = try slot.prepare(flag)
    version.withLock { $0 = found }
    return found
  }
}

/// The same for code that must not block.
extension SandboxedProber {
  /// What `file` says about itself, however long that takes.
  /// - Throws: as ``probe(_:sniffed:patience:cancellation:)``; `cancelled` when the task is.
  public func probe(
    _ file: SourceFile, sniffed container: MediaContainer? = nil
  ) async throws(ProbeError) -> ProbeReport {
    try await queue.runCancellable { [self] flag throws(ProbeError) in
      try probe(file, sniffed: container, cancellation: flag)
    }
  }

  /// Names the reader and its version.
  /// - Throws: as ``readerVersion(cancellation:)``; `cancelled` when the task is.
  public func readerVersion() async throws(ProbeError) -> ReaderVersion {
    try await queue.runCancellable { [self] flag throws(ProbeError) in
      try readerVersion(cancellation: flag)
    }
  }

  /// How far this system lets a worker be confined, as one says that is started for it unless there is one.
  /// - Throws: as ``readerVersion(cancellation:)``; `cancelled` when the task is.
  public func isolation() async throws(ProbeError) -> IsolationLevel {
    try await queue.runCancellable { [self] parent throws(ProbeError) in
      let flag = CancellationFlag(parent: parent)
      guard let slot = pool.take(flag) else { throw .cancelled }
      defer { pool.giveBack(flag) }
      return try slot.isolation(flag)
    }
  }
}
