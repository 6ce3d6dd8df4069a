import Foundation
import ReelCore
import Testing

extension PostCatalogContractTests {
  static let completing = [
    CatalogContractTest("a completed intent is a post, and is found exactly as it was passed in") { stage in
      let catalog = try await stage.open()
      let sketch = Sketch()
      stage.clock.advance(by: 0.123_456)
      let request = sketch.request(sketch.publication(by: "ann"))
      let intent = try #require(try await catalog.claim(request).intent)
      let draft = sketch.draft(caption: "Grüße, \u{1F30D}\n\"quoted\" \\ \u{0} '")
      let post = try await catalog.complete(intent, draft: draft, stored: sketch.stored(intent, size: 77))
      #expect(post.id == request.newID)
      #expect(post.video == request.newKey)
      #expect(post.pageNumber == 1)
      #expect(post.caption == draft.metadata.caption)
      #expect(post.size == 77)
      let age = try #require(post.createdAt).timeIntervalSince(stage.clock.now())
      #expect(abs(age) <= 0.001)
      let other = try await stage.open()
      for reader in [catalog, other] {
        #expect(try await reader.post(post.id) == post)
        #expect(try reader.published(request.publication) == PublishedPost(post: post, announced: true))
        #expect(try await reader.newestPosts(before: nil, limit: 5).posts == [post])
        #expect(try await reader.posts(from: 1, count: 1) == [post])
      }
      #expect(try await other.claim(request).post?.post == post)
    },
    CatalogContractTest("an attempt whose intent was taken over publishes nothing") { stage in
      let (first, second) = (try await stage.open(), try await stage.open())
      let sketch = Sketch()
      let publication = sketch.publication()
      let old = try #require(try await first.claim(sketch.request(publication)).intent)
      try await stage.kill(first)
      let new = try #require(try await second.claim(sketch.request(publication)).intent)
      await expect(.leaseLost) {
        _ = try await first.complete(old, draft: sketch.draft(), stored: sketch.stored(old))
      }
      #expect(try await second.status().posts == 0)
      try await first.release(old, because: .keyUnusable)
      #expect(try await second.claim(sketch.request(publication)).isHeld)
      let post = try await second.complete(new, draft: sketch.draft(), stored: sketch.stored(new))
      #expect(post.pageNumber == 1)
      await expect(.leaseLost) {
        _ = try await first.complete(old, draft: sketch.draft(), stored: sketch.stored(old))
      }
      #expect(try await second.status().posts == 1)
    },
    CatalogContractTest("an intent can be completed only once, and not after it was released") { stage in
      let catalog = try await stage.open()
      let sketch = Sketch()
      let done = try #require(try await catalog.claim(sketch.request(sketch.publication())).intent)
      _ = try await catalog.complete(done, draft: sketch.draft(), stored: sketch.stored(done))
      let given = try #require(try await catalog.claim(sketch.request(sketch.publication())).intent)
      try await catalog.release(given, because: .retryLater)
      for intent in [done, given] {
        await expect(.leaseLost) {
          _ = try await catalog.complete(intent, draft: sketch.draft(), stored: sketch.stored(intent))
        }
      }
      try await catalog.release(done, because: .keyUnusable)
      #expect(try catalog.published(done.publication)?.post.id == done.id)
    },
    CatalogContractTest("places are assigned without gaps, whatever else fails at the same time") { stage in
      let catalogs = [try await stage.open(), try await stage.open()]
      let sketch = Sketch()
      let places = try await withThrowingTaskGroup(of: Int?.self) { group in
        for index in 0..<200 {
          group.addTask {
            let catalog = catalogs[index % 2]
            let request = sketch.request(sketch.publication())
            guard let intent = try await catalog.claim(request).intent else { return nil }
            if index % 5 == 4 {
              try await catalog.release(intent, because: index % 2 == 0 ? .retryLater : .keyUnusable)
              _ = try? await catalog.complete(intent, draft: sketch.draft(), stored: sketch.stored(intent))
              return nil
            }
            let post = try await catalog.complete(
              intent, draft: sketch.draft(), stored: sketch.stored(intent))
            return post.pageNumber
          }
        }
        return try await group.reduce(into: []) { places, place in place.map { places.append($0) } }
      }
      #expect(places.sorted() == Array(1...160))
      let posts = try await catalogs[0].posts(from: 1, count: 500)
      #expect(posts.map(\.pageNumber) == Array(1...160))
    },
    CatalogContractTest("the status counts what was stored, and what is unfinished") { stage in
      let catalog = try await stage.open()
      let sketch = Sketch()
      for (destination, size) in [("file:///b", 10), ("file:///a", 20), ("file:///b", 30)] {
        let request = sketch.request(sketch.publication(to: destination))
        let intent = try #require(try await catalog.claim(request).intent)
        _ = try await catalog.complete(
          intent, draft: sketch.draft(), stored: sketch.stored(intent, size: Int64(size)))
      }
      _ = try await catalog.claim(sketch.request(sketch.publication(to: "file:///c")))
      let status = try await catalog.status()
      #expect(status.posts == 3)
      #expect(status.bytes == 60)
      #expect(status.destinations.map(\.destination.name) == ["file:///a", "file:///b"])
      #expect(status.destinations.map(\.posts) == [1, 2])
      #expect(status.unfinished == 1)
      #expect(status.schemaVersion == stage.schemaVersion)
    },
  ]
}
