import Foundation
import ReelCore
import ReelTestServers
import Testing

@testable import ReelPostgres

/// Captions with hostile or unusual text.
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
    // To Swift, each of these begins with one character: what follows the first scalar is part of it.
    let quoted = ["\u{D4E}'", "\u{D4E}\\", "\u{D4E}':1 'x", "\u{111C2}'", "\u{345}\u{301}"]
    let captions = long + quoted + [String(repeating: "x", count: 5000), "a\0b", "evening"]
    let posts = try publish(captions, to: catalog)
    #expect(posts.map(\.caption) == captions.map { $0.replacing("\0", with: "") })
    #expect(try await found("evening", in: catalog) == posts.suffix(1).map(\.id))
    // Searches by caption find them, too.
    for (caption, post) in zip(captions, posts) {
      #expect(try await found(caption, in: catalog).contains(post.id) || caption.contains("\0"))
    }
    try await catalog.close()
  }

  @Test("a writer migrates an older Reel's catalog; a reader can't")
  func aCatalogOfAnOlderReelIsThere() async throws {
    let (database, empty) = (try await TestDatabase(), try await TestDatabase())
    try await PostgresCatalog.open(try database.pool()).close()
    try database.connect().execute("UPDATE reel.schema_version SET version = version - 1")
    #expect(try await PostgresCatalog.isThere(try database.pool()))
    await #expect(throws: CatalogError.self) {
      _ = try await PostgresCatalog.openReadOnly(try database.pool())
    }
    #expect(try await !PostgresCatalog.isThere(try empty.pool()))
  }

  @Test func aTextWithNULEndsNothing() async throws {
    let database = try await TestDatabase()
    let sketch = Sketch()
    let catalog = try await PostgresCatalog.open(try database.pool())
    let store = Destination("file:///media")
    var posts: [Post] = []
    for _ in 0..<4 {
      posts.append(
        try #require(try await catalog.publish(sketch.request(sketch.publication()), with: sketch)))
    }
    // As an older Reel wrote them. The second has a backslash before its last u0000.
    let written = [#"a\u0000b"#, #"\u0000\u0000c \\u0000"#, "d", #"\\\u0000e"#]
    let read = ["ab", #"c \u0000"#, "d", #"\e"#]
    let db = try database.connect()
    for (post, caption) in zip(posts, written) {
      try db.run(
        "UPDATE reel.post SET document = replace(document, '\"caption\":null', '\"caption\":\"' || $2 || '\"') WHERE page_number = $1",
        [.int(Int64(post.pageNumber ?? 0)), .text(caption)])
    }
    #expect(throws: PostgresError.self) {
      _ = try db.value("SELECT count(document::jsonb) FROM reel.post", as: Int.self)
    }
    let posterless = try await catalog.postsWithoutPoster(in: store, after: 0, limit: 10)
    #expect(posterless.map(\.videoURL) == posts.map(\.videoURL))
    let requests = posts.prefix(2).map { (post: $0.id, poster: sketch.poster()) }
    let keys = try await catalog.namePosters(requests, in: store)
    let shown = try zip(requests, keys).map { request, key in
      let key = try #require(key)
      let poster = Poster(
        jpeg: [], width: 288, height: 512, blurHash: "L3F~gYof00ayayj[fQj[00fQ?bfQ", isCover: false, time: 1)
      return (
        post: request.post,
        poster: PostPoster(
          poster, stored: StoredObject(key: key, url: "file:///media/\(key)", size: 100, digest: nil))
      )
    }
    #expect(try await catalog.showPosters(shown, of: store) == [true, true])
    for (post, caption) in zip(posts.prefix(2), read) {
      #expect(try await catalog.post(post.id)?.caption == caption)
    }
    // The others are repaired by the migration.
    try db.execute(
      """
      DROP TABLE reel.removal, reel.change, reel.departure, reel.lane, reel.policy, reel.throttle, reel.item_history;
      DROP TRIGGER stay_cancelled ON reel.work;
      ALTER TABLE reel.work DROP COLUMN lane, DROP COLUMN taken_by, DROP COLUMN taken_at, DROP COLUMN policy,
        DROP COLUMN is_cancelled;
      CREATE INDEX work_waiting ON reel.work (priority DESC, item) WHERE state = 0;
      ALTER TABLE reel.item DROP COLUMN author;
      ALTER TABLE reel.worker DROP COLUMN labels, DROP COLUMN policy;
      DROP TRIGGER refuse_older ON reel.worker; ALTER TABLE reel.worker DROP COLUMN knows;
      DROP FUNCTION reel.enqueue, reel.lane_of, reel.strike_out_older, reel.refuse_older, reel.stay_cancelled;
      UPDATE reel.schema_version SET version = 4
      """)
    let later = try await PostgresCatalog.open(try database.pool())
    for (post, caption) in zip(posts, read) { #expect(try await later.post(post.id)?.caption == caption) }
    #expect(try db.value("SELECT count(document::jsonb) FROM reel.post", as: Int.self) == 4)
    try await later.close()
    try await catalog.close()
  }

  @Test func aTextWithNULIsWrittenWithout() async throws {
    try await Self.checkNUL(in: try await SQLiteStage())
  }

  @Test(.besidePostgres) func aTextWithNULIsWrittenToAServerWithout() async throws {
    try await Self.checkNUL(in: try await PostgresStage())
  }

  private static func checkNUL(in stage: any CatalogStage) async throws {
    let (sketch, catalog) = (Sketch(), try await stage.open())
    #expect(PostMetadata(authorID: "\0", authorName: "a\0", caption: "\0b\0", music: "").authorID == nil)
    let intent = try #require(try await catalog.claim(sketch.request(sketch.publication())).intent)
    var draft = sketch.draft()
    draft.metadata.caption = "a\0b"
    draft.metadata.authorName = "\0"
    draft.sourceName = "c\0.mp4"
    let post = try await catalog.complete(intent, draft: draft, stored: sketch.stored(intent))
    #expect(post.caption == "ab" && post.authorName == nil && post.sourceName == "c.mp4")
    #expect(try await catalog.post(post.id) == post)
    try await catalog.close()
  }
}
