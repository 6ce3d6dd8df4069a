import Foundation
import Testing

/// A shelf in memory.
actor FakeShelf: ShelfClient {
  private var drafts: [Int: [UInt8]] = [:]
  private var objects: [String: [UInt8]] = [:]
  private var begun = 0

  var isEmpty: Bool { drafts.isEmpty && objects.isEmpty }

  func begin() -> Int {
    begun += 1
    drafts[begun] = []
    return begun
  }

  func append(_ bytes: [UInt8], to draft: Int) { drafts[draft]? += bytes }

  func publish(_ draft: Int, as name: String) -> Bool {
    guard objects[name] == nil, let bytes = drafts.removeValue(forKey: draft) else { return false }
    objects[name] = bytes
    return true
  }

  func discard(_ draft: Int) { drafts[draft] = nil }
  func read(_ name: String) -> [UInt8]? { objects[name] }
  func delete(_ name: String) { objects[name] = nil }
}

/// The page shows what compiles and passes here, and nothing else.
@Suite struct DocumentationTests {
  @Test("the page shows this file as it is", arguments: ["ShelfUploader.swift", "ShelfUploaderTests.swift"])
  func shows(_ name: String) throws {
    let here = URL(filePath: #filePath).deletingLastPathComponent()
    let page = here.appending(path: "../../docs/adding-an-uploader.md").standardizedFileURL
    let text = try String(contentsOf: page, encoding: .utf8)
    let file = try String(contentsOf: here.appending(path: name), encoding: .utf8)
    let code = try #require(file.split(separator: "\n\n", maxSplits: 1).last)
    #expect(text.contains("```swift\n" + code + "```"), "docs/adding-an-uploader.md does not show \(name)")
  }
}
