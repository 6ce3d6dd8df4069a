import ReelCore
import Testing

extension PostCatalogContractTests {
  /// Runs `body` in a task that has been cancelled before it begins.
  private static func cancelled<Value: Sendable>(
    _ body: @escaping @Sendable () async throws -> Value
  ) async throws -> Value {
    let task = Task {
      while !Task.isCancelled { await Task.yield() }
      return try await body()
    }
    task.cancel()
    return try await task.value
  }

  static let ending = [
    CatalogContractTest("a cancelled task claims and reads nothing") { stage in
      let catalog = try await stage.open()
      let sketch = Sketch()
      let request = sketch.request(sketch.publication())
      await expect(.cancelled) { try await cancelled { _ = try await catalog.claim(request) } }
      await expect(.cancelled) { try await cancelled { _ = try await catalog.post(request.newID) } }
      await expect(.cancelled) {
        try await cancelled { _ = try await catalog.newestPosts(before: nil, limit: 3) }
      }
      #expect(try await catalog.claim(request).intent?.attempt == 1)
    },
    CatalogContractTest("a cancelled task can still complete, release and close") { stage in
      let catalog = try await stage.open()
      let sketch = Sketch()
      let done = try #require(try await catalog.claim(sketch.request(sketch.publication())).intent)
      let given = try #require(try await catalog.claim(sketch.request(sketch.publication())).intent)
      let post = try await cancelled {
        try await catalog.complete(done, draft: sketch.draft(), stored: sketch.stored(done))
      }
      try await cancelled { try await catalog.release(given, because: .retryLater) }
      #expect(try await catalog.post(post.id) == post)
      #expect(try await catalog.claim(sketch.request(given.publication)).intent?.attempt == 2)
      try await cancelled { try await catalog.close() }
      let next = try await stage.open()
      #expect(try await next.claim(sketch.request(given.publication)).intent?.attempt == 3)
    },
    CatalogContractTest("every grant reaches its caller, no matter when the task is cancelled") { stage in
      let catalog = try await stage.open()
      let sketch = Sketch()
      let publication = sketch.publication()
      for round in 0..<40 {
        let task = Task { try await catalog.claim(sketch.request(publication)) }
        for _ in 0..<round { await Task.yield() }
        task.cancel()
        switch await task.result {
        case .success(let claim):
          try await catalog.release(try #require(claim.intent), because: .retryLater)
        case .failure(let error): #expect((error as? CatalogError)?.code == .cancelled)
        }
      }
      #expect(try await catalog.claim(sketch.request(publication)).intent != nil)
    },
    CatalogContractTest("closing releases what is held, and keeps what was remembered") { stage in
      let (first, second) = (try await stage.open(), try await stage.open())
      let sketch = Sketch()
      let publication = sketch.publication()
      let failure = FailureRecord(code: "c", message: "m", refused: true, at: stage.clock.now())
      _ = try await first.claim(sketch.request(publication))
      await first.remember(failure, at: SourcePath("/f"))
      #expect(try await second.claim(sketch.request(publication)).isHeld)
      try await first.close()
      #expect(try await second.claim(sketch.request(publication)).intent?.attempt == 2)
      #expect(try await second.status().failures.map(\.failure) == [failure])
    },
    CatalogContractTest("closing during other calls leaves none of them waiting") { stage in
      let sketch = Sketch()
      for _ in 0..<5 {
        let catalog = try await stage.open()
        await withTaskGroup { group in
          for index in 0..<60 {
            group.addTask {
              do {
                let post = try await catalog.publish(sketch.request(sketch.publication()), with: sketch)
                if let post { _ = try await catalog.post(post.id) }
              } catch {
                let code = (error as? CatalogError)?.code
                #expect(code == .unusable || code == .leaseLost)
              }
            }
            if index == 20 { group.addTask { try? await catalog.close() } }
          }
        }
      }
    },
    CatalogContractTest("calls to a closed catalog fail, except closing it again") { stage in
      let catalog = try await stage.open()
      let sketch = Sketch()
      let request = sketch.request(sketch.publication())
      try await catalog.close()
      try await catalog.close()
      await expect(.unusable) { _ = try await catalog.claim(request) }
      await expect(.unusable) { _ = try catalog.published(request.publication) }
      await expect(.unusable) { _ = try await catalog.status() }
      await catalog.announced([request.newID])
      await catalog.remember(nil, at: SourcePath("/f"))
    },
  ]
}
