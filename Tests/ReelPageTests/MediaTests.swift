import Foundation
import ReelCore
import ReelTestSupport
import Testing

@testable import ReelPage

@Suite("the media of a site", .shortTime)
struct MediaTests {
  @Test(
    "the policy permits the origin of each video",
    arguments: [
      ("https://cdn.example/v/a.mp4", "https://cdn.example"),
      ("HTTPS://CDN.example:8443/v", "https://cdn.example:8443"),
      ("http://127.0.0.1:9000/b/k.mp4?x=1", "http://127.0.0.1:9000"),
      ("file:///srv/media/a.mp4", "file:"), ("media/a.mp4", nil), ("javascript:alert(1)", nil),
      // An origin that can't be written in a policy is permitted by its scheme.
      ("https://[::1]:9000/a", "https:"), ("https://cdn.example;script-src *//a", "https:"),
      ("https://'unsafe-inline'/a", "https:"), ("https:///a", "https:"),
    ] as [(String, String?)])
  func origins(url: String, source: String?) {
    #expect(MediaOrigin.source(of: url) == source)
  }

  @Test("many origins are permitted by their schemes")
  func manyOrigins() {
    let origins = Set((0..<40).map { "https://cdn\($0).example" } + ["file:"])
    #expect(MediaOrigin.sources(origins) == ["file:", "https:"])
  }

  @Test("the page's policy names all origins, including old ones")
  func policy() async throws {
    let feed = try TestFeed()
    try await feed.publish(["a", "b", "c", "d"], url: { "https://one.example/\($0)" })
    try await feed.write()
    try await feed.publish(["e"], url: { "https://two.example/\($0)" })
    try await feed.write()
    let page = try feed.text("index.html")
    #expect(page.contains("media-src 'self' https://one.example https://two.example;"))
    #expect(page.contains("script-src 'self';") && page.contains("default-src 'none';"))
  }

  @Test("videos within the site have relative addresses")
  func relative() async throws {
    let feed = try TestFeed()
    let base = CanonicalPath(resolving: feed.site).fileURL
    let posts = try await feed.publish(["a"], url: { base + "/media/\($0)" })
    let summary = try await feed.write()
    #expect(try feed.text("feed/1.json").contains("\"videoURL\":\"media/\(posts[0].video)\""))
    #expect(!summary.isLocal)
  }

  @Test("videos from a local folder are brought into the site once", arguments: [MediaPlacement.link, .copy])
  func brought(placement: MediaPlacement) async throws {
    let feed = try TestFeed()
    let store = CanonicalPath(resolving: feed.folder.path(of: "a store"))
    let posts = try await feed.publish(["a", "b"], url: { store.fileURL + "/\($0)" })
    let bytes = TestFeed.video
    try feed.folder.write(bytes, to: "a store/\(posts[0].video)")
    let summary = try await feed.write { $0.media = placement }
    #expect(summary.missing == 1)
    let name = "media/\(posts[0].video)"
    #expect(try feed.text(name).utf8.elementsEqual(bytes))
    #expect(try feed.text("feed/1.json").contains("\"videoURL\":\"\(name)\""))
    let source = try FileManager.default.attributesOfItem(atPath: store.text + "/\(posts[0].video)")
    #expect((try feed.files()[name] == source[.systemFileNumber] as? UInt64) == (placement == .link))
    let before = try feed.files()
    // The settings of the first run persist.
    #expect(try await feed.write().written == 0)
    #expect(try feed.files() == before)
  }

