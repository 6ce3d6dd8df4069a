import Glibc
import ReelCore
import Testing

@testable import ReelSandbox

/// The worker that is shipped, as it was built beside these tests, on the project's samples.
@Suite struct RealWorkerTests {
  static let clips = Samples.files(in: "clips")
  static let broken = Samples.files(in: "broken")

  @Test func thereAreSamples() {
    #expect(Self.clips.count > 10)
    #expect(Self.broken.count > 5)
  }

  /// No system call is missing that an honest file takes, and no fact changes.
  @Test(arguments: [(IsolationRequest.auto, IsolationLevel.full), (.strict, .strict)])
  func confinedSaysWhatUnconfinedSays(_ isolation: IsolationRequest, _ level: IsolationLevel) async throws {
    let confined = SandboxedProber(isolation: isolation, workers: 2, deadline: patience)
    let unconfined = SandboxedProber(isolation: .none, workers: 1, deadline: patience)
    for path in Self.clips + Self.broken {
      let file = try TestFolder.open(path)
      let (report, plain) = (await confined.outcome(file), await unconfined.outcome(file))
      #expect((try? report.get())?.media == (try? plain.get())?.media, "\(path)")
      #expect(report.code == plain.code, "\(path)")
      if let report = try? report.get() { #expect(report.provenance.isolation == level) }
    }
    await confined.close()
    await unconfined.close()
  }

  @Test func itSaysItsVersion() async throws {
    let prober = SandboxedProber(workers: 1, deadline: patience)
    let version = try await prober.readerVersion()
    #expect(version.reel == ReelVersion.current)
    #expect(version.ffmpeg.split(separator: ".").count == 3)
    await prober.close()
  }

  @Test func byHandItSaysWhatItIs() throws {
    let folder = try TestFolder()
    #expect(try Program.run("reel-probe-worker", [], output: "\(folder.path)/words") == 64)
    #expect(try folder.open("words").size > 40)
  }
}

/// `Samples/` at the root of the project.
enum Samples {
  static func files(in folder: String) -> [String] {
    let root = #filePath.split(separator: "/", omittingEmptySubsequences: false).dropLast(3).joined(
      separator: "/")
    let path = "\(root)/Samples/\(folder)"
    guard let listing = opendir(path) else { return [] }
    defer { closedir(listing) }
    var names: [String] = []
    while let entry = readdir(listing) {
      let name = withUnsafePointer(to: entry.pointee.d_name) {
        $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
      }
      if !name.hasPrefix(".") { names.append("\(path)/\(name)") }
    }
    return names.sorted()
  }
}

extension SandboxedProber {
  func outcome(_ file: SourceFile) async -> Result<ProbeReport, ProbeError> {
    do throws(ProbeError) { return .success(try await probe(file)) } catch { return .failure(error) }
  }
}

extension Result<ProbeReport, ProbeError> {
  var code: ProbeError.Code? {
    if case .failure(let error) = self { error.code } else { nil }
  }
}
