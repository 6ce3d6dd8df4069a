import ReelModel
import ReelSystem
import Synchronization

/// Reads files in confined processes of their own, so that a hostile one can at worst spoil its own answer.
///
/// The first bytes are looked at here, by the sniffer: what they refuse reaches no other program. The rest is read
/// by `reel-probe-worker`, which gets one descriptor for each file and nothing else. A worker that crashes, hangs,
/// overruns or lies costs one file, and is replaced. Workers start when they are needed, and end with this.
public final class SandboxedProber: MediaProber {
  private let line: SeatLine
  private let queue: BlockingQueue
  private let version = Mutex<ReaderVersion?>(nil)
  /// One worker is enough to ask for the version.
  private let asking = AsyncPlaces(count: 1)
  private let thread: SpawnThread
  private let location: WorkerLocation

  /// - Parameters:
  ///   - worker: where `reel-probe-worker` is.
  ///   - isolation: how far it is confined.
  ///   - workers: how many files are read at once; at least 1.
  ///   - deadline: how long reading one file may take; above 0.
  ///   - filesPerWorker: after so many files a worker retires, so that a break-in that nobody noticed ends with it.
  ///     At least 1.
  ///   - limits: how much the reading of one file may cost.
  public init(
    worker: WorkerLocation = .installed, isolation: IsolationRequest = .auto, workers: Int,
    deadline: Duration = .seconds(10), filesPerWorker: Int = 1000, limits: ProbeLimits = ProbeLimits()
  ) {
    let settings = WorkerSettings(
      location: worker, isolation: isolation, limits: limits, deadline: deadline,
      // Loading FFmpeg takes 30 ms, and ten seconds on a machine that is busy enough: no reason to end a run.
      startDeadline: max(deadline, .seconds(60)), filesPerWorker: max(1, filesPerWorker))
    thread = SpawnThread()
    location = worker
    let starter = WorkerStarter(settings: settings, thread: thread, breaker: StartBreaker())
    line = SeatLine((0..<max(1, workers)).map { _ in Seat(starter) })
    // As many again look at first bytes while the others wait for their workers.
    queue = BlockingQueue(label: "reel.probe", width: 2 * max(1, workers))
  }

  /// - Throws: what the sniffer or the worker says of the file; `timeout`, `memoryLimit`, `crashed`,
  ///   `sandboxViolation`, `implausible` when the worker did not come back with an answer that can be true;
  ///   `workerMissing`, `workerBroken`, `isolationUnavailable` when no file will fare better; `tooManyOpenFiles`,
  ///   `noReader` when this machine is short of something just now; `cancelled`.
  public func probe(_ file: SourceFile) async throws(ProbeError) -> ProbeReport {
    // Before it has a seat: no worker waits for that.
    let (container, descriptor) = try await queue.run { () throws(ProbeError) in
      (try FirstBytes.container(of: file), try Descriptor.reopening(file.handle))
    }
    return try await withSeat { seat, interruption throws(ProbeError) in
      try seat.read(
        ReadJob(
          size: file.size, container: container, descriptor: descriptor, interruption: interruption))
    }
  }

  /// - Throws: as ``probe(_:)``.
  public func probe(
    _ file: SourceFile, sniffed container: MediaContainer?
  ) async throws(ProbeError) -> ProbeReport {
    guard let container else { return try await probe(file) }
    // Opening alone is not worth a thread of its own.
    return try await withSeat { seat, interruption throws(ProbeError) in
      try seat.read(
        ReadJob(
          size: file.size, container: container, descriptor: try .reopening(file.handle),
          interruption: interruption))
    }
  }

  /// Starts a worker unless one has said its version already.
  public func readerVersion() async throws(ProbeError) -> ReaderVersion {
    if let known = version.withLock({ $0 }) { return known }
    let place = await asking.take()
    defer { asking.giveBack(place) }
    if let known = version.withLock({ $0 }) { return known }
    return try await withSeat { [self] seat, interruption throws(ProbeError) in
      let found = try seat.prepare(interruption)
      version.withLock { $0 = found }
      return found
    }
  }

  /// - Throws: `workerMissing` when there is no such program.
  public func checkInstallation() async throws(ProbeError) {
    let location = location
    _ = try await queue.run { () throws(ProbeError) in try location.resolve() }
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
      for (seat, interruption) in line.takeIdle(atMost: files) {
        group.addTask { [self] in
          let found = await withTaskCancellationHandler {
            await queue.result { () throws(ProbeError) in try seat.prepare(interruption) }
          } onCancel: {
            interruption.set()
          }
          line.giveBack(seat, interruption)
          if case .success(let found) = found { version.withLock { $0 = found } }
        }
      }
    }
  }

  /// Ends every worker; files that are being read end with `cancelled`, and so do those that come later.
  public func close() async {
    await line.close()
  }

  /// How many files have a seat, and how many stand in line for one: what the tests wait for.
  var counts: (seated: Int, inLine: Int) { line.counts }

  /// Runs `body` with a seat, on a thread that may block.
  private func withSeat<Value: Sendable>(
    _ body: @escaping @Sendable (Seat, CancellationFlag) throws(ProbeError) -> Value
  ) async throws(ProbeError) -> Value {
    let interruption = CancellationFlag()
    let result: Result<Value, ProbeError> = await withTaskCancellationHandler {
      guard let seat = await line.take(interruption) else { return .failure(.cancelled) }
      defer { line.giveBack(seat, interruption) }
      return await queue.result { () throws(ProbeError) in
        guard !interruption.isSet else { throw .cancelled }
        return try body(seat, interruption)
      }
    } onCancel: {
      interruption.set()
    }
    return try result.get()
  }
}

extension BlockingQueue {
  fileprivate func result<Value: Sendable, Failure: Error>(
    _ body: @escaping @Sendable () throws(Failure) -> Value
  ) async -> Result<Value, Failure> {
    do throws(Failure) {
      return .success(try await run(body))
    } catch {
      return .failure(error)
    }
  }
}
