import Foundation
import Glibc
import ReelCore
import Testing

@testable import ReelLibrary

/// A broken index must never make a search fail: whatever its state, a search finds what is in the catalog.
@Suite("the index of words") struct WordIndexTests {
  private let sketch = Sketch()

  private func publish(_ captions: [String], in library: LibraryFolder)
    async throws
  {
    let catalog = try await SQLiteCatalog.open(library: library)
    for caption in captions {
      let intent = try #require(try await catalog.claim(sketch.request(sketch.publication())).intent)
      _ = try await catalog.complete(
        intent, draft: sketch.draft(caption: caption), stored: sketch.stored(intent))
    }
    try await catalog.close()
  }

  private func found(_ text: String, in library: LibraryFolder) async throws -> [String?] {
    let catalog = try #require(try await SQLiteCatalog.openReadOnly(library: library))
    let page = try await catalog.newestPosts(matching: PostFilter(text: text), before: nil, limit: 10)
    try await catalog.close()
    return page.posts.map(\.caption)
  }

  private func index(of library: LibraryFolder) -> String { library.path + "/search.sqlite" }

  @Test("the first search makes the index, and later posts are added to it") func comesLater() async throws {
    let temporary = try await TemporaryLibrary()
    try await publish(["one harbour"], in: temporary.library)
    #expect(!FileManager.default.fileExists(atPath: index(of: temporary.library)))
    #expect(try await found("harbour", in: temporary.library) == ["one harbour"])
    #expect(FileManager.default.fileExists(atPath: index(of: temporary.library)))
    try await publish(["harbour two", "a street"], in: temporary.library)
    #expect(try await found("harbour", in: temporary.library) == ["harbour two", "one harbour"])
  }

  @Test(
    "a damaged or foreign index is rebuilt",
    arguments: [
      "DELETE FROM words_data", "DROP TABLE words", "DROP TABLE newest", "PRAGMA user_version = 7",
      "DROP TABLE newest; CREATE TABLE newest (pageNumber, id); INSERT INTO newest VALUES ('x', 'y')",
    ])
  func damaged(_ damage: String) async throws {
    let temporary = try await TemporaryLibrary()
    try await publish(["one harbour", "a street"], in: temporary.library)
    #expect(try await found("harbour", in: temporary.library) == ["one harbour"])
    let db = try Connection(index(of: temporary.library))
    try db.execute(damage)
    try db.close()
    #expect(try await found("harbour", in: temporary.library) == ["one harbour"])
    try await publish(["harbour two"], in: temporary.library)
    #expect(try await found("harbour", in: temporary.library) == ["harbour two", "one harbour"])
  }

  @Test("a file that is not a database is replaced") func rubbish() async throws {
    let temporary = try await TemporaryLibrary()
    try await publish(["one harbour"], in: temporary.library)
    try Data(repeating: 0x41, count: 8192).write(to: URL(fileURLWithPath: index(of: temporary.library)))
    #expect(try await found("harbour", in: temporary.library) == ["one harbour"])
    #expect(
      try Connection(index(of: temporary.library), .readOnly).number("SELECT count(*) FROM newest") == 1)
  }

  @Test("if the index can't be made, each post is searched") func cannotBe() async throws {
    let temporary = try await TemporaryLibrary()
    try await publish(["one harbour", "a street", "harbour two"], in: temporary.library)
    try FileManager.default.createDirectory(
      atPath: index(of: temporary.library), withIntermediateDirectories: false)
    #expect(try await found("harb", in: temporary.library) == ["harbour two", "one harbour"])
    #expect(try await found("nothing", in: temporary.library) == [])
  }

  @Test("a catalog restored from a backup is noticed") func backup() async throws {
    let temporary = try await TemporaryLibrary()
    let library = temporary.library
    try await publish(["one harbour"], in: library)
    let backup = library.path + "/backup"
    try await CatalogBackup.write(of: library, to: backup)
    try await publish(["harbour two", "harbour three"], in: library)
    #expect(try await found("harbour", in: library).count == 3)
    for ending in ["", "-wal", "-shm"] {
      try? FileManager.default.removeItem(atPath: library.catalogPath + ending)
    }
    try FileManager.default.moveItem(atPath: backup, toPath: library.catalogPath)
    #expect(try await found("harbour", in: library) == ["one harbour"])
    try await publish(["street", "harbour two and a half", "street"], in: library)
    #expect(try await found("harbour", in: library) == ["harbour two and a half", "one harbour"])
  }

  @Test("posts whose text differs from those of the same numbers in a backup are noticed")
  func rewordedBackup() async throws {
    let temporary = try await TemporaryLibrary()
    let library = temporary.library
    try await publish(["one harbour"], in: library)
    let backup = library.path + "/backup"
    try await CatalogBackup.write(of: library, to: backup)
    try await edit(1, "a street", in: library)
    #expect(try await found("street", in: library) == ["a street"])
    for ending in ["", "-wal", "-shm"] {
      try? FileManager.default.removeItem(atPath: library.catalogPath + ending)
    }
    try FileManager.default.moveItem(atPath: backup, toPath: library.catalogPath)
    try await edit(1, "a river", in: library)
    #expect(try await found("river", in: library) == ["a river"])
    #expect(try await found("street", in: library) == [])
    #expect(try await found("harbour", in: library) == [])
  }

  private func edit(_ pageNumber: Int, _ caption: String, in library: LibraryFolder) async throws {
    let catalog = try await SQLiteCatalog.open(library: library)
    let post = try #require(try await catalog.posts(from: pageNumber, count: 1).first)
    try catalog.carryOut(PostChange(post.id, .edit(PostEdit(caption: caption))))
    try await catalog.close()
  }

  @Test("a few matches among many posts with the word are found page by page") func pages() async throws {
    let temporary = try await TemporaryLibrary()
    let catalog = try await SQLiteCatalog.open(library: temporary.library)
    for number in 0..<60 {
      var draft = sketch.draft(caption: "harbour \(number)")
      draft.metadata.authorID = number % 20 == 0 ? "ada" : "bob"
      let intent = try #require(
        try await catalog.claim(sketch.request(sketch.publication(by: draft.metadata.authorID))).intent)
      _ = try await catalog.complete(intent, draft: draft, stored: sketch.stored(intent))
    }
    let filter = PostFilter(authorID: "ada", text: "harbour")
    let first = try await catalog.newestPosts(matching: filter, before: nil, limit: 2)
    #expect(first.posts.map(\.caption) == ["harbour 40", "harbour 20"])
    let second = try await catalog.newestPosts(matching: filter, before: first.next, limit: 2)
    #expect(second.posts.map(\.caption) == ["harbour 0"] && second.next == nil)
    try await catalog.close()
  }
}
