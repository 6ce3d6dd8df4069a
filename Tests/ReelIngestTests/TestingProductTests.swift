import Foundation
import Reel
import ReelTesting
import ReelTestSupport
import Testing

/// Tests `ReelTesting` as an app would use it: nothing else of the package is imported.
@Suite("Posts and doubles for the tests of apps", .shortTime)
struct TestingProductTests {
  @Test("a number always gives the same sample, and each number a post of its own")
  func samples() {
    #expect(Post.sample(3) == Post.sample(3))
    let posts = (1...50).map { Post.sample($0) }
    #expect(Set(posts.map(\.id)).count == 50 && Set(posts.map(\.video)).count == 50)
    #expect(posts.map(\.id) == posts.map(\.id).sorted())
    #expect(DefaultIntakePolicy().violations(in: .sample()).isEmpty)
  }

  @Test("a filled catalog pages through its posts, and knows their videos")
  func filled() async throws {
    let catalog = MemoryCatalog()
    catalog.add((1...5).map { Post.sample($0) })
    catalog.add([Post.sample(5)])
    let page = try await catalog.newestPosts(before: nil, limit: 2)
    #expect(page.posts == [Post.sample(5), Post.sample(4)] && page.next == FeedCursor(pageNumber: 4))
    #expect(try await catalog.post(Post.sample(2).id) == Post.sample(2))
    #expect(try await catalog.status().posts == 5)
    let known = Post.sample(1)
    let publication = Publication(
      digest: try #require(known.digest), destination: MemoryUploader().destination, authorID: known.authorID)
    let request = ClaimRequest(
      publication: publication, duplicates: .skip, size: 1, newID: Post.sample(9).id,
      newKey: Post.sample(9).video)
    guard case .published(let found) = try await catalog.claim(request) else {
      Issue.record("its video is not known")
      return
    }
    #expect(found == PublishedPost(post: known, announced: true))
  }

  @Test("a post with few facts can be added, and one whose video is there already is skipped")
  func filledWithLittle() async throws {
    let catalog = MemoryCatalog()
    var bare = Post.sample(1)
    (bare.digest, bare.size, bare.createdAt) = (nil, nil, nil)
    let json = String(decoding: try JSONEncoder().encode(Post.sample(2)), as: UTF8.self)
      .replacing("\(Post.sample(2).video)", with: "\(bare.video)")
    let other = try JSONDecoder().decode(Post.self, from: Data(json.utf8))
    catalog.add([bare, other, .sample(3)])
    let posts = try await catalog.newestPosts(before: nil, limit: 9).posts
    #expect(posts.map(\.id) == [Post.sample(3).id, bare.id] && posts.map(\.pageNumber) == [2, 1])
    #expect(posts.last?.createdAt != nil && posts.last?.digest == nil && posts.last?.caption == bare.caption)
    #expect(try await catalog.status().bytes == Post.sample(3).size)
  }

  @Test("doubles fail where they are told to")
  func failing() async {
    let folder = ClipFolder(["a.mp4", "b.mp4"])
    let prober = ScriptedProber { _ throws(ProbeError) in throw ProbeError(.corrupt, "it is broken") }
    let uploader = ScriptedUploader(base: MemoryUploader()) { _ throws(UploadError) in
      throw UploadError(.tooLarge, "it is too large")
    }
    let catalog = ScriptedCatalog(base: MemoryCatalog()) { call throws(CatalogError) in
      if call == .claim { throw CatalogError(.locked, "it is locked") }
    }
    // A different file for the second call, because the first file's failure is remembered.
    func code(_ services: IngestServices, _ name: String = "b.mp4") async -> FileFailure.Code? {
      guard case .failed(let failure) = await services.publish(folder.file(name)) else { return nil }
      return failure.code
    }
    let good = IngestServices(
      prober: ScriptedProber(), uploader: MemoryUploader(), catalog: MemoryCatalog())
    var (first, second, third) = (good, good, good)
    (first.prober, second.uploader, third.catalog) = (prober, uploader, catalog)
    #expect(await code(first, "a.mp4") == .probe(.corrupt) && prober.calls == 1)
    #expect(await code(second) == .upload(.tooLarge))
    #expect(await code(third) == .catalog(.locked))
    #expect(await code(good) == nil)
  }
}
