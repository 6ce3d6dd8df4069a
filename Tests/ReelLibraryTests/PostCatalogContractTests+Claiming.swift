import ReelCore
import Testing

extension PostCatalogContractTests {
  static let claiming = [
    CatalogContractTest("a new publication is granted with the names that were requested") { stage in
      let catalog = try await stage.open()
      let request = Sketch().request(Sketch().publication())
      #expect(try catalog.published(request.publication) == nil)
      let intent = try #require(try await catalog.claim(request).intent)
      #expect(intent.id == request.newID)
      #expect(intent.key == request.newKey)
      #expect(intent.publication == request.publication)
      #expect(intent.attempt == 1)
      #expect(!intent.mayBeStored)
      #expect(try catalog.published(request.publication) == nil)
    },
    CatalogContractTest("a publication that a live process works on is held, for others and for that process")
    { stage in
      let (first, second) = (try await stage.open(), try await stage.open())
      let sketch = Sketch()
      let publication = sketch.publication(by: "ann")
      _ = try #require(try await first.claim(sketch.request(publication)).intent)
      #expect(try await first.claim(sketch.request(publication)).isHeld)
      #expect(try await second.claim(sketch.request(publication)).isHeld)
    },
    CatalogContractTest(
      "publications differ by digest, destination and author, and having no author counts as one"
    ) {
      stage in
      let catalog = try await stage.open()
      let sketch = Sketch()
      let digest = sketch.digest()
      let publications = [
        sketch.publication(digest), sketch.publication(digest, by: ""), sketch.publication(digest, by: "="),
        sketch.publication(digest, by: "a"), sketch.publication(digest, by: "A"),
        sketch.publication(digest, by: "a\0b"), sketch.publication(digest, by: "a'; DROP TABLE post; --"),
        sketch.publication(digest, to: "file:///elsewhere"), sketch.publication(),
      ]
      for publication in publications {
        #expect(try await catalog.publish(sketch.request(publication), with: sketch) != nil)
      }
      for publication in publications {
        #expect(try catalog.published(publication)?.post.digest == publication.digest)
      }
      #expect(try await catalog.status().posts == publications.count)
    },
    CatalogContractTest("a dead process's intent is resumed under its names, as the next attempt") { stage in
      let (first, second) = (try await stage.open(), try await stage.open())
      let sketch = Sketch()
      let publication = sketch.publication()
      let begun = try #require(try await first.claim(sketch.request(publication)).intent)
      try await stage.kill(first)
      let resumed = try #require(try await second.claim(sketch.request(publication)).intent)
      #expect(resumed.id == begun.id)
      #expect(resumed.key == begun.key)
      #expect(resumed.attempt == 2)
      #expect(resumed.mayBeStored)
      #expect(try await second.claim(sketch.request(publication)).isHeld)
    },
    CatalogContractTest("an intent that was released for a later retry is resumed, as the next attempt") {
      stage in
      let (first, second) = (try await stage.open(), try await stage.open())
      let sketch = Sketch()
      let publication = sketch.publication()
      for (attempt, catalog) in [first, first, second, first].enumerated() {
        let intent = try #require(try await catalog.claim(sketch.request(publication)).intent)
        #expect(intent.attempt == attempt + 1)
        try await catalog.release(intent, because: .retryLater)
      }
      #expect(try await first.status().unfinished == 1)
    },
    CatalogContractTest("after an unusable key, the next claim draws a new one") { stage in
      let catalog = try await stage.open()
      let sketch = Sketch()
      let publication = sketch.publication()
      for _ in 0..<3 {
        let request = sketch.request(publication)
        let intent = try #require(try await catalog.claim(request).intent)
        #expect(intent.key == request.newKey)
        #expect(intent.attempt == 1)
        try await catalog.release(intent, because: .keyUnusable)
        #expect(try await catalog.status().unfinished == 0)
      }
      #expect(try await catalog.publish(sketch.request(publication), with: sketch) != nil)
    },
    CatalogContractTest("--duplicates allow makes a separate post, even while another is in flight") {
      stage in
      let catalog = try await stage.open()
      let sketch = Sketch()
      let publication = sketch.publication()
      let first = try #require(try await catalog.claim(sketch.request(publication, .allow)).intent)
      let second = try #require(try await catalog.claim(sketch.request(publication, .allow)).intent)
      #expect(first.id != second.id)
      #expect(try await catalog.claim(sketch.request(publication, .skip)).isHeld)
      let later = try await catalog.complete(second, draft: sketch.draft(), stored: sketch.stored(second))
      _ = try await catalog.complete(first, draft: sketch.draft(), stored: sketch.stored(first))
      #expect(try await catalog.publish(sketch.request(publication, .allow), with: sketch) != nil)
      let found = try #require(try await catalog.claim(sketch.request(publication)).post?.post)
      #expect([first.id, later.id].contains(found.id))
      #expect(try await catalog.status().posts == 3)
    },
    CatalogContractTest("--duplicates allow resumes a dead process's intent before it begins a new one") {
      stage in
      let (first, second) = (try await stage.open(), try await stage.open())
      let sketch = Sketch()
      let publication = sketch.publication()
      _ = try #require(try await first.publish(sketch.request(publication, .allow), with: sketch))
      let begun = try #require(try await first.claim(sketch.request(publication, .allow)).intent)
      try await stage.kill(first)
      let resumed = try #require(try await second.claim(sketch.request(publication, .allow)).intent)
      #expect(resumed.id == begun.id)
      #expect(resumed.attempt == 2)
      let fresh = try #require(try await second.claim(sketch.request(publication, .allow)).intent)
      #expect(fresh.id != begun.id)
    },
    CatalogContractTest("a name is granted once; claiming it again fails, and other claims are not affected")
    {
      stage in
      let catalog = try await stage.open()
      let sketch = Sketch()
      let taken = sketch.request(sketch.publication())
      _ = try await catalog.claim(taken)
      let other = sketch.request(sketch.publication())
      await withTaskGroup { group in
        for _ in 0..<10 {
          group.addTask {
            await expect(.unusable) {
              _ = try await catalog.claim(
                ClaimRequest(
                  publication: sketch.publication(), duplicates: .skip, size: 1, newID: other.newID,
                  newKey: taken.newKey))
            }
          }
          group.addTask {
            let post = try? await catalog.publish(sketch.request(sketch.publication()), with: sketch)
            #expect(post != nil)
          }
        }
      }
      #expect(try await catalog.status().posts == 10)
    },
    CatalogContractTest("of many concurrent claims of one publication, one is granted") { stage in
      let catalogs = [try await stage.open(), try await stage.open(), try await stage.open()]
      let sketch = Sketch()
      let publication = sketch.publication()
      let granted = try await withThrowingTaskGroup(of: Bool.self) { group in
        for index in 0..<60 {
          group.addTask { try await catalogs[index % 3].claim(sketch.request(publication)).intent != nil }
        }
        return try await group.reduce(0) { $0 + ($1 ? 1 : 0) }
      }
      #expect(granted == 1)
    },
  ]
}
