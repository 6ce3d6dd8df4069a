import ReelCore
import Testing

@testable import ReelSandbox

/// A file that takes long holds nobody up but itself.
@Suite struct StragglerTests {
  let folder: TestFolder

  init() throws {
    folder = try TestFolder()
  }

  private func probe(
    _ file: SourceFile, with prober: SandboxedProber, for wait: Duration? = .milliseconds(20),
    _ flag: CancellationFlag = CancellationFlag()
  ) throws(ProbeError) -> ProbeProgress {
    try prober.probe(file, sniffed: .mp4, patience: wait, cancellation: flag)
  }

  private func pending(
    _ file: SourceFile, with prober: SandboxedProber, _ flag: CancellationFlag = CancellationFlag()
  ) throws -> any PendingProbe {
    guard case .pending(let probe) = try probe(file, with: prober, flag) else { throw NotPending() }
    return probe
  }

  private struct NotPending: Error {}

  private func process(_ progress: ProbeProgress) -> String? {
    if case .done(let report) = progress { report.media.warnings.first?.message } else { nil }
  }

  @Test(arguments: [IsolationRequest.auto, .strict])
  func othersAreReadMeanwhile(_ isolation: IsolationRequest) throws {
    let prober = Sabotaged.prober(isolation, deadline: patience)
    let late = try folder.file("late.mp4", order("sleep"))
    let flag = CancellationFlag()
    let first = try pending(late, with: prober, flag)
    let good = try folder.file("good.mp4", order("read"))
    for _ in 0..<3 {
      guard case .done = try probe(good, with: prober, for: nil) else { throw NotPending() }
    }
    #expect(prober.counts == (0, 0, 1))
    flag.set()
    #expect(code { () throws(ProbeError) in try first.finish() } == .cancelled)
    #expect(prober.counts == (0, 0, 0))
  }

  /// Its answer is the same whoever waits for it.
  @Test func aPendingOneIsFinishedOnAnotherThread() async throws {
    let prober = Sabotaged.prober(deadline: patience)
    let late = try folder.file("late.mp4", order("hold"))
    let probe = try pending(late, with: prober)
    async let report = BlockingQueue(label: "test", width: 1).run { () throws(ProbeError) in
      try probe.finish()
    }
    try folder.overwrite("late.mp4", order("read"))
    #expect(try await report.media.size == late.size)
    #expect(prober.counts == (0, 0, 0))
    #expect(code { () throws(ProbeError) in try probe.finish() } == .cancelled)
  }

  @Test func aFileInTimeIsNeverPending() throws {
    let prober = Sabotaged.prober(deadline: patience)
    let good = try folder.file("good.mp4", order("report files"))
    for number in 1...3 {
      #expect(process(try probe(good, with: prober, for: patience)) == "\(number)")
    }
    #expect(prober.counts == (0, 0, 0))
  }

  /// The next file is not read by the worker that is busy, and later there is a worker more to choose from.
  @Test func eachHasAWorkerOfItsOwn() throws {
    let prober = Sabotaged.prober(deadline: patience)
    let who = try folder.file("who.mp4", order("report process"))
    let before = process(try probe(who, with: prober, for: nil))
    let flag = CancellationFlag()
    let first = try pending(try folder.file("late.mp4", order("sleep")), with: prober, flag)
    let meanwhile = process(try probe(who, with: prober, for: nil))
    #expect(before != nil && meanwhile != nil && before != meanwhile)
    flag.set()
    #expect(code { () throws(ProbeError) in try first.finish() } == .cancelled)
  }

