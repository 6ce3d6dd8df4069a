import CReel
import Glibc
import ReelCore
import ReelTestSupport
import ReelWire
import Synchronization
import Testing

@testable import ReelSandbox

/// Workers that fail before they read a file.
@Suite struct StartTests {
  let folder: TestFolder

  init() throws {
    folder = try TestFolder()
  }

  private func prober(
    _ script: String, _ isolation: IsolationRequest = .auto, deadline: Duration = patience
  ) throws -> SandboxedProber {
    try folder.script("worker", script)
    return SandboxedProber(
      worker: .path("\(folder.path)/worker"), isolation: isolation, workers: 2, deadline: deadline)
  }

  /// A prober whose worker says `hello`, whatever it is asked, and then sleeps.
  private func prober(
    saying hello: [UInt8], _ isolation: IsolationRequest = .auto, deadline: Duration = patience
  ) throws -> SandboxedProber {
    try folder.write("hello", hello)
    return try prober(
      "/bin/cat \(folder.path)/hello >&3; exec /bin/sleep 1000", isolation, deadline: deadline)
  }

  private func hello(_ version: String, _ isolation: IsolationLevel) throws -> [UInt8] {
    try WorkerHello(version: ReaderVersion(reel: version, ffmpeg: "1"), isolation: isolation).encoded()
  }

  /// The number of workers that were started: each appends "started" and a newline.
  private func starts() -> Int {
    (try? folder.open("starts")).map { Int($0.size) / 8 } ?? 0
  }

  @Test func whatNeedsNoWorkerStartsNone() async throws {
    let prober = try prober("echo started >>\(folder.path)/starts; exit 3")
    try prober.checkInstallation()
    #expect(try prober.firstLook(at: try folder.file("a.mp4", smallMP4)) == .mp4)
    let text = try folder.file("b.mp4", Array("only words".utf8))
    let look = #expect(throws: ProbeError.self) { try prober.firstLook(at: text) }
    #expect(look?.code == .notMedia)
    #expect(await prober.code(text) == .notMedia)
    await prober.warmUp(for: 0)
    #expect(starts() == 0)
    await prober.warmUp(for: 1)
    #expect(starts() > 0)
    await prober.close()
  }

  @Test func oneIsStartedForTheVersionHoweverManyAsk() async throws {
    let real = Program.path("reel-probe-worker")
    let prober = try prober("echo started >>\(folder.path)/starts; exec \(real)")
    let versions = await withTaskGroup(of: ReaderVersion?.self) { group in
      for _ in 0..<8 { group.addTask { try? await prober.readerVersion() } }
      return await group.reduce(into: [ReaderVersion?]()) { $0.append($1) }
    }
    #expect(versions.count == 8 && versions.allSatisfy { $0?.reel == ReelVersion.current })
    #expect(starts() == 1)
    await prober.close()
  }

  @Test func aMissingOneIsSeenWithoutAStart() async throws {
    let prober = SandboxedProber(worker: .path("/nowhere/worker"), workers: 1)
    let error = #expect(throws: ProbeError.self) { try prober.checkInstallation() }
    #expect(error?.code == .workerMissing)
    await prober.close()
  }

  @Test(arguments: [
    ("exit 3", "exit status 3"), ("kill -SEGV $$", "SIGSEGV"), ("exit 127", "a library"),
    ("echo hello >&3; exec /bin/sleep 1000", "not a handshake"),
  ])
  func thatAllDieAreOneClearError(_ script: String, _ reason: String) async throws {
    let prober = try prober(script)
    let file = try folder.file("a.mp4", smallMP4)
    for _ in 0..<3 {
      let failure = await prober.failure(file)
      #expect(failure?.code == .workerBroken)
      #expect(failure?.message.contains(reason) == true, "\(failure?.message ?? "")")
    }
    await prober.close()
  }

