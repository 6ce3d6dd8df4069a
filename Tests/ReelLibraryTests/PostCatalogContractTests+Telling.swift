import ReelCore
import Testing

extension PostCatalogContractTests {
  static let telling = [
    CatalogContractTest("a dead process's unsent event is handed over exactly once") {
      stage in
      let (first, second) = (try await stage.open(), try await stage.open())
      let sketch = Sketch()
      let request = sketch.request(sketch.publication())
      _ = try await first.publish(request, with: sketch)
      #expect(try await second.claim(request).post?.announced == true)
      #expect(try second.published(request.publication)?.announced == true)
      try await stage.kill(first)
      #expect(try await second.claim(request).post?.announced == false)
      #expect(try await second.claim(request).post?.announced == true)
      #expect(try second.published(request.publication)?.announced == true)
    },
    CatalogContractTest("looking a post up hands its unsent event over, as claiming does") { stage in
      let sketch = Sketch()
      let request = sketch.request(sketch.publication())
      var told: [Bool?] = []
      let first = try await stage.open()
      _ = try await first.publish(request, with: sketch)
      try await stage.kill(first)
      for _ in 0..<3 {
        let next = try await stage.open()
        told.append(try next.published(request.publication)?.announced)
        told.append(try next.published(request.publication)?.announced)
        try await stage.kill(next)
      }
      #expect(told == [false, true, false, true, false, true])
    },
    CatalogContractTest("an event that was sent is not sent again") { stage in
      let sketch = Sketch()
      let request = sketch.request(sketch.publication())
      let first = try await stage.open()
      let post = try #require(try await first.publish(request, with: sketch))
      await first.announced([post.id])
      try await first.close()
      let second = try await stage.open()
      #expect(try await second.claim(request).post?.announced == true)
      #expect(try second.published(request.publication)?.announced == true)
    },
    CatalogContractTest("an event that was handed over is not struck out by its previous owner") { stage in
      let sketch = Sketch()
      let request = sketch.request(sketch.publication())
      let first = try await stage.open()
      let post = try #require(try await first.publish(request, with: sketch))
      try await stage.kill(first)
      let second = try await stage.open()
      #expect(try second.published(request.publication)?.announced == false)
      await first.announced([post.id])
      try await Task.sleep(for: .milliseconds(300))
      try await stage.kill(second)
      let third = try await stage.open()
      #expect(try third.published(request.publication)?.announced == false)
    },
    CatalogContractTest("closing without sending an event leaves it to the next catalog") { stage in
      let sketch = Sketch()
      let requests = (0..<3).map { _ in sketch.request(sketch.publication()) }
      let first = try await stage.open()
      var posts: [Post] = []
      for request in requests { posts.append(try #require(try await first.publish(request, with: sketch))) }
      await first.announced([posts[1].id])
      try await first.close()
      let second = try await stage.open()
      var told: [Bool?] = []
      for request in requests { told.append(try second.published(request.publication)?.announced) }
      #expect(told == [false, true, false])
    },
    CatalogContractTest("of many callers that find an unsent event at once, one gets it") { stage in
      let sketch = Sketch()
      let request = sketch.request(sketch.publication())
      let first = try await stage.open()
      _ = try await first.publish(request, with: sketch)
      try await stage.kill(first)
      let others = [try await stage.open(), try await stage.open()]
      let tellers = try await withThrowingTaskGroup(of: Bool.self) { group in
        for index in 0..<40 {
          group.addTask {
            let catalog = others[index % 2]
            let post =
              index % 4 < 2
              ? try catalog.published(request.publication) : try await catalog.claim(request).post
            return post?.announced == false
          }
        }
        return try await group.reduce(0) { $0 + ($1 ? 1 : 0) }
      }
      #expect(tellers == 1)
    },
  ]
}
