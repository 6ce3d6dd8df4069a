import Foundation
import ReelCore
import ReelCrypto
import ReelIngest
import ReelTerminal
import ReelTestSupport
import ReelValidation
import Testing

@testable import ReelPage

@Suite("hostile text")
struct HostileTextTests {
  static let texts = [
    "</script><script>alert(1)</script>", "<img src=x onerror=alert(1)>", "\u{2028}\u{2029}\"'`\\",
    "\u{202E}gnp.exe\u{202C}", "{{files}} {{policy}}", "<!--", "]]>", "a\u{0}b\u{7}c\u{1B}[31m", "&lt;b&gt;",
  ]

  @Test("hostile text is data in a script, without a tag or a line end that JSON permits", arguments: texts)
  func script(text: String) async throws {
    let feed = try TestFeed()
    try await feed.publish([text])
    try await feed.write { $0.title = text }
    let script = try feed.text("feed/1.js")
    #expect(!script.contains("<") && !script.contains("\u{2028}") && !script.contains("\u{2029}"))
    #expect(!script.contains("\u{202E}"))
    // It has the same contents as the JSON.
    let json = Data(script.dropFirst("reel.page(".count).dropLast(");\n".count).utf8)
    let object = try JSONSerialization.jsonObject(with: json) as? [String: Any]
    let post = (object?["posts"] as? [[String: Any]])?.first
    // A caption is stored without U+0000.
    #expect(post?["caption"] as? String == String(decoding: text.utf8.filter { $0 != 0 }, as: UTF8.self))
    #expect(try feed.text("feed/1.json").utf8.last == UInt8(ascii: "\n"))
  }

  @Test("hostile text is plain text in a page's title", arguments: texts)
  func title(text: String) throws {
    let page = String(decoding: PageFiles.page(title: text, origins: []), as: UTF8.self)
    let plain = String(decoding: PageFiles.page(title: "plain", origins: []), as: UTF8.self)
    #expect(page.count { $0 == "<" } == plain.count { $0 == "<" })
    #expect(page.count { $0 == "\"" } == plain.count { $0 == "\"" })
  }

  @Test("hostile text is plain text in a report", arguments: texts)
  func report(text: String) throws {
    func html(_ text: String) -> String {
      var files = RunFiles()
      let file = FileReference(number: 1, path: SourcePath(text))
      files.note(
        IngestEvent(
          sequence: 1, at: Date(), body: .fileFailed(file, FileFailure(code: "corrupt", message: text))))
      let report = RunReport(
        summary: RunSummary(outcome: .completed), destination: Destination(text), dryRun: false,
        unfinished: 0,
        troubles: ProblemList())
      return RunPage.html(
        report, files, links: SourceLinks(from: nil, workingFolder: SourcePath("/work \"here\"")))
    }
    let (page, plain) = (html(text), html("plain"))
    #expect(page.count { $0 == "<" } == plain.count { $0 == "<" })
    #expect(page.count { $0 == "\"" } == plain.count { $0 == "\"" })
    #expect(!page.contains("\u{202E}") && !page.contains("\u{1B}") && !page.contains("\u{0}"))
  }

  @Test(
    "hostile text in a report can run nothing: its policy permits one style and one script, by their hashes")
  func policy() throws {
    let page = ValidationPage.html(
      ValidationReport(
        files: [], policy: "sanity", policyVersion: nil, lock: nil, strict: false, allowsEmpty: true,
        reader: nil),
      links: SourceLinks(from: nil, workingFolder: nil))
    for (tag, directive) in [("style", "style-src"), ("script", "script-src")] {
      let begin = try #require(page.firstRange(of: "<\(tag)>"))
      let end = try #require(page.firstRange(of: "</\(tag)>"))
      let hash = Data(SHA256.hash(data: page[begin.upperBound..<end.lowerBound].utf8)).base64EncodedString()
      #expect(page.contains("\(directive) 'sha256-\(hash)';"))
    }
    #expect(page.contains("default-src 'none';") && !page.contains("{{"))
  }
}
