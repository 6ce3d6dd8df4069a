import Foundation
import ReelCore
import ReelIngest
import ReelTerminal
import ReelValidation
import Testing

@testable import ReelPage

@Suite("the warnings in a report")
struct ReportWarningTests {
  private static let links = SourceLinks(from: nil, workingFolder: SourcePath("/work"))

  private static func file(_ path: String) -> FileReference {
    FileReference(number: 1, path: SourcePath(path))
  }

  private static func files(_ bodies: [IngestEvent.Body], limit: Int = 2000) -> RunFiles {
    bodies.enumerated().reduce(into: RunFiles(limit: limit)) {
      $0.note(IngestEvent(sequence: $1.offset + 1, at: Date(timeIntervalSince1970: 0), body: $1.element))
    }
  }

  private static func page(_ files: RunFiles) -> String {
    RunPage.html(
      RunReport(
        summary: RunSummary(outcome: .completed), destination: nil, dryRun: false, unfinished: 0,
        troubles: ProblemList()), files, links: links)
  }

  private static func warning(_ path: String, _ code: MetadataWarning.Code) -> IngestEvent.Body {
    .metadataWarning(MetadataWarning(path: SourcePath(path), code: code, message: "it has no effect"))
  }

  private static var probed: ProbeReport {
    var media = MediaInfo(container: .mp4, size: 1)
    media.warnings = [MediaWarning(.sizeMismatch, "its header gives another size")]
    return ProbeReport(
      media: media,
      provenance: ProbeProvenance(method: .header, isolation: .none, ffmpeg: "59"))
  }

  @Test(
    "warnings are listed with their files, in whatever order they came, or separately if they concern none")
  func ofARun() {
    let files = Self.files([
      Self.warning("list.csv/gone.mp4", .captionWithoutFile),
      .fileProbed(Self.file("odd.mp4"), Self.probed),
      .posterFailed(Self.file("odd.mp4"), FileFailure(code: "undecodable", message: "no picture")),
      .fileDuplicate(Self.file("odd.mp4"), FileDuplicate(post: nil)),
      .fileDuplicate(Self.file("plain.mp4"), FileDuplicate(post: nil)),
      Self.warning("plain.mp4", .sidecarUnknownKey),
      .fileFailed(Self.file("bad.mp4"), FileFailure(code: "corrupt", message: "it is damaged")),
    ])
    let told = files.entries.map { entry in
      "\(entry.path) \(entry.result): "
        + entry.notes.filter { $0.word == "warning" }.compactMap(\.reason).joined(separator: " ")
    }
    #expect(
      told == [
        "bad.mp4 failed: ", "list.csv/gone.mp4 warning: captionWithoutFile",
        "odd.mp4 duplicate: sizeMismatch undecodable", "plain.mp4 duplicate: sidecarUnknownKey",
      ])
    let page = Self.page(files)
    #expect(page.contains("<li><b>4</b> <span>warnings</span></li>"))
    #expect(page.contains("<b>warning:</b> <span dir=\"auto\">It has no effect</span>"))
    #expect(page.contains("data-filter=\"reason:undecodable\""))
  }

  @Test("warnings do not displace a file's result, and a file that comes again is listed")
  func postponed() {
    let files = Self.files([
      .filePostponed(
        Self.file("slow.mp4"), FileFailure(code: "sourceChanged", message: "it is being written")),
      .fileFailed(Self.file("late.mp4"), .cancelled),
    ])
    #expect(files.entries.map { "\($0.path) \($0.result)" } == ["slow.mp4 postponed"])
    #expect(Self.page(files).contains("It is being written"))
  }

  @Test("warnings beyond the limit are counted")
  func limit() {
    let page = Self.page(
      Self.files((0..<5).map { Self.warning("\($0).json", .sidecarWithoutVideo) }, limit: 2))
    #expect(page.contains("<li><b>5</b> <span>warnings</span></li>"))
    #expect(page.contains("Not listed: 3 more warnings. Use --events FILE to get all of them."))
    #expect(!page.contains("2.json"))
  }

  @Test("the reader's warnings are in a validation report unless a rule says the same")
  func ofAValidation() {
    let mismatch = MediaWarning(.durationMismatch, "the header says 5 s")
    let finding = Finding(
      rule: "duration.mismatch", severity: .warn, state: .broken, sentence: mismatch.message)
    let report = ValidationReport(
      files: [
        ValidatedFile(
          path: SourcePath("a.mp4"), findings: [finding],
          warnings: [mismatch, MediaWarning(.rotationUnknown, "it has no angle")])
      ], policy: "p", policyVersion: nil, lock: nil, strict: false, allowsEmpty: true, reader: nil)
    let page = ValidationPage.html(report, links: Self.links)
    #expect(
      page.contains("<b>note:</b> <span dir=\"auto\">It has no angle</span></li>"))
    #expect(!page.contains("rotationUnknown"), "a filter is a rule, which --explain explains")
    #expect(page.contains("The header says 5 s") && !page.contains("<code>durationMismatch</code>"))
  }
}
