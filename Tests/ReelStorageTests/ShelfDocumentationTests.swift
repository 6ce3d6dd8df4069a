import Foundation
import Testing

/// The page shows what compiles and passes here, and nothing else.
@Suite struct DocumentationTests {
  @Test(
    "the page shows this file as it is",
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
