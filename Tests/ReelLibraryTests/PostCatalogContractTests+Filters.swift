import Foundation
import ReelCore
import Testing

extension PostCatalogContractTests {
  /// Posts 1 to 5, a minute apart. Their authors are Ada, nobody, Bob, Ada and Bob.
  private static func filled(_ stage: any CatalogStage) async throws -> any PostCatalog {
    let catalog = try await stage.open()
    let sketch = Sketch()
    let posts: [(author: String?, caption: String?, file: String?)] = [
      ("ada", "First light over the harbour", "IMG_0001.MOV"), (nil, nil, "harbour-cat.mp4"),
      ("bob", "HARBOURS by night", nil), ("ada", "A \"quoted\" word AND more", "x.mp4"),
      ("bob", "night light", nil),
    ]
    for (author, caption, file) in posts {
      var draft = sketch.draft(caption: caption)
      draft.metadata.authorID = author
      draft.sourceName = file
      let intent = try #require(
        try await catalog.claim(sketch.request(sketch.publication(by: author))).intent)
      _ = try await catalog.complete(intent, draft: draft, stored: sketch.stored(intent))
      stage.clock.advance(by: 60)
    }
    return catalog
  }

  private static func expect(
    _ places: [Int], _ filter: PostFilter, in catalog: any PostCatalog,
    sourceLocation: SourceLocation = #_sourceLocation
  ) async throws {
    for size in [1, 2, 10] {
      var (found, cursor): ([Int?], FeedCursor?) = ([], nil)
      repeat {
        let page = try await catalog.newestPosts(matching: filter, before: cursor, limit: size)
        #expect(page.posts.count <= size, sourceLocation: sourceLocation)
        found += page.posts.map(\.pageNumber)
        cursor = page.next
      } while cursor != nil
      #expect(found == places, "\(filter), pages of \(size)", sourceLocation: sourceLocation)
    }
  }

  static let filters = [
    CatalogContractTest("posts are found by their author") { stage in
      let catalog = try await filled(stage)
      try await expect([4, 1], PostFilter(authorID: "ada"), in: catalog)
      try await expect([], PostFilter(authorID: "ad"), in: catalog)
      try await expect([], PostFilter(authorID: ""), in: catalog)
    },
    CatalogContractTest("posts are found by the time they were published") { stage in
      let catalog = try await filled(stage)
      let third = try #require(try await catalog.posts(from: 3, count: 1).first?.createdAt)
      try await expect([5, 4, 3], PostFilter(since: third), in: catalog)
      try await expect([5, 4], PostFilter(since: third.addingTimeInterval(0.001)), in: catalog)
      try await expect([], PostFilter(since: third.addingTimeInterval(3600)), in: catalog)
      try await expect([4], PostFilter(authorID: "ada", since: third), in: catalog)
    },
    CatalogContractTest("posts are found by their words, and no text acts as a search operator") { stage in
      let catalog = try await filled(stage)
      let table: [(text: String, places: [Int])] = [
        ("harbour", [3, 2, 1]), ("Harbours", [3]), ("night LIGHT", [5]), ("ligh", [5, 1]), ("ight", []),
        ("img_0001.mov", [1]), ("0001", [1]), ("harbour-cat", [2]), ("cat-harbour", []), ("\"quoted\"", [4]),
        ("and", [4]), ("light OR cat", []), ("caption:light", []), ("first*", [1]), ("\"", []), ("", []),
        ("!? ", []),
        ("! night", [5, 3]), ("NEAR(night light)", []), ("light'; --", [5, 1]),
      ]
      for (text, places) in table { try await expect(places, PostFilter(text: text), in: catalog) }
      try await expect([3], PostFilter(authorID: "bob", text: "harbour"), in: catalog)
    },
    CatalogContractTest(
      "posts are found whether their text and the search are in NFC or NFD"
    ) {
      stage in
      let catalog = try await stage.open()
      let sketch = Sketch()
      // Each in NFC and in NFD: Korean, accents, two marks on one letter, Japanese.
      let texts = [
        ("한국 바다", "\u{1112}\u{1161}\u{11AB}\u{1100}\u{116E}\u{11A8} \u{1107}\u{1161}\u{1103}\u{1161}"),
        ("Zoë’s café", "Zoe\u{308}’s cafe\u{301}"), ("tiếng Việt", "tie\u{302}\u{301}ng Vie\u{323}\u{302}t"),
        ("がく", "か\u{3099}く"),
      ]
      for (composed, decomposed) in texts {
        for text in [composed, decomposed] {
          var draft = sketch.draft(caption: text)
          draft.metadata.authorID = text
          let intent = try #require(
            try await catalog.claim(sketch.request(sketch.publication(by: text))).intent)
          _ = try await catalog.complete(intent, draft: draft, stored: sketch.stored(intent))
        }
      }
      for (index, (composed, decomposed)) in texts.enumerated() {
        let places = [2 * index + 2, 2 * index + 1]
        for text in [composed, decomposed] {
          try await expect(places, PostFilter(text: text), in: catalog)
          try await expect(places, PostFilter(authorID: text), in: catalog)
          // The beginning of a word.
          try await expect(places, PostFilter(text: String(text.prefix(1))), in: catalog)
        }
      }
      try await expect([], PostFilter(text: "がき"), in: catalog)
    },
    CatalogContractTest("all posts of a video are found by its digest, oldest first") { stage in
      let catalog = try await stage.open()
      let sketch = Sketch()
      let digest = sketch.digest()
      var posts: [Post?] = []
      for author in ["ada", nil, "bob"] {
        let publication = sketch.publication(digest, by: author)
        posts.append(try await catalog.publish(sketch.request(publication), with: sketch))
        _ = try await catalog.publish(sketch.request(sketch.publication()), with: sketch)
      }
      _ = try await catalog.claim(sketch.request(sketch.publication(digest, by: "eve")))
      #expect(try await catalog.posts(of: digest) == posts.compactMap(\.self))
      #expect(try await catalog.posts(of: sketch.digest()).isEmpty)
    },
  ]
}
