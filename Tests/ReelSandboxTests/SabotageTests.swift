import ReelModel
import Testing

@testable import ReelSandbox

/// A reader that goes wrong costs one file, with the right code; the next file is read.
@Suite struct SabotageTests {
  let folder: TestFolder

  init() throws {
    folder = try TestFolder()
  }

  static let ends: [(String, ProbeError.Code)] = [("abort", .crashed), ("exit", .crashed)]

  static let codes: [(String, ProbeError.Code)] = [
    ("segmentation-fault", .crashed), ("hang", .timeout), ("close", .crashed), ("garbage", .implausible),
    ("nothing", .crashed), ("too-much", .implausible),
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
    let prober = SandboxedProber(
      worker: Sabotaged.worker, isolation: isolation, workers: 1, deadline: .milliseconds(1500))
    let failure = await prober.failure(try folder.file("bad.mp4", order(sabotage.0)))
    #expect(failure?.code == sabotage.1, "\(failure?.message ?? "no failure")")
    #expect(await prober.code(try folder.file("good.mp4", order("read"))) == nil)
    await prober.close()
  }

  @Test(.enabled(if: !Program.isSanitized, Program.whyNotSanitized))
  func theSignalIsNamed() async throws {
    let prober = SandboxedProber(worker: Sabotaged.worker, workers: 1)
    #expect(
      await prober.failure(try folder.file("a.mp4", order("abort")))?.message.contains("SIGABRT") == true)
    let segmentation = try folder.file("b.mp4", order("segmentation-fault"))
    #expect(await prober.failure(segmentation)?.message.contains("SIGSEGV") == true)
    await prober.close()
  }

  /// An answer that lies in wait is not taken for the next file's.
  @Test func theNextFilesFactsAreNotForgedAhead() async throws {
    let prober = SandboxedProber(worker: Sabotaged.worker, workers: 1)
    #expect(try await prober.probe(try folder.file("a.mp4", order("twice"))).media.title == "forged")
    for _ in 0..<3 {
      #expect(try await prober.probe(try folder.file("b.mp4", order("twice "))).media.title != nil)
      #expect(try await prober.probe(try folder.file("c.mp4", order("read "))).media.title == nil)
    }
    await prober.close()
  }

  @Test func processorTimeIsLimited() async throws {
    let prober = SandboxedProber(
      worker: Sabotaged.worker, workers: 1, deadline: .seconds(60), limits: ProbeLimits(processorSeconds: 1))
    let failure = await prober.failure(try folder.file("bad.mp4", order("hang")))
    #expect(failure?.code == .timeout)
    #expect(failure?.message.contains("processor time") == true)
    await prober.close()
  }

  /// What an earlier file left behind is not the next one's fault.
  @Test func aFileIsTriedOnceMoreInAFreshWorker() async throws {
    let prober = SandboxedProber(worker: Sabotaged.worker, workers: 1)
    for _ in 0..<5 {
      #expect(await prober.code(try folder.file("good.mp4", order("read"))) == nil)
      let used = try folder.file("used.mp4", order("crash-when-used"))
      #expect(await prober.code(used) == nil)
    }
    await prober.close()
  }

  @Test func aBatchSurvivesEveryTenthFile() async throws {
    let prober = SandboxedProber(worker: Sabotaged.worker, workers: 3, deadline: .milliseconds(800))
    let sabotages: [(String, ProbeError.Code)] = [
      ("segmentation-fault", .crashed), ("hang", .timeout), ("fail memoryLimit", .memoryLimit),
      ("garbage", .implausible), ("too-much", .implausible), ("close", .crashed),
      ("escape open", .sandboxViolation),
    ]
    let results = await withTaskGroup(of: (Int, ProbeError.Code?).self) { group in
      for number in 0..<1000 {
        let words = number % 10 == 7 ? sabotages[number / 10 % sabotages.count].0 : "read"
        group.addTask { [folder] in
          guard let file = try? folder.file("\(number).mp4", order(words)) else {
            return (number, .unreadable)
          }
          return (number, await prober.code(file))
        }
      }
      return await group.reduce(into: [:]) { $0[$1.0] = $1.1 }
    }
    for number in 0..<1000 {
      let expected = number % 10 == 7 ? sabotages[number / 10 % sabotages.count].1 : nil
      #expect(results[number] == expected, "file \(number)")
    }
    await prober.close()
  }
}
