import ReelCore
import Testing

extension PostCatalogContractTests {
  static let posters = [
    CatalogContractTest("a post shows the poster that was named with its intent") { stage in
      let catalog = try await stage.open()
      let sketch = Sketch()
      let poster = sketch.poster()
      let intent = try #require(
        try await catalog.claim(sketch.request(sketch.publication(), poster: poster)).intent)
      #expect(intent.poster == poster.newKey)
      let shown = try sketch.shown(intent)
      let post = try await catalog.complete(
        intent, draft: sketch.draft(poster: shown), stored: sketch.stored(intent))
      #expect(post.poster == poster.newKey && post.posterURL == shown.url && post.blurHash == shown.blurHash)
      #expect(post.posterWidth == shown.width && post.posterHeight == shown.height)
      #expect(try await stage.open().post(post.id) == post)
    },
    CatalogContractTest("a claim without a poster gets none") { stage in
      let catalog = try await stage.open()
      let sketch = Sketch()
      let intent = try #require(try await catalog.claim(sketch.request(sketch.publication())).intent)
      #expect(intent.poster == nil)
      let post = try await catalog.complete(intent, draft: sketch.draft(), stored: sketch.stored(intent))
      #expect(post.poster == nil && post.posterURL == nil && post.posterWidth == nil && post.blurHash == nil)
    },
    CatalogContractTest("a post may be completed without the poster that was named for it") { stage in
      let catalog = try await stage.open()
      let sketch = Sketch()
      let request = sketch.request(sketch.publication(), poster: sketch.poster())
      let intent = try #require(try await catalog.claim(request).intent)
      let post = try await catalog.complete(intent, draft: sketch.draft(), stored: sketch.stored(intent))
      #expect(try await catalog.post(post.id)?.poster == nil)
    },
    CatalogContractTest("a later attempt reuses the name of a poster with the same bytes, and of no other") {
      stage in
      let sketch = Sketch()
      let publication = sketch.publication()
      let (first, other) = (sketch.poster(), sketch.poster())
      let attempts = [
        (first, first.newKey), (other, other.newKey), (sketch.poster(first.digest), first.newKey),
      ]
      for (poster, key) in attempts {
        let catalog = try await stage.open()
        let intent = try #require(try await catalog.claim(sketch.request(publication, poster: poster)).intent)
        #expect(intent.poster == key)
        try await stage.kill(catalog)
      }
      let catalog = try await stage.open()
      let intent = try #require(try await catalog.claim(sketch.request(publication)).intent)
      #expect(intent.attempt == 4 && intent.poster == nil)
    },
    CatalogContractTest("a post cannot show a poster that its intent does not name") { stage in
      let catalog = try await stage.open()
      let sketch = Sketch()
      let named = sketch.request(sketch.publication(), poster: sketch.poster())
      let intent = try #require(try await catalog.claim(named).intent)
      let stranger = try #require(
        try await catalog.claim(sketch.request(sketch.publication(), poster: sketch.poster())).intent)
      await expect(.leaseLost) {
        let draft = sketch.draft(poster: try sketch.shown(stranger))
        _ = try await catalog.complete(intent, draft: draft, stored: sketch.stored(intent))
      }
      #expect(try await catalog.status().posts == 0)
      // Nothing was written, so the intent can still be completed.
      let draft = sketch.draft(poster: try sketch.shown(intent))
      _ = try await catalog.complete(intent, draft: draft, stored: sketch.stored(intent))
    },
    CatalogContractTest("a name is granted to only one poster in a store") { stage in
      let catalog = try await stage.open()
      let sketch = Sketch()
      let poster = sketch.poster()
      _ = try await catalog.claim(sketch.request(sketch.publication(), poster: poster))
      let again = sketch.request(sketch.publication(), poster: poster)
      let sound = sketch.request(sketch.publication(), poster: sketch.poster())
      let claims = try catalog.claim([again, sound], noting: [])
      #expect(throws: CatalogError.self) { try claims[0].get() }
      #expect(try claims[1].get().intent != nil)
      #expect(try await catalog.status().unfinished == 2)
      let elsewhere = sketch.request(sketch.publication(to: "file:///elsewhere"), poster: poster)
      #expect(try await catalog.claim(elsewhere).intent?.poster == poster.newKey)
    },
    CatalogContractTest("a poster whose name is taken gets another name under the same intent") {
      stage in
      let catalog = try await stage.open()
      let sketch = Sketch()
      let (publication, poster) = (sketch.publication(), sketch.poster())
      let old = try #require(try await catalog.claim(sketch.request(publication, poster: poster)).intent)
      try await catalog.release(old, because: .posterUnusable)
      let next = sketch.poster(poster.digest)
      let new = try #require(try await catalog.claim(sketch.request(publication, poster: next)).intent)
      #expect(new.id == old.id && new.key == old.key && new.attempt == 2 && new.poster == next.newKey)
      await expect(.leaseLost) {
        let draft = sketch.draft(poster: try sketch.shown(old))
        _ = try await catalog.complete(new, draft: draft, stored: sketch.stored(new))
      }
    },
    CatalogContractTest("the poster's name of an intent that was given up is not reused") { stage in
      let catalog = try await stage.open()
      let sketch = Sketch()
      let (publication, poster) = (sketch.publication(), sketch.poster())
      let old = try #require(try await catalog.claim(sketch.request(publication, poster: poster)).intent)
      try await catalog.release(old, because: .keyUnusable)
      let next = sketch.poster(poster.digest)
      let new = try #require(try await catalog.claim(sketch.request(publication, poster: next)).intent)
      #expect(new.poster == next.newKey)
    },
  ]
}
