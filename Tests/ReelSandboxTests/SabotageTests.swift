import ReelCore
import ReelTestSupport
import Testing

@testable import ReelSandbox

/// A reader that fails costs one file, with the right code; the next file is read.
@Suite struct SabotageTests {
  let folder: TestFolder

  init() throws {
    folder = try TestFolder()
  }

  static let ends: [(String, ProbeError.Code)] = [("abort", .crashed), ("exit", .crashed)]

  static let codes: [(String, ProbeError.Code)] = [
    ("segmentation-fault", .crashed), ("hang", .timeout), ("sleep", .timeout), ("close", .crashed),
    ("garbage", .implausible), ("nothing", .crashed), ("too-much", .implausible),
    ("endless", .implausible), ("send-descriptor", .implausible), ("lie container", .implausible),
    ("lie size", .implausible), ("lie nan", .implausible), ("lie infinite", .implausible),
    ("lie negative", .implausible), ("lie ages", .implausible), ("lie no-picture", .implausible),
    ("lie huge-picture", .implausible), ("lie date", .implausible), ("lie installation", .implausible),
    ("fail corrupt", .corrupt), ("fail memoryLimit", .memoryLimit), ("fail timeout", .timeout),
    ("fail cancelled", .implausible), ("fail workerMissing", .implausible),
    ("escape socket", .sandboxViolation),
  ]

  @Test(
    .enabled(if: !Program.isSanitized, Program.whyNotSanitized), arguments: ends,
    [IsolationRequest.auto, .strict])
  func thatEndsItselfEndsOneFile(
    _ sabotage: (String, ProbeError.Code), _ isolation: IsolationRequest
  ) async throws {
    try await endsOneFile(sabotage, isolation)
  }

  @Test(arguments: codes, [IsolationRequest.auto, .strict])
  func endsOneFile(_ sabotage: (String, ProbeError.Code), _ isolation: IsolationRequest) async throws {
    // A reader that hangs uses up the whole deadline; all others have more than they need.
    let isStuck = ["hang", "sleep"].contains(sabotage.0)
    let prober = Sabotaged.prober(isolation, deadline: isStuck ? .seconds(15) : patience)
    let failure = await prober.failure(try folder.file("bad.mp4", order(sabotage.0)))
    #expect(failure?.code == sabotage.1, "\(failure?.message ?? "no failure")")
    #expect(await prober.code(try folder.file("good.mp4", order("read"))) == nil)
    await prober.close()
  }

  @Test(.enabled(if: !Program.isSanitized, Program.whyNotSanitized))
  func thoseThatWereReplacedAreCounted() async throws {
    let prober = Sabotaged.prober()
    _ = await prober.code(try folder.file("good.mp4", order("read")))
    _ = await prober.code(try folder.file("damaged.mp4", order("fail corrupt")))
    #expect(prober.replacedWorkers == 0)
    _ = await prober.code(try folder.file("bad.mp4", order("abort")))
    // The file is read once more in a fresh worker.
    #expect(prober.replacedWorkers == 2)
    await prober.close()
  }

