import Glibc
import ReelCore
import Synchronization
import ReelTestSupport
import Testing

@testable import ReelSandbox

/// What a worker can access, as the worker itself reports.
@Suite struct ConfinementTests {
  let folder: TestFolder

  init() throws {
    folder = try TestFolder()
  }

  /// `/dev/null` three times, the channel, and the file.
  @Test(arguments: IsolationRequest.allCases)
  func itHoldsOneFileAndNothingElse(_ isolation: IsolationRequest) async throws {
    let prober = Sabotaged.prober(isolation)
    for _ in 0..<3 {
      #expect(try await prober.report(try folder.file("a.mp4", order("report descriptors"))) == "5")
    }
    await prober.close()
  }

  @Test(arguments: IsolationRequest.allCases)
  func itsEnvironmentIsEmpty(_ isolation: IsolationRequest) async throws {
    let prober = Sabotaged.prober(isolation)
    #expect(try await prober.report(try folder.file("a.mp4", order("report environment"))) == "empty")
    await prober.close()
  }

  @Test(
    .enabled(if: !Program.isSanitized, Program.whyNotSanitized), arguments: [IsolationRequest.auto, .strict])
  func itsMemoryIsLimited(_ isolation: IsolationRequest) async throws {
    let prober = Sabotaged.prober(isolation, limits: ProbeLimits(memory: 128 << 20))
    let eaten = try #require(Int(try await prober.report(try folder.file("a.mp4", order("report memory")))))
    #expect(eaten < 128 << 20)
    #expect(eaten > 64 << 20)
    await prober.close()
  }

  @Test func itRetiresAfterItsNumberOfFiles() async throws {
    let prober = Sabotaged.prober(filesPerWorker: 3)
    var counts: [String] = []
    var processes: Set<String> = []
    for _ in 0..<7 {
      counts.append(try await prober.report(try folder.file("a.mp4", order("report files"))))
    }
    for _ in 0..<6 {
      processes.insert(try await prober.report(try folder.file("b.mp4", order("report process"))))
    }
    #expect(counts == ["1", "2", "3", "1", "2", "3", "1"])
    #expect(processes.count == 3)
    await prober.close()
  }

  @Test func strictGivesEachFileAFreshProcess() async throws {
    let prober = Sabotaged.prober(.strict)
    var processes: Set<String> = []
    for _ in 0..<5 {
      let file = try folder.file("a.mp4", order("report process"))
      processes.insert(try await prober.report(file))
      #expect(try await prober.report(try folder.file("b.mp4", order("report files"))) == "1")
      #expect(try await prober.probe(file).provenance.isolation == .strict)
    }
    #expect(processes.count == 5)
    await prober.close()
  }

  @Test(arguments: IsolationRequest.allCases)
  func closeEndsEveryProcess(_ isolation: IsolationRequest) async throws {
    let prober = Sabotaged.prober(isolation, workers: 2)
    await prober.warmUp(for: .max)
    let reported = try await prober.report(try folder.file("a.mp4", order("report process")))
    let process = try #require(pid_t(reported))
    await prober.close()
    #expect(try await eventually { hasEnded(process) })
    #expect(await prober.code(try folder.file("b.mp4", order("read"))) == .cancelled)
  }

  @Test func processesEndWithThePool() async throws {
    func readOnce() async throws -> pid_t {
      let prober = Sabotaged.prober()
      return try #require(pid_t(try await prober.report(try folder.file("a.mp4", order("report process")))))
    }
    let process = try await readOnce()
    #expect(try await eventually { hasEnded(process) })
  }

  /// No worker is needed while files are uploaded for hours.
  @Test func idleOnesEnd() async throws {
    let settings = WorkerSettings(
      location: Sabotaged.worker, isolation: .auto, limits: ProbeLimits(), deadline: patience,
      startDeadline: patience, filesPerWorker: 9, forks: true)
    let starter = WorkerStarter(settings: settings, thread: SpawnThread(), breaker: StartCircuitBreaker())
    let server = ForkServer(starter)
    let rests = Atomic(0)
    let pool = WorkerPool(size: 2, idleTime: .milliseconds(1), makeSlot: { WorkerSlot(starter, server) }) {
      server.close()
      rests.add(1, ordering: .relaxed)
    }
    for round in 1...2 {
      let flags = [CancellationFlag(), CancellationFlag()]
      for flag in flags { _ = try #require(pool.take(flag)).prepare(flag) }
      for flag in flags { pool.giveBack(flag) }
      #expect(try await eventually { pool.idleSlots == 0 && rests.load(ordering: .relaxed) == round })
    }
    pool.close()
  }

  /// The kernel kills a worker, whatever it is doing, when the thread that started it ends.
  @Test(arguments: [IsolationRequest.auto, .none])
  func itDiesWithItsParent(_ isolation: IsolationRequest) async throws {
    let settings = WorkerSettings(
      location: Sabotaged.worker, isolation: isolation, limits: ProbeLimits(), deadline: patience,
      startDeadline: patience, filesPerWorker: 9)
    func orphan() throws -> ReadyWorker {
      let starter = WorkerStarter(settings: settings, thread: SpawnThread(), breaker: StartCircuitBreaker())
      return try starter.start(FrameBuffer(), CancellationFlag())
    }
    let worker = try orphan().worker
    guard case .gone = worker.receive(until: .now + patience) else {
      Issue.record("it is still there")
      return
    }
    // The channel closes a moment before the process ends; a parent with less patience would kill it in between.
    var end = pollfd(fd: worker.process.descriptor.rawValue, events: Int16(POLLIN), revents: 0)
    let isOver = poll(&end, 1, 60_000) == 1
    #expect(isOver)
    #expect(worker.process.finish() == .signalled(SIGKILL))
  }
}