  /// Two for one worker: the third waits where it is.
  @Test func theyAreBounded() async throws {
    let prober = Sabotaged.prober(deadline: patience)
    let late = try folder.file("late.mp4", order("hold"))
    let probes = try (0..<2).map { _ in try pending(late, with: prober) }
    async let third = BlockingQueue(label: "test", width: 1).run { () throws(ProbeError) in
      try probe(late, with: prober)
    }
    #expect(try await eventually { prober.counts == (1, 0, 2) })
    try await Task.sleep(for: .milliseconds(100))
    #expect(prober.counts == (1, 0, 2))
    try folder.overwrite("late.mp4", order("read"))
    guard case .done = try await third else { throw NotPending() }
    for probe in probes { #expect(code { () throws(ProbeError) in try probe.finish() } == nil) }
  }

  /// A deadline runs from the moment of sending, whether anybody waits or not.
  @Test func itsDeadlineRunsOn() throws {
    let prober = Sabotaged.prober(deadline: .milliseconds(200))
    let probe = try pending(try folder.file("late.mp4", order("sleep")), with: prober)
    #expect(code { () throws(ProbeError) in try probe.finish() } == .timeout)
    #expect(prober.counts == (0, 0, 0))
  }

  @Test func aPendingOneThatNobodyWantsIsGivenUp() throws {
    let prober = Sabotaged.prober(deadline: patience)
    let late = try folder.file("late.mp4", order("sleep"))
    let run = CancellationFlag()
    for _ in 0..<5 { _ = try pending(late, with: prober, run) }
    #expect(prober.counts == (0, 0, 0))
    guard case .done = try probe(try folder.file("good.mp4", order("read")), with: prober, for: nil)
    else { throw NotPending() }
  }

  @Test func closeEndsWhatIsPending() async throws {
    let prober = Sabotaged.prober(deadline: patience)
    let late = try folder.file("late.mp4", order("sleep"))
    let probes = try (0..<2).map { _ in try pending(late, with: prober) }
    // Nobody finishes them meanwhile.
    await prober.close()
    for probe in probes { #expect(code { () throws(ProbeError) in try probe.finish() } == .cancelled) }
    #expect(prober.counts == (0, 0, 0))
    #expect(code { () throws(ProbeError) in _ = try probe(late, with: prober) } == .cancelled)
  }

  /// What the first worker made of it is tried again, whoever waits then.
  @Test func whatItsWorkerDidNotSurviveIsReadOnceMore() throws {
    let prober = Sabotaged.prober(deadline: patience)
    guard case .done = try probe(try folder.file("good.mp4", order("read")), with: prober, for: nil)
    else { throw NotPending() }
    let probe = try pending(try folder.file("used.mp4", order("hold           ")), with: prober)
    try folder.overwrite("used.mp4", order("crash-when-used"))
    #expect(code { () throws(ProbeError) in try probe.finish() } == nil)
  }

  /// One flag for all files of a run: those that are read, pending, and waiting for a worker.
  @Test func aRunsFlagEndsEverything() async throws {
    let prober = Sabotaged.prober(deadline: patience)
    let late = try folder.file("late.mp4", order("sleep"))
    let run = CancellationFlag()
    let probes = try (0..<2).map { _ in try pending(late, with: prober, run) }
    let codes = await withTaskGroup(of: ProbeError.Code?.self) { group in
      for _ in 0..<2 {
        group.addTask {
          await BlockingQueue(label: "test", width: 1).run {
            code { () throws(ProbeError) in _ = try probe(late, with: prober, run) }
          }
        }
      }
      #expect((try? await eventually { prober.counts == (1, 1, 2) }) == true)
      run.set()
      return await group.reduce(into: []) { $0.append($1) }
    }
    #expect(codes == [.cancelled, .cancelled])
    for probe in probes { #expect(code { () throws(ProbeError) in try probe.finish() } == .cancelled) }
    #expect(prober.counts == (0, 0, 0))
  }
}

/// The code that `body` ends with, or nil when it succeeds.
private func code<Value>(_ body: () throws(ProbeError) -> Value) -> ProbeError.Code? {
  do throws(ProbeError) {
    _ = try body()
    return nil
  } catch {
    return error.code
  }
}
