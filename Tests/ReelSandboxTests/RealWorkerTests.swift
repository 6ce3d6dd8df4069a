import ReelModel
import Testing

@testable import ReelSandbox

/// The worker that is shipped, as it was built beside these tests.
@Suite struct RealWorkerTests {
  let folder: TestFolder

  init() throws {
    folder = try TestFolder()
  }

  @Test(arguments: IsolationRequest.allCases)
  func aFileIsReadAndSaysHow(_ isolation: IsolationRequest) async throws {
    let prober = SandboxedProber(isolation: isolation, workers: 1)
    let report = try await prober.probe(try folder.file("a.mp4", smallMP4))
    #expect(report.media.container == .mp4)
    print(report.provenance)
    let version = try await prober.readerVersion()
    #expect(version.reel == ReelVersion.current)
    await prober.close()
  }
}
