import Foundation
import ReelCore
import ReelLibrary
import ReelTestSupport
import Testing

@testable import ReelPage

@Suite("a site", .shortTime)
struct SiteTests {
  @Test("a site has every post once, the oldest on the first page", arguments: [0, 1, 2, 3, 4, 6, 7, 100])
  func pages(count: Int) async throws {
    let feed = try TestFeed()
    try await feed.publish((0..<count).map { "post \($0)" })
    let summary = try await feed.write()
    #expect(summary.posts == count && summary.added == count)
    let pages = (count + 2) / 3
    let found = try (0..<pages).flatMap { try feed.numbers($0 + 1) }
    #expect(found == Array(1..<count + 1))
    #expect(try feed.files().keys.count == 6 + 2 * pages)
    let index = try feed.index()
    #expect(index.count == count && index.pages == pages && index.size == 3)
  }

  @Test("a site that is written again is unchanged, and a new post changes only its page and the index")
  func again() async throws {
    let feed = try TestFeed()
    try await feed.publish((0..<8).map { "post \($0)" })
    try await feed.write { $0.title = "Harbour" }
    let before = try feed.files()
    #expect(try await feed.write { $0.size = nil }.written == 0)
    #expect(try await feed.write { $0.all = true }.written == 0)
    #expect(try feed.files() == before)

    try await feed.publish(["one more"])
    let summary = try await feed.write { $0.size = nil }
    #expect(summary.added == 1 && summary.written == 4)
    let after = try feed.files()
    let changed = Set(after.keys.filter { after[$0] != before[$0] })
    #expect(changed == ["feed/3.json", "feed/3.js", "feed/index.json", "feed/index.js"])
    #expect(try feed.numbers(3) == [7, 8, 9])
    #expect(try feed.text("index.html").contains("<title>Harbour</title>"))

    try await feed.publish(["on a page of its own"])
    #expect(try await feed.write().written == 4)
    #expect(try feed.numbers(4) == [10])
  }

  @Test("a new page size replaces all pages, and caches are told")
  func otherSize() async throws {
    let feed = try TestFeed()
    try await feed.publish((0..<10).map { "post \($0)" })
    try await feed.write { $0.size = 2 }
    // No post is removed: each is on another page.
    #expect(try await feed.write { $0.size = 5 }.removed == 0)
    let pages = try feed.files().keys.filter { $0.hasSuffix(".json") }.sorted()
    #expect(pages == ["feed/1.json", "feed/2.json", "feed/index.json"])
    #expect(try feed.index().revision == 1)
  }

