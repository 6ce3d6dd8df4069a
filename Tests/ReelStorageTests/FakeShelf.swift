// docs/adding-an-uploader.md shows this file; a test compares the two.

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
