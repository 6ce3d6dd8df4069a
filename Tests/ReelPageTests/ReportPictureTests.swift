import Foundation
import ReelCore
import ReelIngest
import ReelTerminal
import ReelValidation
import Testing

@testable import ReelPage

@Suite("the pictures in a report")
struct ReportPictureTests {
  private static let links = SourceLinks(from: nil, workingFolder: SourcePath("/work"))

  private static func run(_ bodies: [IngestEvent.Body], at moment: Date = Date()) -> RunFiles {
    bodies.enumerated().reduce(into: RunFiles()) {
      $0.note(IngestEvent(sequence: $1.offset + 1, at: moment, body: $1.element))
    }
  }

  private static func file(_ path: String) -> FileReference {
    FileReference(number: 1, path: SourcePath(path))
  }

  private static func page(_ files: RunFiles, _ pictures: ReportPictures) -> String {
    RunPage.html(
      RunReport(
        summary: RunSummary(outcome: .completed), destination: nil, dryRun: false, unfinished: 0,
        troubles: ProblemList()), files, pictures: pictures, links: links)
  }

  private static let poster = Poster(
    jpeg: [0xFF, 0xD8, 1, 2], width: 240, height: 135, blurHash: "", isCover: false, time: 1)

  @Test("pictures are beside their files, whatever the result, and nowhere else")
  func shown() throws {
    let files = Self.run([
      .fileDuplicate(Self.file("again.mp4"), FileDuplicate(post: nil)),
      .fileFailed(Self.file("\"bad\".mp4"), FileFailure(code: "corrupt", message: "it is damaged")),
      .fileRefused(Self.file("long.mp4"), FileRefused(code: .policy, violations: [])),
    ])
    var pictures = ReportPictures()
    for name in ["again.mp4", "\"bad\".mp4", "unlisted.mp4"] {
      pictures.add(Self.poster, of: SourcePath(name))
    }
    let page = Self.page(files, pictures)
    let source = "src=\"data:image/jpeg;base64,\(Data(Self.poster.jpeg).base64EncodedString())\""
    for name in ["again.mp4", "&quot;bad&quot;.mp4"] {
      #expect(
        page.contains(
          "<img alt=\"A picture from \(name)\" loading=\"lazy\" width=\"240\" height=\"135\" \(source)>"))
    }
    #expect(page.count(of: "<img") == 2 && page.contains("img-src data:;"))
  }

  @Test("pictures are made first for the files that are listed first: those that became no post")
  func order() throws {
    let good = (0..<3).map { IngestEvent.Body.filePlanned(Self.file("good \($0)"), Self.plan) }
    let bad = (0..<2).map {
      IngestEvent.Body.fileFailed(Self.file("bad \($0)"), FileFailure(code: "corrupt", message: "m"))
    }
    let files = Self.run(good + bad)
    let names = ["bad 0", "bad 1", "good 0", "good 1", "good 2"]
    #expect(files.pictured.map(\.path.text) == names)
    let page = Self.page(files, ReportPictures())
    let places = try names.map { try #require(page.firstRange(of: ">\($0)<")).lowerBound }
    #expect(places == places.sorted() && !page.contains("<img"))
  }

  private static let plan = FilePlanned(
    media: MediaInfo(container: .mp4, size: 1), metadata: PostMetadata())

  @Test("the number of pictures is limited")
  func bounded() {
    let bodies = (0..<ReportPictures.most + 200).map {
      IngestEvent.Body.filePlanned(Self.file("\($0)"), Self.plan)
    }
    #expect(Self.run(bodies).pictured.count == ReportPictures.most)
    let files = (0..<ReportPictures.most + 200).map {
      ValidatedFile(path: SourcePath("\($0)"), findings: [], unjudged: nil)
    }
    #expect(ValidationPage.pictured(Self.report(files)).count == ReportPictures.most)
  }

  private static func report(_ files: [ValidatedFile]) -> ValidationReport {
    ValidationReport(
      files: files, policy: "sanity", policyVersion: nil, lock: nil, strict: false, allowsEmpty: true,
      reader: nil)
  }

  @Test("pictures in a validation report begin with the files that were not judged")
  func validated() {
    let files = [
      ValidatedFile(path: SourcePath("good"), findings: [], unjudged: nil),
      ValidatedFile(path: SourcePath("late"), findings: [], unjudged: ProbeError(.timeout, "m")),
    ]
    let report = Self.report(files)
    #expect(ValidationPage.pictured(report).map(\.text) == ["late", "good"])
    var pictures = ReportPictures()
    pictures.add(Self.poster, of: SourcePath("late"))
    let page = ValidationPage.html(report, pictures: pictures, links: Self.links)
    #expect(page.count(of: "<img") == 1 && page.contains("<img alt=\"A picture from late\""))
  }

  @Test(
    "no picture is made of a file that changed after the run read it",
    arguments: [(-1, true), (0, true), (1, false)] as [(Int64, Bool)])
  func changed(milliseconds: Int64, isUnchanged: Bool) throws {
    let moment = Date(timeIntervalSince1970: 1_795_000_000.25)
    let files = Self.run([.filePlanned(Self.file("a"), Self.plan)], at: moment)
    let listed = try #require(files.pictured.first)
    let changedAt = 1_795_000_000_250_000_000 + milliseconds * 1_000_000
    let identity = FileIdentity(device: 1, inode: 1, size: 1, modifiedAt: 0, changedAt: changedAt)
    #expect(listed.isUnchanged(identity) == isUnchanged)
  }
}

extension String {
  fileprivate func count(of text: String) -> Int { ranges(of: text).count }
}
