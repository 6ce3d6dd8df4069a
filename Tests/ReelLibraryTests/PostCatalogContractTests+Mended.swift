import Foundation
import ReelCore
import Testing

extension PostCatalogContractTests {
  /// Videos that were mended before they were stored.
  static let mended = [
    CatalogContractTest("the original file's digest finds the mended post, for its store and its author only")
    { stage in
      let catalog = try await stage.open()
      let sketch = Sketch()
      let (arrived, stored) = (sketch.digest(), sketch.publication(by: "ann"))
      let post = try #require(
        try await catalog.publish(sketch.request(stored, arrived: arrived), with: sketch))
      let came = sketch.publication(arrived, by: "ann")
      #expect(try catalog.published(stored)?.post == post && catalog.published(came)?.post == post)
      for other in [
        sketch.publication(arrived), sketch.publication(arrived, by: "bob"),
        sketch.publication(arrived, to: "file:///other", by: "ann"), sketch.publication(by: "ann"),
      ] {
        #expect(try catalog.published(other) == nil)
      }
      for digest in [arrived, stored.digest] {
        #expect(try await catalog.posts(of: digest) == [post])
      }
      // The same file unmended, and mended differently.
      #expect(try await catalog.claim(sketch.request(came)).post?.post == post)
      let otherwise = sketch.request(sketch.publication(by: "ann"), arrived: arrived)
      #expect(try await catalog.claim(otherwise).post?.post == post)
      #expect(try await catalog.claim(sketch.request(came, .allow)).intent != nil)
      let elsewhere = sketch.request(sketch.publication(to: "file:///other", by: "ann"), arrived: arrived)
      #expect(try await catalog.claim(elsewhere).intent != nil)
    },
    CatalogContractTest("a file that was mended and published is recalled as a post") { stage in
      let catalog = try await stage.open()
      let sketch = Sketch()
      let arrived = sketch.digest()
      let changed = Int64((stage.clock.now().timeIntervalSince1970 - 60) * 1_000_000_000)
      let file = FileIdentity(device: 1, inode: 7, size: 5, modifiedAt: 1, changedAt: changed)
      await catalog.remember(arrived, of: file)
      let post = try await catalog.publish(
        sketch.request(sketch.publication(), arrived: arrived), with: sketch)
      _ = try await catalog.cacheStatus()
      let question = RecalledFile(
        identity: file, path: SourcePath("/a.mp4"), destination: Destination("file:///media"), authorID: nil)
      let record = try #require(try catalog.recall([question], readingPosts: true)[0])
      #expect(record.digest == arrived && record.isPublished && record.post == post)
    },
    CatalogContractTest("another file that is mended to the same bytes finds that post from then on") {
      stage in
      let catalog = try await stage.open()
      let sketch = Sketch()
      let (first, second, stored) = (sketch.digest(), sketch.digest(), sketch.publication())
      let post = try await catalog.publish(sketch.request(stored, arrived: first), with: sketch)
      #expect(try catalog.published(sketch.publication(second)) == nil)
      #expect(try await catalog.claim(sketch.request(stored, arrived: second)).post?.post == post)
      #expect(try catalog.published(sketch.publication(second))?.post == post)
      #expect(try catalog.published(sketch.publication(first))?.post == post)
    },
    CatalogContractTest("a file that was published unmended is not published again mended") { stage in
      let catalog = try await stage.open()
      let sketch = Sketch()
      let came = sketch.publication()
      let post = try await catalog.publish(sketch.request(came), with: sketch)
      let claim = try await catalog.claim(sketch.request(sketch.publication(), arrived: came.digest))
      #expect(claim.post?.post == post)
    },
    CatalogContractTest("publishing a file mended and publishing it unmended exclude each other") { stage in
      let sketch = Sketch()
      for isMendedFirst in [true, false] {
        let (one, other) = (try await stage.open(), try await stage.open())
        let (came, stored) = (sketch.publication(), sketch.publication())
        let mended = { sketch.request(stored, arrived: came.digest) }
        let plain = { sketch.request(came) }
        let (first, second) = isMendedFirst ? (mended, plain) : (plain, mended)
        #expect(try await one.claim(first()).intent != nil)
        #expect(try await other.claim(second()).isHeld)
        #expect(try await one.claim(second()).isHeld)
        // Once the first process is dead it blocks nobody, and its intent is not reused, since it names other bytes.
        try await stage.kill(one)
        let intent = try #require(try await other.claim(second()).intent)
        #expect(intent.attempt == 1 && intent.publication == second().publication)
        let post = try await other.complete(intent, draft: sketch.draft(), stored: sketch.stored(intent))
        #expect(try await other.claim(first()).post?.post == post)
      }
    },
    CatalogContractTest("a dead process's intent for a mended video is resumed, whatever the original file") {
      stage in
      let (first, second) = (try await stage.open(), try await stage.open())
      let sketch = Sketch()
      let (one, other, stored) = (sketch.digest(), sketch.digest(), sketch.publication())
      let begun = try #require(try await first.claim(sketch.request(stored, arrived: one)).intent)
      try await stage.kill(first)
      let intent = try #require(try await second.claim(sketch.request(stored, arrived: other)).intent)
      #expect(intent.id == begun.id && intent.attempt == 2)
      let post = try await second.complete(intent, draft: sketch.draft(), stored: sketch.stored(intent))
      for arrived in [one, other] {
        #expect(try second.published(sketch.publication(arrived))?.post == post)
      }
    },
    CatalogContractTest("a batch remembers the original digest of each of its files") { stage in
      let catalog = try await stage.open()
      let sketch = Sketch()
      let files = (0..<20).map { _ in (arrived: sketch.digest(), stored: sketch.publication()) }
      let requests = files.enumerated().map { index, file in
        sketch.request(file.stored, arrived: index.isMultiple(of: 3) ? nil : file.arrived)
      }
      let intents = try catalog.claim(requests, noting: []).map { try #require(try $0.get().intent) }
      let posts = try catalog.complete(
        intents.map { Completion(intent: $0, draft: sketch.draft(), stored: sketch.stored($0)) }, noting: []
      ).map { try $0.get() }
      let found = try catalog.contents(
        of: files.map { ContentQuestion(digest: $0.arrived, publication: sketch.publication($0.arrived)) })
      #expect(
        found.map { $0.post?.post.id }
          == posts.enumerated().map { index, post in index.isMultiple(of: 3) ? nil : post.id })
    },
  ]
}
