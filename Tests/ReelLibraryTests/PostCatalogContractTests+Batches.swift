import ReelCore
import Testing

extension PostCatalogContractTests {
  static let batches = [
    CatalogContractTest("a batch of claims is answered in order, each as if it had been made alone") {
      stage in
      let catalog = try await stage.open()
      let sketch = Sketch()
      let (fresh, done, held) = (sketch.publication(), sketch.publication(), sketch.publication())
      let post = try #require(try await catalog.publish(sketch.request(done), with: sketch))
      let other = try await stage.open()
      _ = try await other.claim(sketch.request(held))
      let requests = [held, fresh, done, fresh].map { sketch.request($0) }
      let claims = try catalog.claim(requests, noting: []).map { try $0.get() }
      #expect(claims.map(\.isHeld) == [true, false, false, true])
      #expect(
        claims[1].intent
          == Intent(
            id: requests[1].newID, key: requests[1].newKey, publication: fresh, attempt: 1))
      #expect(claims[2].post?.post == post)
      #expect(try await other.claim(sketch.request(fresh)).isHeld)
    },
    CatalogContractTest(
      "in a batch of completions, those whose intents were taken over fail, and the others become posts"
    ) { stage in
      let (first, second) = (try await stage.open(), try await stage.open())
      let sketch = Sketch()
      let publications = (0..<3).map { _ in sketch.publication() }
      let intents = try first.claim(publications.map { sketch.request($0) }, noting: []).compactMap {
        try $0.get().intent
      }
      try await first.release(intents[1], because: .retryLater)
      _ = try await second.claim(sketch.request(publications[1]))
      let completions = intents.map {
        Completion(intent: $0, draft: sketch.draft(), stored: sketch.stored($0))
      }
      let posts = try first.complete(completions, noting: [])
      #expect(try posts[0].get().pageNumber == 1)
      #expect(throws: CatalogError.self) { try posts[1].get() }
      #expect(try posts[2].get().pageNumber == 2)
      #expect(
        try await second.newestPosts(before: nil, limit: 9).posts.map(\.id) == [intents[2].id, intents[0].id])
    },
    CatalogContractTest("notes that come with a batch are stored with it") { stage in
      let catalog = try await stage.open()
      let sketch = Sketch()
      let identity = FileIdentity(device: 1, inode: 2, size: 3, modifiedAt: 4, changedAt: 5)
      let digest = sketch.digest()
      let reader = ReaderVersion(reel: "1", ffmpeg: "2")
      let failure = FailureRecord(
        code: "corrupt", message: "it is broken", refused: false, at: stage.clock.now())
      _ = try catalog.claim(
        [sketch.request(sketch.publication())],
        noting: [
          .digest(digest, of: identity),
          .outcome(.failure(ProbeError(.corrupt, "it is broken")), of: digest, by: reader),
          .failure(failure, at: SourcePath("/a.mp4")),
        ])
      #expect(try catalog.knownFile(identity) == digest)
      #expect(
        try catalog.probeOutcome(of: digest, by: reader) == .failure(ProbeError(.corrupt, "it is broken")))
      #expect(try await catalog.status().failures.map(\.failure.code) == ["corrupt"])
      #expect(try catalog.complete([], noting: [.failure(nil, at: SourcePath("/a.mp4"))]).isEmpty)
      #expect(try await catalog.status().failures.isEmpty)
    },
  ]
}