  @Test("videos emptied by a power failure are brought again", arguments: [MediaPlacement.link, .copy])
  func emptied(placement: MediaPlacement) async throws {
    let feed = try TestFeed()
    let store = CanonicalPath(resolving: feed.folder.path(of: "store"))
    let posts = try await feed.publish(["a", "b"], url: { store.fileURL + "/\($0)" })
    for post in posts { try feed.folder.write(TestFeed.video, to: "store/\(post.video)") }
    try await feed.write { $0.media = placement }
    let names = posts.map { "media/\($0.video)" }
    let before = try feed.files()
    // The file is replaced rather than rewritten: a linked file shares its bytes with the store.
    try FileManager.default.removeItem(atPath: feed.site + "/" + names[0])
    try feed.folder.write("".utf8, to: "site/" + names[0])
    try await feed.write { $0.all = true }
    for name in names { #expect(try feed.text(name).utf8.elementsEqual(TestFeed.video)) }
    #expect(try feed.files()[names[1]] == before[names[1]])
    #expect(try feed.files().keys == before.keys)
  }

  @Test(
    "a video counts as missing where there is no readable file, and does not affect the rest of the page",
    arguments: [MediaPlacement.link, .copy])
  func strange(placement: MediaPlacement) async throws {
    let feed = try TestFeed()
    let store = CanonicalPath(resolving: feed.folder.path(of: "store"))
    let posts = try await feed.publish(
      ["link", "folder", "pipe", "file"], url: { store.fileURL + "/\($0)" })
    let paths = posts.map { store.text + "/\($0.video)" }
    try feed.folder.write(TestFeed.video, to: "store/\(posts[3].video)")
    try FileManager.default.createSymbolicLink(atPath: paths[0], withDestinationPath: paths[3])
    try FileManager.default.createDirectory(atPath: paths[1], withIntermediateDirectories: false)
    #expect(mkfifo(paths[2], 0o600) == 0)
    #expect(try await feed.write { $0.media = placement }.missing == 3)
    let names = try feed.folder.names(in: "site/media")
    #expect(names == ["\(posts[3].video)"])
    #expect(try feed.numbers(1) + feed.numbers(2) == [1, 2, 3, 4])
  }

  @Test(
    "videos are brought only if the file matches its post", arguments: [MediaPlacement.link, .copy])
  func foreign(placement: MediaPlacement) async throws {
    let feed = try TestFeed()
    let secret = [UInt8](repeating: UInt8(ascii: "s"), count: TestFeed.video.count)
    let store = CanonicalPath(resolving: feed.folder.path(of: "store"))
    try feed.folder.write(TestFeed.video, to: "store/secret.txt")
    // The right bytes under a name other than the key, wrong bytes under the key, too many bytes, and too few.
    let posts =
      try await feed.publish(["name"], url: { _ in store.fileURL + "/secret.txt" })
      + feed.publish(["bytes", "more", "less"], url: { store.fileURL + "/\($0)" })
    try feed.folder.write(secret, to: "store/\(posts[1].video)")
    try feed.folder.write(TestFeed.video + [0], to: "store/\(posts[2].video)")
    try feed.folder.write(TestFeed.video.dropLast(), to: "store/\(posts[3].video)")
    #expect(try await feed.write { $0.media = placement }.missing == 4)
    #expect(try feed.folder.names(in: "site/media") == [])
  }

  @Test("posters are brought only if they are beside their video and are JPEGs")
  func foreignPosters() async throws {
    let feed = try TestFeed()
    let store = CanonicalPath(resolving: feed.folder.path(of: "store"))
    let elsewhere = CanonicalPath(resolving: feed.folder.path(of: "elsewhere"))
    let posts =
      try await feed.publish(
        ["beside", "text"], url: { store.fileURL + "/\($0)" }, poster: { store.fileURL + "/\($0)" })
      + feed.publish(["away"], url: { store.fileURL + "/\($0)" }, poster: { elsewhere.fileURL + "/\($0)" })
    let posters = posts.compactMap(\.poster)
    try feed.folder.write(TestFeed.poster, to: "store/\(posters[0])")
    try feed.folder.write("private".utf8, to: "store/\(posters[1])")
    try feed.folder.write(TestFeed.poster, to: "elsewhere/\(posters[2])")
    try await feed.write { $0.media = .copy }
    #expect(try feed.folder.names(in: "site/media") == ["\(posters[0])"])
  }

  @Test("missing videos are looked for until they are found", arguments: [MediaPlacement.link, .copy])
  func found(placement: MediaPlacement) async throws {
    let feed = try TestFeed()
    let store = CanonicalPath(resolving: feed.folder.path(of: "store"))
    let posts = try await feed.publish((0..<9).map { "\($0)" }, url: { store.fileURL + "/\($0)" })
    // The post is neither on the first page, which is always compared, nor on the last.
    let late = posts[4].video
    for post in posts where post.video != late {
      try feed.folder.write(TestFeed.video, to: "store/\(post.video)")
    }
    #expect(try await feed.write { $0.media = placement }.missing == 1)
    #expect(try await feed.write().missing == 1)
    try feed.folder.write(TestFeed.video, to: "store/\(late)")
    let summary = try await feed.write()
    #expect(summary.missing == 0 && !summary.isLocal)
    #expect(try feed.text("feed/2.json").contains("\"videoURL\":\"media/\(late)\""))
    #expect(try await feed.write().written == 0)
  }

  @Test(
    "a report links videos below its folder by relative addresses",
    arguments: [
      (SourcePath("clips/a b.mp4"), "clips/a%20b.mp4"), (SourcePath("./a.mp4"), "a.mp4"),
      (SourcePath("../a.mp4"), "file:///work/reports/../a.mp4"),
      (SourcePath("/srv/a.mp4"), "file:///srv/a.mp4"),
      (SourcePath("javascript:alert(1)"), "javascript%3Aalert%281%29"),
      (SourcePath(bytes: [0x61, 0xFF]), "a%FF"),
    ])
  func links(path: SourcePath, address: String) {
    let links = SourceLinks(from: "/work/reports/run.html", workingFolder: SourcePath("/work/reports"))
    #expect(links.address(of: path) == address)
  }
}
