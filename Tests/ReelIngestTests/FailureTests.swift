import Foundation
import ReelCore
@testable import ReelIngest
import ReelLibrary
import ReelStorage
import ReelTestSupport
import ReelTesting
import Testing

@Suite("Errors of runs", .shortTime)
struct FailureTests {
  private static let codes: [FileFailure.Code] =
    SourceError.Code.allCases.map(FileFailure.Code.source)
    + ProbeError.Code.allCases.map(FileFailure.Code.probe)
    + UploadError.Code.allCases.map(FileFailure.Code.upload)
    + CatalogError.Code.allCases.map(FileFailure.Code.catalog)
    + PosterError.Code.allCases.map(FileFailure.Code.poster) + [.cancelled, .other("ofTomorrow")]

  @Test("a code survives being written and read back")
  func codes() throws {
    for code in Self.codes {
      #expect(FileFailure.Code(rawValue: code.rawValue) == code)
      let failure = FileFailure(code: code, message: "m", cause: CancellationError())
      let read = try JSONDecoder().decode(FileFailure.self, from: JSONEncoder().encode(failure))
      #expect(read == failure && read.hashValue == failure.hashValue && read.cause == nil)
    }
  }

  @Test("a code that was read back knows the layer it came from")
  func layers() throws {
    guard case .catalog(.diskFull) = FileFailure.Code(rawValue: "catalog.diskFull"),
      case .poster(.noPicture) = FileFailure.Code(rawValue: "poster.noPicture"),
      case .upload(.storeFull) = FileFailure.Code(rawValue: "storeFull"),
      case .probe(.playlist) = FileFailure.Code(rawValue: "playlist"),
      case .source(.notFound) = FileFailure.Code(rawValue: "notFound"),
      case .cancelled = FileFailure.Code(rawValue: "cancelled"),
      case .other("x") = FileFailure.Code(rawValue: "x")
    else {
      Issue.record("another layer")
      return
    }
  }

  @Test("every error's description and localizedDescription are its message")
  func sentences() {
    let violation = PolicyViolation(rule: "video.none", message: "it has no video")
    let errors: [any Error] = [
      SourceError(.notFound, "s"), ProbeError(.empty, "s"), UploadError(.denied, "s"),
      CatalogError(.locked, "s"), PosterError(.noPicture, "s"), FileFailure(code: "notFound", message: "s"),
    ]
    for error in errors {
      #expect("\(error)" == "s" && error.localizedDescription == "s")
    }
    let refused: any Error = FileRefused(code: .unsupported, violations: [violation])
    #expect("\(refused)" == "it has no video" && refused.localizedDescription == "it has no video")
  }

  @Test("of several violations the gravest comes first and gives the code, whatever the order of the rules")
  func gravestFirst() throws {
    let violations = ["mp4.notFastStart", "video.none", "media.external"].map {
      PolicyViolation(rule: $0, message: "it is so")
    }
    let external = try #require(FileRefused(violations))
    #expect(external.code == .externalMedia)
    #expect(external.violations.map(\.rule) == ["media.external", "mp4.notFastStart", "video.none"])
    let none = try #require(FileRefused(Array(violations.prefix(2))))
    #expect(none.code == .unsupported && none.violations.map(\.rule) == ["video.none", "mp4.notFastStart"])
    #expect(FileRefused(Array(violations.prefix(1)))?.code == .policy && FileRefused([]) == nil)
  }

  @Test("a failure carries the error that caused it, and an aborted run carries its reason")
  func cause() async {
    let folder = ClipFolder(["a.mp4"])
    let full = ScriptedUploader(base: MemoryUploader()) { _ throws(UploadError) in
      throw UploadError(.storeFull, "no space", retryAfter: 7)
    }
    var services = IngestServices(prober: ScriptedProber(), uploader: full, catalog: MemoryCatalog())
    guard case .failed(let failure) = await services.publish(folder.file("a.mp4")) else {
      Issue.record("not failed")
      return
    }
    guard case .upload(.storeFull) = failure.code else {
      Issue.record("\(failure.code)")
      return
    }
    #expect((failure.cause as? UploadError)?.retryAfter == 7)

    services.prober = ScriptedProber(installation: ProbeError(.workerMissing, "no worker"))
    let error = await services.ingest([folder.input]).summary.error
    #expect((error?.cause as? ProbeError)?.code == .workerMissing)
  }

  @Test("files cut short by a cancellation are not failures, but a run's JSON counts them as failed")
  func cancelled() throws {
    var summary = RunSummary(outcome: .cancelled)
    (summary.failed, summary.cancelled, summary.reasons) = (2, 3, ["corrupt": 2])
    let json = try JSONEncoder().encode(summary)
    let keys = try #require(JSONSerialization.jsonObject(with: json) as? [String: Any])
    #expect(keys["failed"] as? Int == 5)
    #expect(keys["reasons"] as? [String: Int] == ["corrupt": 2, "cancelled": 3])
    #expect(try JSONDecoder().decode(RunSummary.self, from: json) == summary)
  }

  @Test("an app's own wording is reported and remembered")
  func wording() async throws {
    let folder = ClipFolder(["a.mp4"])
    let catalog = MemoryCatalog()
    let prober = ScriptedProber { _ throws(ProbeError) in
      throw ProbeError(.noReader, "`jobs`: use fewer \(setting: .jobs)")
    }
    var services = IngestServices(prober: prober, uploader: MemoryUploader(), catalog: catalog)
    services.wording = { $0.naming { "<\($0)>" } }
    guard case .failed(let failure) = await services.publish(folder.file("a.mp4")) else {
      Issue.record("not failed")
      return
    }
    #expect(failure.message == "`jobs`: use fewer <jobs>")
    #expect((failure.cause as? ProbeError)?.message == "`jobs`: use fewer `jobs`")
    #expect(try await catalog.status().failures.map(\.failure.message) == [failure.message])
  }
}
