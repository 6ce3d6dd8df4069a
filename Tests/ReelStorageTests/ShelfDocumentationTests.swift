import Foundation
import Testing

/// The documentation shows exactly what compiles and passes here.
@Suite struct DocumentationTests {
  @Test(
    "the page shows this file verbatim",
    arguments: ["ShelfUploader.swift", "FakeShelf.swift", "ShelfUploaderTests.swift"])
  func shows(_ name: String) throws {
    let here = URL(filePath: #filePath).deletingLastPathComponent()
    let page = here.appending(path: "../../docs/adding-an-uploader.md").standardizedFileURL
    let text = try String(contentsOf: page, encoding: .utf8)
    let file = try String(contentsOf: here.appending(path: name), encoding: .utf8)
    let code = try #require(file.split(separator: "\n\n", maxSplits: 1).last)
    #expect(text.contains("```swift\n" + code + "```"), "docs/adding-an-uploader.md does not show \(name)")
  }
}
