import Foundation
import ReelCore
import ReelTestSupport
import Testing

@testable import ReelPage

@Suite("the files of a site to be copied elsewhere", .shortTime)
struct SiteFilesTests {
  private func writer(_ feed: TestFeed) throws -> SiteWriter {
    var options = SiteOptions()
    options.size = 3
    return try SiteWriter(
      at: CanonicalPath(resolving: feed.site), from: feed.catalog, options: options, width: 2)
  }

  @Test(
    "all files are returned, the index after its pages and the page itself last", arguments: [0, 1, 3, 7])
  func order(count: Int) async throws {
    let feed = try TestFeed()
    try await feed.publish((0..<count).map { "post \($0)" })
    try await feed.write()
    let writer = try writer(feed)
    let steps = try writer.files().map { $0.map(\.name) }
    #expect(Set(steps.joined()) == Set(try feed.files().keys))
    #expect(steps.joined().count == Set(steps.joined()).count)
    #expect(steps.suffix(2) == [["feed/index.js", "feed/index.json"], ["index.html"]])
    for name in steps.joined() {
      #expect(try writer.bytes(of: name) == Array(try feed.text(name).utf8))
    }
  }

  @Test("files have the types that browsers expect, and are revalidated if their bytes may change")
  func types() async throws {
    let feed = try TestFeed()
    try await feed.publish((0..<7).map { "post \($0)" })
    try await feed.write()
    let files = try writer(feed).files().joined()
    let types = Dictionary(uniqueKeysWithValues: files.map { ($0.name, $0.contentType) })
    #expect(types["index.html"] == "text/html; charset=utf-8")
    #expect(types["style.css"] == "text/css; charset=utf-8")
    #expect(types["script.js"] == "text/javascript; charset=utf-8")
    #expect(types["feed/1.js"] == "text/javascript; charset=utf-8")
    #expect(types["feed/1.json"] == "application/json" && types["feed/index.json"] == "application/json")
    #expect(types["icon.svg"] == "image/svg+xml")
    // Two of three pages are full.
    let kept = files.filter { $0.cacheControl != "no-cache" }
    #expect(Set(kept.map(\.name)) == ["feed/1.js", "feed/1.json", "feed/2.js", "feed/2.json"])
    #expect(kept.allSatisfy { $0.cacheControl == "max-age=3600" })
  }

  @Test("a missing file is reported with what to do")
  func missing() async throws {
    let feed = try TestFeed()
    try await feed.publish(["a"])
    try await feed.write()
    let writer = try writer(feed)
    try FileManager.default.removeItem(atPath: feed.site + "/feed/1.js")
    let error = #expect(throws: SiteError.self) { try writer.bytes(of: "feed/1.js") }
    #expect(error?.message.contains("feed/1.js is missing") == true)
    #expect(error?.message.contains("--all") == true)
  }

  @Test(
    "former pages are recognized by their names",
    arguments: [
      ("feed/9.js", true), ("feed/10.json", true), ("feed/index.json", false), ("feed/0.js", false),
      ("feed/09.js", false), ("feed/+9.js", false), ("feed/9.jsx", false), ("feed/9", false),
      ("feed/a/9.js", false), ("9.js", false), ("media/9.js", false), ("feed/9.js.json", false),
    ])
  func former(name: String, isOne: Bool) {
    #expect(SiteWriter.isFormerPage(name) == isOne)
  }

  @Test("the posts' videos and posters in the site's folders are included, but no other files there")
  func media() async throws {
    let feed = try TestFeed()
    let base = CanonicalPath(resolving: feed.site).fileURL
    let own = try await feed.publish(
      ["a", "b"], url: { base + "/media/2026/\($0)" }, poster: { base + "/media/2026/\($0)" })
    let outside = try await feed.publish(["c"], url: { base + "/../\($0)" })
    let hidden = try await feed.publish(["d"], url: { base + "/media/.hidden/\($0)" })
    let linked = try await feed.publish(["e"], url: { base + "/media/\($0)" })
    let inLinkedFolder = try await feed.publish(["f"], url: { base + "/link/\($0)" })
    let short = try await feed.publish(["g"], url: { base + "/media/\($0)" })
    try await feed.write()
    var names: [String] = []
    for post in own {
      names.append("media/2026/\(post.video)")
      try feed.folder.write(TestFeed.video, to: "site/media/2026/\(post.video)")
      let poster = try #require(post.poster)
      names.append("media/2026/\(poster)")
      try feed.folder.write([0xFF, 0xD8, 0xFF], to: "site/media/2026/\(poster)")
    }
    try feed.folder.write(TestFeed.video, to: "\(outside[0].video)")
    try feed.folder.write(TestFeed.video, to: "site/media/.hidden/\(hidden[0].video)")
    try feed.folder.write(TestFeed.video, to: "elsewhere/\(linked[0].video)")
    try feed.folder.write(TestFeed.video, to: "elsewhere/\(inLinkedFolder[0].video)")
    try FileManager.default.createSymbolicLink(
      atPath: feed.site + "/media/\(linked[0].video)",
      withDestinationPath: feed.folder.path(of: "elsewhere/\(linked[0].video)"))
    try FileManager.default.createSymbolicLink(
      atPath: feed.site + "/link", withDestinationPath: feed.folder.path(of: "elsewhere"))
    try feed.folder.write([1], to: "site/media/\(short[0].video)")
    // This name has the form of an object's name, but belongs to no post.
    try feed.folder.write(TestFeed.video, to: "site/media/abcdefghijklmnopqrstuv.mp4")
    try feed.folder.write(TestFeed.video, to: "site/media/notes.txt")
    let media = try writer(feed).media()
    #expect(Set(media.map { "\($0.folder)/\($0.key)" }) == Set(names))
    #expect(media.allSatisfy { FileManager.default.fileExists(atPath: $0.path) })
  }

  @Test("links in the site's folder are not followed")
  func links() async throws {
    let feed = try TestFeed()
    try await feed.publish(["a"])
    try await feed.write()
    let writer = try writer(feed)
    try feed.folder.write("secret".utf8, to: "secret")
    for name in ["index.html", "feed/1.json"] {
      try FileManager.default.removeItem(atPath: feed.site + "/" + name)
      try FileManager.default.createSymbolicLink(
        atPath: feed.site + "/" + name, withDestinationPath: feed.folder.path(of: "secret"))
      #expect(throws: SiteError.self) { try writer.bytes(of: name) }
    }
  }
}