  @Test(.enabled(if: !Program.isSanitized, Program.whyNotSanitized))
  func theSignalIsNamed() async throws {
    let prober = Sabotaged.prober()
    #expect(
      await prober.failure(try folder.file("a.mp4", order("abort")))?.message.contains("SIGABRT") == true)
    let segmentation = try folder.file("b.mp4", order("segmentation-fault"))
    #expect(await prober.failure(segmentation)?.message.contains("SIGSEGV") == true)
    await prober.close()
  }

  /// An answer sent in advance is not taken for the next file's.
  @Test func theNextFilesFactsAreNotForgedAhead() async throws {
    let prober = Sabotaged.prober()
    #expect(try await prober.probe(try folder.file("a.mp4", order("twice"))).media.title == "forged")
    for _ in 0..<3 {
      #expect(try await prober.probe(try folder.file("b.mp4", order("twice "))).media.title != nil)
      #expect(try await prober.probe(try folder.file("c.mp4", order("read "))).media.title == nil)
    }
    await prober.close()
  }

  @Test func processorTimeIsLimited() async throws {
    let prober = Sabotaged.prober(limits: ProbeLimits(processorSeconds: 1))
    let failure = await prober.failure(try folder.file("bad.mp4", order("hang")))
    #expect(failure?.code == .timeout)
    #expect(failure?.message.contains("processor time") == true)
    await prober.close()
  }

  /// A worker that ignores the signal at the soft limit is killed by the kernel at the hard one.
  @Test func processorTimeIsLimitedForGood() async throws {
    let prober = Sabotaged.prober(limits: ProbeLimits(processorSeconds: 1))
    let failure = await prober.failure(try folder.file("bad.mp4", order("deaf")))
    #expect(failure?.code == .timeout)
    #expect(failure?.message.contains("processor time") == true, "\(failure?.message ?? "")")
    await prober.close()
  }

  /// Each file has its full processor time, whatever earlier files used: a worker with too little left retires.
  @Test func noFileEndsForTheTimeOfOthers() async throws {
    let prober = Sabotaged.prober(limits: ProbeLimits(processorSeconds: 1))
    var processes: Set<String> = []
    for _ in 0..<5 {
      #expect(await prober.failure(try folder.file("long.mp4", order("work"))) == nil)
      processes.insert(try await prober.report(try folder.file("a.mp4", order("report process"))))
    }
    #expect(processes.count > 1)
    await prober.close()
  }

  /// A worker compromised by an earlier file could claim that any later one is damaged.
  @Test func aFailureIsConfirmedByAFreshWorker() async throws {
    let prober = Sabotaged.prober()
    for _ in 0..<3 {
      #expect(await prober.code(try folder.file("good.mp4", order("read"))) == nil)
      #expect(await prober.code(try folder.file("used.mp4", order("fail-when-used"))) == nil)
    }
    #expect(await prober.code(try folder.file("bad.mp4", order("fail corrupt"))) == .corrupt)
    // The worker that confirmed the failure had read nothing else, and is kept.
    #expect(try await prober.report(try folder.file("a.mp4", order("report files"))) == "2")
    await prober.close()
  }

  /// A worker can hold one descriptor, and must have returned the file's before it answers.
  @Test(arguments: ["slot", "room", "queue"])
  func aFileIsNotKept(_ way: String) async throws {
    let prober = Sabotaged.prober()
    #expect(await prober.code(try folder.file("a.mp4", order("hoard \(way)"))) == nil)
    let other = try await prober.probe(try folder.file("b.mp4", order("the other's words")))
    #expect(other.media.title == nil)
    let own = try await prober.probe(try folder.file("c.mp4", order("tell")))
    #expect(own.media.title == nil)
    await prober.close()
  }

  /// Without confinement the attempt succeeds.
  @Test func unconfinedAFileIsKept() async throws {
    let prober = Sabotaged.prober(.none)
    #expect(await prober.code(try folder.file("a.mp4", order("hoard slot"))) == nil)
    #expect(await prober.code(try folder.file("b.mp4", order("the other's words"))) == nil)
    let own = try await prober.probe(try folder.file("c.mp4", order("tell")))
    #expect(own.media.title == "the other's words")
    await prober.close()
  }

  /// The next file is not blamed for what an earlier file left behind.
  @Test func aFileIsTriedOnceMoreInAFreshWorker() async throws {
    let prober = Sabotaged.prober()
    for _ in 0..<5 {
      #expect(await prober.code(try folder.file("good.mp4", order("read"))) == nil)
      let used = try folder.file("used.mp4", order("crash-when-used"))
      #expect(await prober.code(used) == nil)
    }
    await prober.close()
  }

  private static let count = TestForm.isLong ? 1000 : 300

  /// Files that use up the deadline: only a few, because a deadline that no honest file misses is long.
  private static let stuck = [107: "sleep", 207: "sleep", 407: "hang", 707: "sleep"]

  /// The order in a file of the batch, and the expected code.
  private static func sabotage(of number: Int) -> (order: String, code: ProbeError.Code?) {
    let sabotages: [(order: String, code: ProbeError.Code?)] = [
      ("segmentation-fault", .crashed), ("fail memoryLimit", .memoryLimit), ("garbage", .implausible),
      ("too-much", .implausible), ("close", .crashed), ("escape open", .sandboxViolation),
    ]
    if let order = stuck[number] { return (order, .timeout) }
    guard number % 10 == 7 else { return ("read", nil) }
    return sabotages[number / 10 % sabotages.count]
  }

  @Test(.notQuick) func aBatchSurvivesEveryTenthFile() async throws {
    let prober = Sabotaged.prober(workers: 3, deadline: .seconds(15))
    let results = await withTaskGroup(of: (Int, ProbeError.Code?).self) { group in
      for number in 0..<Self.count {
        group.addTask { [folder] in
          let words = order(Self.sabotage(of: number).order)
          guard let file = try? folder.file("\(number).mp4", words) else {
            return (number, .unreadable)
          }
          return (number, await prober.code(file))
        }
      }
      return await group.reduce(into: [:]) { $0[$1.0] = $1.1 }
    }
    for number in 0..<Self.count {
      #expect(results[number] == Self.sabotage(of: number).code, "file \(number)")
    }
    await prober.close()
  }
}