  @Test(
    "a site is completed after an interrupted run",
    arguments: ["feed/index.json", "feed/2.json", "feed/index.js"])
  func cutShort(lost: String) async throws {
    let feed = try TestFeed()
    try await feed.publish((0..<7).map { "post \($0)" })
    try await feed.write()
    let whole = try feed.text(lost)
    // The index is written last, so anything lost before it was due to be rewritten.
    try FileManager.default.removeItem(atPath: feed.site + "/feed/index.json")
    if lost != "feed/index.json" { try FileManager.default.removeItem(atPath: feed.site + "/" + lost) }
    try Data("half".utf8).write(to: URL(filePath: feed.site + "/feed/index.json"))
    try await feed.write()
    // No cache may take the new pages for those of the lost index.
    let revision =
      try #require(
        try JSONSerialization.jsonObject(with: Data(try feed.text("feed/index.json").utf8)) as? [String: Any]
      )["revision"] as? Int
    #expect(try #require(revision) > 1_700_000_000)
    let text = try feed.text(lost).replacing("\"revision\":\(try #require(revision))", with: "\"revision\":0")
    #expect(text == whole)
  }

  @Test(
    "a site whose pages have all changed is completed after an interrupted run, and caches are told",
    arguments: ["feed/2.json", "feed/3.js", "index.html", "feed/index.js"])
  func rewritingCutShort(last: String) async throws {
    let feed = try TestFeed()
    try await feed.publish((0..<9).map { "post \($0)" })
    try await feed.write()
    // As before the store moved.
    for page in 1...3 {
      for name in ["feed/\(page).json", "feed/\(page).js"] {
        try feed.replace("cdn.example", with: "old.example", in: name)
      }
    }
    // The run fails at a folder that is in the way.
    let (name, aside) = (feed.site + "/" + last, feed.folder.path(of: "aside"))
    try FileManager.default.moveItem(atPath: name, toPath: aside)
    try feed.folder.write("".utf8, to: "site/" + last + "/in the way")
    await #expect(throws: SiteError.self) { try await feed.write() }
    try FileManager.default.removeItem(atPath: name)
    try FileManager.default.moveItem(atPath: aside, toPath: name)

    try await feed.write()
    for page in 1...3 {
      #expect(try !feed.text("feed/\(page).json").contains("old.example"))
      #expect(try !feed.text("feed/\(page).js").contains("old.example"))
    }
    #expect(try feed.index().revision == 1)
    #expect(try await feed.write().written == 0)
    #expect(try feed.index().revision == 1)
    #expect(try feed.files().count == 12)
  }

  @Test("a site keeps no page of a killed run, however many it wrote")
  func superfluous() async throws {
    let feed = try TestFeed()
    try await feed.publish((0..<4).map { "post \($0)" })
    try await feed.write()
    let names = try feed.folder.names(in: "site/feed")
    for name in ["3.json", "3.js", "40.js"] { try feed.folder.write("old".utf8, to: "site/feed/" + name) }
    try feed.folder.write("mine".utf8, to: "site/feed/notes.json")
    try await feed.write { $0.all = true }
    #expect(try feed.folder.names(in: "site/feed") == (names + ["notes.json"]).sorted())
  }

  @Test("a site of another library is left alone unless all of it is to be rewritten")
  func otherLibrary() async throws {
    let feed = try TestFeed()
    try await feed.publish(["a", "b", "c", "d"])
    try await feed.write()
    let before = try feed.files()
    let fewer = MemoryCatalog()
    await #expect(throws: SiteError.self) {
      try await feed.writer(SiteOptions(), from: fewer).run()
    }
    #expect(try feed.files() == before)
    var options = SiteOptions()
    options.all = true
    #expect(try await feed.writer(options, from: fewer).run().posts == 0)
    #expect(try feed.index().revision == 1)
    #expect(
      try feed.files().keys.filter { $0.hasPrefix("feed/") }.sorted() == ["feed/index.js", "feed/index.json"])

    // As many posts, but different ones.
    let other = try TestFeed(seed: 2)
    try await other.publish(["z", "a", "b", "c", "d"])
    try await feed.write()
    await #expect(throws: SiteError.self) {
      try await feed.writer(SiteOptions(), from: other.catalog).run()
    }
  }

  @Test("a site is not written into a folder with other contents, nor by two processes at once")
  func foreign() async throws {
    let feed = try TestFeed()
    try feed.folder.write("mine".utf8, to: "site/index.html")
    await #expect(throws: SiteError.self) { try await feed.write() }
    #expect(try feed.files().keys.sorted() == ["index.html"])

    let other = try TestFeed()
    try other.folder.write("a video".utf8, to: "site/media/clip.mp4")
    try await other.write()
    let path = CanonicalPath(resolving: other.site)
    let held = try SiteFolder(path)
    // The refused process leaves the partly written file alone.
    let isKept = try held.replace("feed/2.json", isDurable: false) { file throws(SystemError) in
      #expect(throws: SiteError.self) { try SiteFolder(path) }
      try file.write(all: Array("whole".utf8))
      return true
    }
    #expect(isKept)
    #expect(try other.text("feed/2.json") == "whole")
    #expect(try held.write(Array("more".utf8), to: "feed/3.json", isDurable: false) == .made)
  }

  @Test("a site shows posts that have changed since, such as those of a store that was moved")
  func changed() async throws {
    let feed = try TestFeed()
    try await feed.publish((0..<9).map { "post \($0)" })
    try await feed.write()
    try feed.replace("cdn.example", with: "old.example", in: "feed/1.json")
    #expect(try await feed.write().written > 0)
    #expect(try !feed.text("feed/1.json").contains("old.example"))
  }

  @Test(
    "caches are told about a changed page unless it has only grown",
    arguments: [(1, 0, 1), (2, 0, 1), (2, 1, 0), (3, 0, 1), (3, 1, 1), (5, 0, 1), (5, 1, 0)])
  func revision(count: Int, added: Int, revision: Int) async throws {
    let feed = try TestFeed()
    try await feed.publish((0..<count).map { "post \($0)" })
    try await feed.write()
    try await feed.publish((0..<added).map { "new post \($0)" })
    let last = (count + 2) / 3
    try feed.replace("cdn.example", with: "old.example", in: "feed/\(last).json")
    try await feed.write { $0.all = true }
    #expect(try !feed.text("feed/\(last).json").contains("old.example"))
    #expect(try feed.index().revision == revision)
  }
}

@Suite("numbers without posts in a site's index")
struct SiteGapTests {
  @Test(
    "the gaps in the index match its pages, whatever was added and removed between two runs",
    arguments: 1...12 as ClosedRange<UInt64>)
  func gaps(seed: UInt64) async throws {
    let feed = try TestFeed(seed: seed)
    let randomness = SeededRandomness(seed: seed)
    func upTo(_ most: Int) -> Int { Int(randomness.bytes(1)[0]) % (most + 1) }
    var there: [Int: PostID] = [:]
    for _ in 0..<8 {
      for post in try await feed.publish(Array(repeating: nil, count: upTo(9))) {
        there[try #require(post.pageNumber)] = post.id
      }
      for _ in 0..<min(there.count, upTo(6)) {
        let numbers = there.keys.sorted()
        let number = numbers[upTo(numbers.count - 1)]
        let removal = Removal(
          reason: nil, by: nil, at: Date(timeIntervalSince1970: 1_700_000_000), keptUntil: nil)
        guard
          case .begun(let change) = try feed.catalog.begin([
            PostChange(try #require(there[number]), .removal(removal))
          ]).first
        else { throw Problem() }
        _ = try feed.catalog.finish([change])
        try feed.catalog.strikeOut([change])
        there[number] = nil
      }
      let summary = try await feed.write()
      let index = try feed.index()
      let gaps = Set((index.gaps ?? []).flatMap(Array.init))
      #expect(Set(1..<index.count + 1).subtracting(gaps) == Set(there.keys))
      #expect(index.gaps?.reduce(0) { $0 + $1.count } == gaps.count && index.isPlausible)
      #expect(summary.posts == there.count && index.posts == there.count)
      let shown = try (0..<index.pages).flatMap { try feed.numbers($0 + 1) }
      #expect(shown == there.keys.sorted())
    }
  }

  @Test(
    "invalid gaps are discarded",
    arguments: [
      "[[0,1]]", "[[2,1]]", "[[1,2],[2,3]]", "[[3,4],[1,1]]", "[[1,7]]", "[[1]]", "[[1,9223372036854775807]]",
    ])
  func damaged(gaps: String) async throws {
    let feed = try TestFeed()
    try await feed.publish(Array(repeating: nil, count: 7))
    try await feed.write()
    try feed.replace("\"gaps\":[]", with: "\"gaps\":\(gaps)", in: "feed/index.json")
    try await feed.write()
    #expect(try feed.index().gaps == [])
  }

  private struct Problem: Error {}
}