  /// Once this is known, no file waits for another start.
  @Test func thatAllDieIsFoundOutOnce() async throws {
    let prober = try prober("echo . >>\(folder.path)/starts; exit 1")
    let file = try folder.file("a.mp4", smallMP4)
    let begin = ContinuousClock.now
    for _ in 0..<50 { #expect(await prober.code(file) == .workerBroken) }
    // On a slow machine the verdict lapses meanwhile, and is renewed by one more start.
    let lapses = Int(begin.duration(to: .now) / StartCircuitBreaker.validity)
    let starts = try folder.open("starts").size / 2
    #expect((StartCircuitBreaker.patience...StartCircuitBreaker.patience + lapses).contains(Int(starts)))
    await prober.close()
  }

  private final class Passed: Sendable {
    let time = Mutex(Duration.zero)
  }

  /// A worker that was briefly broken while its libraries were replaced is tried again.
  @Test func afterAWhileItIsTriedAgain() async throws {
    let real = Program.path(Sabotaged.name)
    try folder.script(
      "worker", "echo started >>\(folder.path)/starts; [ -e \(folder.path)/whole ] || exit 127; exec \(real)")
    let (begin, passed) = (ContinuousClock.now, Passed())
    let breaker = StartCircuitBreaker { begin + passed.time.withLock { $0 } }
    let starter = WorkerStarter(
      settings: settings(forks: false), thread: SpawnThread(), breaker: breaker)
    func start() throws { _ = try starter.start(FrameBuffer(), CancellationFlag()) }
    #expect(throws: ProbeError.self) { try start() }
    #expect(starts() == StartCircuitBreaker.patience)
    #expect(throws: ProbeError.self) { try start() }
    #expect(starts() == StartCircuitBreaker.patience)
    passed.time.withLock { $0 += StartCircuitBreaker.validity }
    #expect(throws: ProbeError.self) { try start() }
    #expect(starts() == StartCircuitBreaker.patience + 1)
    try folder.write("whole", [])
    passed.time.withLock { $0 += StartCircuitBreaker.validity }
    try start()
    breaker.failed("once")
    try breaker.check()
  }

  private func settings(forks: Bool) -> WorkerSettings {
    WorkerSettings(
      location: .path("\(folder.path)/worker"), isolation: .auto, limits: ProbeLimits(), deadline: patience,
      startDeadline: patience, filesPerWorker: 9, forks: forks)
  }

  /// An updated library is used even while workers are busy.
  @Test(arguments: [true, false]) func oldOnesAreReplaced(forks: Bool) async throws {
    try folder.script(
      "worker", "echo started >>\(folder.path)/starts; exec \(Program.path(Sabotaged.name))")
    for (age, expected) in [(patience, 1), (.zero, 3)] {
      var settings = settings(forks: forks)
      settings.greatestAge = age
      let before = starts()
      let starter = WorkerStarter(settings: settings, thread: SpawnThread(), breaker: StartCircuitBreaker())
      let slot = WorkerSlot(starter, forks ? ForkServer(starter) : nil)
      for _ in 1...3 { _ = try slot.prepare(CancellationFlag()) }
      #expect(starts() - before == expected)
    }
  }

  @Test func ofAnotherVersionAreMissing() async throws {
    let prober = try prober(saying: hello("9.9.9", .full))
    let failure = await prober.failure(try folder.file("a.mp4", smallMP4))
    #expect(failure?.code == .workerMissing)
    #expect(failure?.message.contains("9.9.9") == true)
    #expect(failure?.message.contains("start it again") == true && prober.hasMetOtherVersion)
    #expect(failure?.message.contains("swift build --product reel-probe-worker") == true)
    await prober.close()
  }

  @Test func ofAnotherWireFormatAreMissing() async throws {
    var frame = try hello("9.9.9", .full)
    frame[4] = 77
    let prober = try prober(saying: frame)
    let failure = await prober.failure(try folder.file("a.mp4", smallMP4))
    #expect(failure?.code == .workerMissing, "\(failure?.message ?? "")")
    await prober.close()
  }

  @Test(arguments: [IsolationLevel.none, .limits, .seccomp, .landlock])
  func withLessIsolationAreRefusedByStrictOnly(_ level: IsolationLevel) async throws {
    let file = try folder.file("a.mp4", smallMP4)
    let strict = try prober(saying: hello(ReelVersion.current, level), .strict)
    #expect(await strict.code(file) == .isolationUnavailable)
    await strict.close()
    let auto = ForkServer(
      WorkerStarter(
        settings: WorkerSettings(
          location: .path("\(folder.path)/worker"), isolation: .auto, limits: ProbeLimits(),
          deadline: patience,
          startDeadline: patience, filesPerWorker: 9),
        thread: SpawnThread(), breaker: StartCircuitBreaker()))
    #expect(try auto.version(CancellationFlag()).reel == ReelVersion.current)
  }

  /// A busy machine may take longer to start a worker than a file may take to be read.
  @Test func thatTakesItsTimeToStartIsWaitedFor() async throws {
    let real = Program.path(Sabotaged.name)
    let prober = try prober("/bin/sleep 2; exec \(real) \"$@\"", deadline: .seconds(1))
    let code = await prober.code(try folder.file("a.mp4", order("read")))
    // On such a machine, the file may take too long, too.
    #expect(code == nil || code == .timeout)
    await prober.close()
  }

  /// A worker that answers but never reads fills its socket buffer; a write to it must not block forever.
  @Test(.shortTime)
  func thatNeverListenHoldNobodyUp() throws {
    try folder.script("worker", "exec /bin/sleep 1000")
    let ends = try ChannelEnds()
    var child = reel_child()
    #expect(reel_child_spawn("\(folder.path)/worker", ends.theirs.rawValue, &child) == 0)
    let worker = Worker(process: ChildProcess(adopting: child), channel: ends.ours, buffer: FrameBuffer())
    let frame = try ForkRequest(.reading, processorSeconds: 10).encoded()
    var sent = 0
    while sent < 100_000, worker.send(frame) { sent += 1 }
    #expect((1..<100_000).contains(sent))
  }

  @Test func thatAreNotThereAreMissing() async throws {
    let prober = SandboxedProber(worker: .path("\(folder.path)/nothing"), workers: 1)
    let failure = await prober.failure(try folder.file("a.mp4", smallMP4))
    #expect(failure?.code == .workerMissing)
    #expect(failure?.message.contains("\(folder.path)/nothing") == true)
    try folder.write("plain", [], mode: 0o600)
    let other = SandboxedProber(worker: .path("\(folder.path)/plain"), workers: 1)
    #expect(await other.code(try folder.file("a.mp4", smallMP4)) == .workerMissing)
  }

  /// A file that the sniffer refuses starts no worker.
  @Test func areNotNeededForARefusal() async throws {
    let prober = SandboxedProber(worker: .path("\(folder.path)/nothing"), workers: 1)
    #expect(await prober.code(try folder.file("a.mp4", Array("#EXTM3U\n".utf8))) == .playlist)
    #expect(await prober.code(try folder.file("b.mp4", [])) == .empty)
    #expect(await prober.code(try folder.file("c.mp4", Array("hello, world\n".utf8))) == .notMedia)
  }

  @Test func areFoundBesideTheProgramOrInLibexec() throws {
    let beside = "\(folder.path)/reel-probe-worker"
    #expect(throws: ProbeError.self) { try WorkerLocation.find(from: "\(folder.path)/reel") }
    try folder.write("reel-probe-worker", [], mode: 0o700)
    #expect(try WorkerLocation.find(from: "\(folder.path)/reel") == beside)
    #expect(try WorkerLocation.path(beside).resolve() == beside)
  }
}
