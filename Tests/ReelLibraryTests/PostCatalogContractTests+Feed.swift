import ReelCore
import ReelTestSupport
import Testing

extension PostCatalogContractTests {
  private static func filled(_ stage: any CatalogStage, with count: Int) async throws -> any PostCatalog {
    let catalog = try await stage.open()
    let sketch = Sketch()
    for _ in 0..<count { _ = try await catalog.publish(sketch.request(sketch.publication()), with: sketch) }
    return catalog
  }

  static let feed = [
    CatalogContractTest("an empty feed has no posts and no next page") { stage in
      let catalog = try await stage.open()
      #expect(try await catalog.newestPosts(before: nil, limit: 10) == FeedPage(posts: [], next: nil))
      #expect(try await catalog.posts(from: 1, count: 10).isEmpty)
      #expect(try await catalog.post(PostID(at: stage.clock.now(), random: SeededRandomness(seed: 9))) == nil)
    },
    CatalogContractTest("pages follow one another without gaps, newest posts first") { stage in
      let catalog = try await filled(stage, with: 10)
      for size in [1, 3, 5, 9, 10, 11, Int.max] {
        var places: [Int?] = []
        var cursor: FeedCursor?
        repeat {
          let page = try await catalog.newestPosts(before: cursor, limit: size)
          #expect(page.posts.count <= size)
          #expect(!page.posts.isEmpty)
          places += page.posts.map(\.pageNumber)
          cursor = page.next
        } while cursor != nil
        #expect(places == (1...10).reversed(), "pages of \(size)")
      }
    },
    CatalogContractTest("a cursor may point anywhere") { stage in
      let catalog = try await filled(stage, with: 4)
      for (cursor, places) in [(1, []), (2, [1]), (4, [3, 2, 1]), (5, [4, 3, 2, 1]), (1000, [4, 3, 2, 1])] {
        let page = try await catalog.newestPosts(before: FeedCursor(pageNumber: cursor), limit: 9)
        #expect(page.posts.map(\.pageNumber) == places)
        #expect(page.next == nil)
      }
    },
    CatalogContractTest("a page with a limit of 0 or less is empty") { stage in
      let catalog = try await filled(stage, with: 2)
      for limit in [0, -1, Int.min] {
        #expect(try await catalog.newestPosts(before: nil, limit: limit) == FeedPage(posts: [], next: nil))
        #expect(try await catalog.posts(from: 1, count: limit).isEmpty)
      }
    },
    CatalogContractTest("a range of places returns the posts that exist, in order") { stage in
      let catalog = try await filled(stage, with: 5)
      let table: [(from: Int, count: Int, places: [Int])] = [
        (1, 2, [1, 2]), (4, 2, [4, 5]), (5, 9, [5]), (6, 3, []), (-3, 5, [1]), (0, 1, []),
        (2, Int.max, [2, 3, 4, 5]), (Int.min, 5, []), (Int.max, Int.max, []),
      ]
      for (from, count, places) in table {
        let posts = try await catalog.posts(from: from, count: count)
        #expect(posts.map(\.pageNumber) == places, "\(from), \(count)")
      }
    },
  ]
}
