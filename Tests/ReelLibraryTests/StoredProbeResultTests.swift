import FoundationEssentials
import ReelCore
import Testing

@testable import ReelLibrary

/// Results that earlier builds of the same version stored are read anew, and are not an error.
@Suite struct KeptReadingTests {
  private static let reader = ReaderVersion(reel: "0.1.0", ffmpeg: "59.27.100")

  private static func report(_ warnings: String) -> String {
    """
    {"media":{"_0":{"media":{"container":"mp4","size":1,"audio":[],"warnings":[\(warnings)]},
    "provenance":{"method":"header","isolation":"limits","ffmpeg":"59.27.100"}}}}
    """
  }

  @Test(
    "an outdated result is not used until the file is read again",
    arguments: [
      report(#""its display matrix has no angle; it is shown as it is stored""#), report(""),
      #"{"failure":{"_0":{"code":"truncated","message":"its index (moov) is missing"}}}"#,
      #"{"facts":1,"outcome":{"failure":{"_0":{"code":"empty","message":"it is empty"}}}}"#, "{}", "",
    ])
  func formerReadings(document: String) async throws {
    let temporary = try await TemporaryLibrary()
    let catalog = try await SQLiteCatalog.open(library: temporary.library)
    let digest = Sketch().digest()
    try await catalog.writable().writer.alone { db in
      try ProbeResultTable.put(document, of: digest, by: Self.reader, in: db)
    }
    #expect(try catalog.probeOutcome(of: digest, by: Self.reader) == nil)
    let outcome = ProbeOutcome.failure(ProbeError(.indexMissing, "its index (moov) is missing"))
    await catalog.remember(outcome, of: digest, by: Self.reader)
    _ = try await catalog.cacheStatus()
    #expect(try catalog.probeOutcome(of: digest, by: Self.reader) == outcome)
    try await catalog.close()
  }

  @Test func theFormerJSONIsWhatItSays() throws {
    let former = try JSONDecoder().decode(ProbeOutcome.self, from: Data(Self.report("").utf8))
    guard case .media(let report) = former else { throw CancellationError() }
    #expect(report.media.container == .mp4)
  }
}
