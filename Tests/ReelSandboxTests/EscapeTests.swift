import CEscapes
import Glibc
import ReelCore
import Testing

@testable import ReelSandbox

/// What an intruder would try from inside a worker: each attempt ends the worker.
@Suite struct EscapeTests {
  let folder: TestFolder

  init() throws {
    folder = try TestFolder()
  }

  static let attempts: [String] = (0..<1000).map { reel_escape_name($0) }.prefix { $0 != nil }
    .compactMap { $0.map { String(cString: $0) } }

  @Test(arguments: attempts, [IsolationRequest.auto, .strict])
  func isTheEnd(_ attempt: String, _ isolation: IsolationRequest) async throws {
    let prober = Sabotaged.prober(isolation)
    let failure = await prober.failure(try folder.file("bad.mp4", order("escape \(attempt)")))
    #expect(failure?.code == .sandboxViolation, "\(failure?.message ?? "no failure")")
    await prober.close()
  }

  /// The fork server may do what a writer may; a reader that is forked from it may not.
  @Test(arguments: attempts)
  func isTheEndInARunThatMends(_ attempt: String) async throws {
    let prober = Sabotaged.prober(mends: true)
    let failure = await prober.failure(try folder.file("bad.mp4", order("escape \(attempt)")))
    #expect(failure?.code == .sandboxViolation, "\(failure?.message ?? "no failure")")
    await prober.close()
  }

  static let questions: [String] = (0..<1000).map { reel_question_name($0) }.prefix { $0 != nil }
    .compactMap { $0.map { String(cString: $0) } }

  /// System calls that only a newer C library uses are refused, but do not end the worker: it continues with the next
  /// file.
  @Test(arguments: questions, [false, true])
  func isAnsweredAsByAnOlderKernel(_ question: String, _ mends: Bool) async throws {
    let prober = Sabotaged.prober(mends: mends)
    let failure = await prober.failure(try folder.file("asks.mp4", order("escape \(question)")))
    let isArgument = ["cold-memory", "guard-pages", "name-memory"].contains(question)
    #expect(failure?.message == "refused \(question): error \(isArgument ? EINVAL : ENOSYS)")
    await prober.close()
  }

  /// The attempts are real: without confinement most of them succeed.
  @Test(arguments: [
    "open", "openat2", "socket", "fork", "memfd", "executable-memory", "stat", "kill-parent",
    "closing-standard-input", "closing-by-a-long-number", "ignoring-a-signal",
  ])
  func getsThroughUnconfined(_ attempt: String) async throws {
    let prober = Sabotaged.prober(.none)
    let failure = await prober.failure(try folder.file("bad.mp4", order("escape \(attempt)")))
    #expect(failure?.message == "escaped by \(attempt)")
    await prober.close()
  }

  /// Landlock protects on its own where the system call filter is unavailable.
  @Test(
    .enabled(if: !Program.isSanitized, Program.whyNotSanitized),
    arguments: ["open", "openat", "openat2", "open-for-writing", "execve"])
  func isRefusedByLandlockAlone(_ attempt: String) throws {
    #expect(try Program.run(Sabotaged.name, ["landlock", attempt]) == 0)
  }

  /// The resource limits protect on their own, too.
  @Test(.enabled(if: !Program.isSanitized, Program.whyNotSanitized))
  func memoryIsLimitedByLimitsAlone() throws {
    #expect(try Program.run(Sabotaged.name, ["limits", "memory"]) == 0)
  }
}
