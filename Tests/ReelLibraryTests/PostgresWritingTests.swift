import Foundation
import ReelCore
import ReelTestServers
import Testing

@testable import ReelPostgres

/// What strangers say in their captions.
@Suite(.besidePostgres) struct PostgresWritingTests {
  private let sketch = Sketch()

  private func publish(_ captions: [String], to catalog: PostgresCatalog) throws -> [Post] {
    let requests = captions.map { _ in sketch.request(sketch.publication()) }
    let intents = try catalog.claim(requests, noting: []).compactMap { try $0.get().intent }
    let completions = zip(intents, captions).map {
      Completion(intent: $0, draft: sketch.draft(caption: $1), stored: sketch.stored($0))
    }
    return try catalog.complete(completions, noting: []).map { try $0.get() }
  }

  private func found(_ text: String, in catalog: PostgresCatalog) async throws -> [PostID] {
    try await catalog.newestPosts(matching: PostFilter(text: text), before: nil, limit: 100).posts.map(\.id)
  }

  @Test func noCaptionStopsThePublishing() async throws {
    let catalog = try await PostgresCatalog.open(try await TestDatabase().pool())
    let long = [
      "a" + String(repeating: "\u{FE0F}", count: 700), "ก" + String(repeating: "\u{E48}", count: 1000),
    ]
    // One letter each, to Swift: what follows the first scalar is part of it.
    let quoted = ["\u{D4E}'", "\u{D4E}\\", "\u{D4E}':1 'x", "\u{111C2}'", "\u{345}\u{301}"]
    let captions = long + quoted + [String(repeating: "x", count: 5000), "a\0b", "evening"]
    let posts = try publish(captions, to: catalog)
    #expect(posts.map(\.caption) == captions)
    #expect(try await found("evening", in: catalog) == posts.suffix(1).map(\.id))
    // They are found by what they say, too.
    for (caption, post) in zip(captions, posts) {
      #expect(try await found(caption, in: catalog).contains(post.id) || caption.contains("\0"))
    }
    try await catalog.close()
  }
}
