import Foundation
import ReelCatalog
import ReelModel
import Testing

@Suite struct FirstLight {
  @Test func publishesAndReads() async throws {
    let temporary = try await TemporaryLibrary()
    let catalog = try await SQLiteCatalog.open(library: temporary.library)
    let sketch = Sketch()
    let request = sketch.request(sketch.publication())
    let intent = try #require(try await catalog.claim(request).intent)
    let post = try await catalog.complete(intent, draft: sketch.draft(), stored: sketch.stored(intent))
    #expect(try await catalog.post(post.id) == post)
    #expect(try await catalog.newestPosts(before: nil, limit: 10) == FeedPage(posts: [post], next: nil))
    #expect(try await catalog.claim(request).post == PublishedPost(post: post, announced: true))
    try await catalog.close()
    let again = try #require(try await SQLiteCatalog.openReadOnly(library: temporary.library))
    #expect(try await again.published(request.publication)?.post == post)
    try await again.close()
    let names = try FileManager.default.subpathsOfDirectory(atPath: temporary.library.path)
    #expect(names.sorted() == ["catalog.sqlite", "tmp"])
  }
}
