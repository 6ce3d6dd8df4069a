import FoundationEssentials
import Glibc
import ReelCore
import Testing
import ReelTestSupport

@testable import ReelSandbox

/// The shipped worker, as built beside these tests, on the project's samples.
@Suite struct RealWorkerTests {
  static let clips = Samples.files(in: "clips")
  static let broken = Samples.files(in: "broken")

  @Test func thereAreSamples() {
    #expect(Self.clips.count > 10)
    #expect(Self.broken.count > 5)
  }

  /// No system call is missing that an honest file needs, and the facts are the same.
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

  /// Warnings that state times are also produced in the confined worker.
  @Test func otherDatesInTracksAreTold() async throws {
    let prober = SandboxedProber(workers: 1, deadline: patience)
    let folder = try TestFolder()
    var warned = 0
    for path in Self.clips where path.hasSuffix(".mp4") || path.hasSuffix(".mov") {
      var bytes = [UInt8](try Data(contentsOf: URL(filePath: path)))
      // Each of these headers has its date after four bytes of version and flags, in seconds since 1904.
      for (header, date) in [("mvhd", 0xDF00_0000), ("tkhd", 0xDE00_0000), ("mdhd", 0xDE00_0000)]
        as [(String, UInt32)]
      {
        for place in bytes.indices.dropLast(12) where bytes[place..<place + 4].elementsEqual(header.utf8) {
          withUnsafeBytes(of: date.bigEndian) { bytes.replaceSubrange(place + 8..<place + 12, with: $0) }
        }
      }
      switch await prober.outcome(try folder.file("a.mp4", bytes)) {
      case .success(let report):
        if report.media.warnings.contains(where: { $0.code == .dateMismatch }) { warned += 1 }
      case .failure(let error): #expect(error.code != .sandboxViolation, "\(path)")
      }
    }
    #expect(warned > 5)
    await prober.close()
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

/// The `Samples/` folder at the root of the project.
enum Samples {
  static func files(in folder: String) -> [String] {
    let root = Checkout.root.path
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
