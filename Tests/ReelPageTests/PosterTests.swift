import Foundation
import ReelCore
import ReelTestSupport
import Testing

@testable import ReelPage

@Suite("the posters of a site", .shortTime)
struct PosterTests {
  @Test("the policy permits the origins of posters, including old ones")
  func policy() async throws {
    let feed = try TestFeed()
    try await feed.publish(
      ["a", "b", "c"], url: { "https://videos.example/\($0)" }, poster: { "https://posters.example/\($0)" })
    try await feed.write()
    try await feed.publish(["d"], poster: { "https://others.example/\($0)" })
    try await feed.write()
    let policy = try #require(try feed.text("index.html").firstMatch(of: /img-src ([^;]*);/)?.output.1)
    let sources = Set(policy.split(separator: " "))
    #expect(sources.isSuperset(of: ["'self'", "https://posters.example", "https://others.example"]))
    let post = try feed.post(0, on: 1)
    #expect((post["posterURL"] as? String)?.hasPrefix("https://posters.example/") == true)
    #expect(post["posterWidth"] as? Int == 16 && post["posterHeight"] as? Int == 9)
    #expect(post["blurHash"] as? String == TestFeed.blurHash)
  }

  @Test("posters within the site have relative addresses")
  func relative() async throws {
    let feed = try TestFeed()
    let base = CanonicalPath(resolving: feed.site).fileURL
    let posts = try await feed.publish(["a"], poster: { base + "/media/\($0)" })
    let summary = try await feed.write()
    let key = try #require(posts[0].poster)
    #expect(try feed.post(0, on: 1)["posterURL"] as? String == "media/\(key)")
    #expect(!summary.isLocal)
  }

  @Test("posters on this machine are permitted, and the summary says so", arguments: [true, false])
  func inPlace(hasPoster: Bool) async throws {
    let feed = try TestFeed()
    try await feed.publish(["a"], poster: hasPoster ? { "file:///store/\($0)" } : nil)
    #expect(try await feed.write().isLocal == hasPoster)
    #expect(try feed.text("index.html").contains("img-src 'self' file:") == hasPoster)
  }

  @Test(
    "posters from a local folder are brought into the site once", arguments: [MediaPlacement.link, .copy])
  func brought(placement: MediaPlacement) async throws {
    let feed = try TestFeed()
    let store = CanonicalPath(resolving: feed.folder.path(of: "a store"))
    let posts = try await feed.publish(
      ["a"], url: { store.fileURL + "/\($0)" }, poster: { store.fileURL + "/\($0)" })
    let key = try #require(posts[0].poster)
    try feed.folder.write(TestFeed.video, to: "a store/\(posts[0].video)")
    try feed.folder.write(TestFeed.poster, to: "a store/\(key)")
    let summary = try await feed.write { $0.media = placement }
    #expect(summary.missing == 0 && !summary.isLocal)
    #expect(try feed.bytes("media/\(key)") == TestFeed.poster)
    #expect(try feed.post(0, on: 1)["posterURL"] as? String == "media/\(key)")
    let before = try feed.files()
    #expect(try await feed.write().written == 0)
    #expect(try feed.files() == before)
    // A poster emptied by a power failure is replaced, not rewritten.
    try FileManager.default.removeItem(atPath: feed.site + "/media/\(key)")
    try feed.folder.write("".utf8, to: "site/media/\(key)")
    try await feed.write { $0.all = true }
    #expect(try feed.bytes("media/\(key)") == TestFeed.poster)
  }

  @Test(
    "for a missing poster the blurHash remains, and the poster is not looked for again",
    arguments: [MediaPlacement.link, .copy])
  func gone(placement: MediaPlacement) async throws {
    let feed = try TestFeed()
    let store = CanonicalPath(resolving: feed.folder.path(of: "store"))
    let posts = try await feed.publish(
      ["a", "b"], url: { store.fileURL + "/\($0)" }, poster: { store.fileURL + "/\($0)" })
    let kept = try #require(posts[1].poster)
    for post in posts { try feed.folder.write(TestFeed.video, to: "store/\(post.video)") }
    try feed.folder.write(TestFeed.poster, to: "store/\(kept)")
    let summary = try await feed.write { $0.media = placement }
    #expect(summary.missing == 0 && !summary.isLocal)
    #expect(
      try Set(feed.folder.names(in: "site/media")) == Set((posts.map(\.video) + [kept]).map { "\($0)" }))
    let post = try feed.post(0, on: 1)
    #expect(post["posterURL"] is NSNull)
    #expect(post["blurHash"] as? String == TestFeed.blurHash && post["posterWidth"] as? Int == 16)
    #expect(try feed.post(1, on: 1)["posterURL"] as? String == "media/\(kept)")
    #expect(try await feed.write().written == 0)
  }

  /// Removes the address of a post's poster from a page, as if it had been unknown.
  private static func forgetPoster(of post: Post, on page: Int, in feed: TestFeed) throws {
    let url = try #require(post.posterURL)
    for name in ["feed/\(page).json", "feed/\(page).js"] {
      #expect(try feed.text(name).contains("\"posterURL\":\"\(url)\""))
      try feed.replace("\"posterURL\":\"\(url)\"", with: "\"posterURL\":null", in: name)
    }
  }

  @Test(
    "a poster made later for an old post is shown when all files are checked, and only its page is written")
  func later() async throws {
    let feed = try TestFeed()
    let posts = try await feed.publish(
      (0..<9).map { "post \($0)" }, poster: { "https://posters.example/\($0)" })
    try await feed.write()
    // As before the poster was made.
    try Self.forgetPoster(of: posts[4], on: 2, in: feed)
    let before = try feed.files()
    #expect(try await feed.write { $0.all = true }.written == 4)
    let after = try feed.files()
    #expect(
      Set(after.keys.filter { after[$0] != before[$0] })
        == ["feed/2.json", "feed/2.js", "feed/index.json", "feed/index.js"])
    #expect(try feed.post(1, on: 2)["posterURL"] as? String == posts[4].posterURL)
    // Caches hold the page under its old address.
    #expect(try feed.index().revision == 1)
  }

  @Test("a poster made later on the first page makes all pages be checked")
  func noticed() async throws {
    let feed = try TestFeed()
    let posts = try await feed.publish(
      (0..<9).map { "post \($0)" }, poster: { "https://posters.example/\($0)" })
    try await feed.write()
    for (post, page) in [(posts[1], 1), (posts[4], 2)] {
      try Self.forgetPoster(of: post, on: page, in: feed)
    }
    try await feed.write()
    #expect(try feed.post(1, on: 1)["posterURL"] as? String == posts[1].posterURL)
    #expect(try feed.post(1, on: 2)["posterURL"] as? String == posts[4].posterURL)
  }
}
