import ReelCore

extension PostCatalog {
  /// Runs T2 for one file, on a thread of its own.
  package func complete(
    _ intent: Intent, draft: PostDraft, stored: StoredObject
  ) async throws(CatalogError) -> Post {
    try await BlockingQueue(label: "reel.test.complete", width: 1).run { () throws(CatalogError) in
      try complete([Completion(intent: intent, draft: draft, stored: stored)], noting: [])[0].get()
    }
  }
}
