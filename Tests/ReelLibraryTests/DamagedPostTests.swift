import Foundation
import ReelCore
import ReelTestServers
import Testing

@testable import ReelLibrary
@testable import ReelPostgres

/// A post whose row can't be read. `reel doctor` reports it.
@Suite struct DamagedPostTests {
  @Test("a post that can't be read is neither removed nor moved, and does not block changes to others")
  func inALibrary() async throws {
    let temporary = try await TemporaryLibrary()
    let catalog = try await SQLiteCatalog.open(library: temporary.library)
    let posts = try await published(in: catalog)
    try await catalog.writable().writer.alone { db in
      try db.run("UPDATE post SET document = '{' WHERE pageNumber = 1")
    }
    try await check(catalog, damaged: posts[0], whole: posts[1])
    try await catalog.writable().writer.alone { db in try db.run("UPDATE removal SET document = '{'") }
    try checkRemoved(catalog, posts[1])
    try await catalog.close()
  }

  @Test("a post that can't be read is treated the same way in PostgreSQL", .besidePostgres)
  func onAServer() async throws {
    let database = try await TestDatabase()
    let catalog = try await PostgresCatalog.open(try database.pool())
    let posts = try await published(in: catalog)
    try database.connect().run("UPDATE reel.post SET document = '{' WHERE page_number = 1")
    try await check(catalog, damaged: posts[0], whole: posts[1])
    try database.connect().run("UPDATE reel.removal SET document = '{'")
    try checkRemoved(catalog, posts[1])
    try await catalog.close()
  }

  private func published(in catalog: any PostCatalog) async throws -> [PostID] {
    let sketch = Sketch()
    var posts: [PostID] = []
    for _ in 0..<2 {
      posts.append(
        try #require(try await catalog.publish(sketch.request(sketch.publication()), with: sketch)).id)
    }
    return posts
  }

  private func check(_ catalog: any PostChanging, damaged: PostID, whole: PostID) async throws {
    let removal = PostChange.Kind.removal(Removal(at: .now))
    for kind in [removal, .move(to: Destination("file:///other")), .edit(PostEdit(caption: "x"))] {
      for posts in [[damaged], [whole, damaged]] {
        let error = #expect(throws: CatalogError.self) {
          _ = try catalog.begin(posts.map { PostChange($0, kind) })
        }
        #expect(error?.code == .corrupt)
      }
    }
    #expect(try catalog.removedPost(damaged) == nil)
    #expect(try catalog.abandonedChanges().isEmpty)
    try catalog.carryOut(PostChange(whole, removal))
    #expect(try catalog.unfinishedChanges(after: 0, limit: 9).isEmpty)
    #expect(try catalog.expiredPosts(at: .now, after: 0, limit: 9).isEmpty)
  }

  private func checkRemoved(_ catalog: any PostChanging, _ damaged: PostID) throws {
    let error = #expect(throws: CatalogError.self) {
      _ = try catalog.begin([PostChange(damaged, .restoration)])
    }
    #expect(error?.code == .corrupt)
    #expect(try catalog.abandonedChanges().isEmpty)
    #expect(try catalog.unfinishedChanges(after: 0, limit: 9).isEmpty)
  }
}
