import Glibc
import ReelCore
import ReelTestSupport
import Testing

@testable import ReelSandbox

/// A file that takes long delays only itself.
@Suite struct PostponementTests {
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
    let first = try pending(try folder.file("late.mp4", order("sleep")), with: prober)
    #expect(prober.counts == (0, 0, 1) && prober.replacedWorkers == 1)
    let good = try folder.file("good.mp4", order("read"))
    for _ in 0..<3 {
      guard case .done = try probe(good, with: prober, for: nil) else { throw NotPending() }
    }
    withExtendedLifetime(first) {}
  }

  @Test func aPostponedOneIsReadAnew() async throws {
    let prober = Sabotaged.prober(deadline: patience)
    let late = try folder.file("late.mp4", order("hold"))
    let probe = try pending(late, with: prober)
    try folder.overwrite("late.mp4", order("read"))
    let report = try await BlockingQueue(label: "test", width: 1).run { () throws(ProbeError) in
      try probe.finish()
    }
    #expect(report.media.size == late.size)
    #expect(prober.counts == (0, 0, 1))
  }

  @Test func aFileInTimeIsNeverPostponed() throws {
    let prober = Sabotaged.prober(deadline: patience)
    let good = try folder.file("good.mp4", order("report files"))
    for number in 1...3 {
      #expect(process(try probe(good, with: prober, for: patience)) == "\(number)")
    }
    #expect(prober.counts == (0, 0, 0))
  }

  /// Otherwise the worker would keep using processor time.
  @Test func itsWorkerEnds() async throws {
    let prober = Sabotaged.prober(deadline: patience)
    let who = try folder.file("who.mp4", order("report process"))
    let before = process(try probe(who, with: prober, for: nil))
    let first = try pending(try folder.file("late.mp4", order("sleep")), with: prober)
    let meanwhile = process(try probe(who, with: prober, for: nil))
    #expect(before != nil && meanwhile != nil && before != meanwhile)
    let worker = try #require(before.flatMap { Int32($0) })
    #expect(try await eventually { hasEnded(worker) })
    withExtendedLifetime(first) {}
  }

  /// Beyond this many postponed files, a file is waited for, however long it takes.
  @Test func theyAreBounded() async throws {
    let prober = Sabotaged.prober(deadline: patience)
    let late = try folder.file("late.mp4", order("hold"))
    var probes = try (0..<16).map { _ in try pending(late, with: prober) }
    async let last = BlockingQueue(label: "test", width: 1).run { () throws(ProbeError) in
      try probe(late, with: prober, for: .zero)
    }
    #expect(try await eventually { prober.counts == (1, 0, 16) })
    try folder.overwrite("late.mp4", order("read"))
    guard case .done = try await last else { throw NotPending() }
    for probe in probes { #expect(code { () throws(ProbeError) in try probe.finish() } == nil) }
    probes = []
    #expect(prober.counts == (0, 0, 0))
  }

  @Test func itHasTheWholeDeadline() throws {
    let prober = Sabotaged.prober(deadline: .seconds(10))
    let probe = try pending(try folder.file("late.mp4", order("sleep")), with: prober)
    let start = ContinuousClock.now
    #expect(code { () throws(ProbeError) in try probe.finish() } == .timeout)
    #expect(ContinuousClock.now - start >= .seconds(10))
  }

  @Test func aPostponedOneThatNobodyWantsIsForgotten() throws {
    let prober = Sabotaged.prober(deadline: patience)
    let late = try folder.file("late.mp4", order("sleep"))
    for _ in 0..<5 { _ = try pending(late, with: prober) }
    #expect(prober.counts == (0, 0, 0))
  }

  @Test func closeEndsWhatIsPostponed() async throws {
    let prober = Sabotaged.prober(deadline: patience)
    let late = try folder.file("late.mp4", order("sleep"))
    let probes = try (0..<2).map { _ in try pending(late, with: prober) }
    await prober.close()
    for probe in probes { #expect(code { () throws(ProbeError) in try probe.finish() } == .cancelled) }
    #expect(code { () throws(ProbeError) in _ = try probe(late, with: prober) } == .cancelled)
  }

  @Test func whatItsWorkerDoesNotSurviveIsReadOnceMore() throws {
    let prober = Sabotaged.prober(deadline: patience)
    let probe = try pending(try folder.file("used.mp4", order("hold           ")), with: prober)
    guard case .done = try self.probe(try folder.file("good.mp4", order("read")), with: prober, for: nil)
    else { throw NotPending() }
    try folder.overwrite("used.mp4", order("crash-when-used"))
    #expect(code { () throws(ProbeError) in try probe.finish() } == nil)
  }

  /// One flag cancels all files of a run: those being read, those postponed, and those waiting for a worker.
  @Test func aRunsFlagEndsEverything() async throws {
    let prober = Sabotaged.prober(deadline: patience)
    let late = try folder.file("late.mp4", order("sleep"))
    let run = CancellationFlag()
    let probes = try (0..<2).map { _ in try pending(late, with: prober, run) }
    let codes = await withTaskGroup(of: ProbeError.Code?.self) { group in
      for _ in 0..<2 {
        group.addTask {
          await BlockingQueue(label: "test", width: 1).run {
            code { () throws(ProbeError) in _ = try probe(late, with: prober, for: nil, run) }
          }
        }
      }
      #expect((try? await eventually { prober.counts == (1, 1, 2) }) == true)
      run.set()
      return await group.reduce(into: []) { $0.append($1) }
    }
    #expect(codes == [.cancelled, .cancelled])
    for probe in probes { #expect(code { () throws(ProbeError) in try probe.finish() } == .cancelled) }
    #expect(prober.counts == (0, 0, 2))
  }
}

/// The code of the error that `body` throws, or nil if it succeeds.
private func code<Value>(_ body: () throws(ProbeError) -> Value) -> ProbeError.Code? {
  do throws(ProbeError) {
    _ = try body()
    return nil
  } catch {
    return error.code
  }
}
