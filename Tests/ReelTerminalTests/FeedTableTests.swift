import ReelCore
import ReelTerminal
import ReelTestSupport
import Testing

@Suite struct FeedTableTests {
  private func page() throws -> FeedPage {
    let long = String(repeating: "日本語のとても長い", count: 5)
    return FeedPage(
      posts: [try Samples.post(), try Samples.post(metadata: PostMetadata(caption: long), place: 9)],
      next: FeedCursor(pageNumber: 9))
  }

  private func lines(_ columns: Int?) throws -> [String] {
    FeedTable.text(try page(), size: 2, in: "/lib", TerminalTraits(columns: columns)).split(separator: "\n")
      .map(
        String.init)
  }

  @Test func at80Columns() throws {
    #expect(
      try lines(80) == [
        "    id                                         size  length  caption",
        "12  018f33a3-02fa-7707-8707-070707070707  1080×1920  12.5 s  At the beach",
        " 9  018f33a3-02fa-7707-8707-070707070707  1080×1920  12.5 s  日本語のとても長い…",
        "Next page: reel feed --before 9 --size 2",
      ])
  }

  @Test func at40Columns() throws {
    #expect(
      try lines(40) == [
        "12  At the beach                  12.5 s",
        "  018f33a3-02fa-7707-8707-070707070707",
        "9  日本語のとても長い日本語のと…  12.5 s",
        "  018f33a3-02fa-7707-8707-070707070707",
        "Next page: reel feed --before 9 --size 2",
      ])
  }

  @Test func withoutALimitNothingIsCut() throws {
    let lines = try lines(nil)
    #expect(
      lines[0]
        == "    id                                    posted (UTC)           size  length  by   caption")
    #expect(
      lines[1]
        == "12  018f33a3-02fa-7707-8707-070707070707  2024-05-01 10:11  1080×1920  12.5 s  Ann  At the beach")
    #expect(lines[2].hasSuffix(String(repeating: "日本語のとても長い", count: 5)))
  }

  @Test func theLastPageAndAnEmptyOne() throws {
    let last = FeedTable.text(
      FeedPage(posts: [try Samples.post()], next: nil), in: "/lib", TerminalTraits(columns: 80))
    #expect(!last.contains("Next page"))
    let empty = FeedTable.text(FeedPage(posts: [], next: nil), in: "/lib", TerminalTraits(columns: 80))
    #expect(empty == "No posts in /lib. To add some: reel ingest FOLDER\n")
    let hint = CommandHint(library: "lib")
    let next = FeedTable.text(try page(), size: 2, in: "/lib", hint: hint, TerminalTraits(columns: 80))
    #expect(next.hasSuffix("Next page: reel feed --library lib --before 9 --size 2\n"))
  }

  @Test func byPageNumber() throws {
    let hint = CommandHint(library: "lib")
    let text = FeedTable.text(
      try page(), order: .oldest(from: 3, last: 30), size: 6, in: "/lib", hint: hint,
      TerminalTraits(columns: 80))
    #expect(text.hasSuffix("Next page: reel feed --library lib --from 9 --size 6\n"))
    let none = FeedPage(posts: [], next: nil)
    func told(_ order: FeedTable.Order) -> String {
      FeedTable.text(none, order: order, in: "/lib", TerminalTraits(columns: 80))
    }
    #expect(told(.oldest(from: 100, last: 30)) == "No posts from number 100 on: the last one is 30.\n")
    #expect(told(.oldest(from: 3, last: 30)) == "No posts have these numbers.\n")
    #expect(told(.oldest(from: 3, last: nil)).hasPrefix("No posts in /lib."))
    #expect(told(.newest(before: FeedCursor(pageNumber: 1))) == "No posts before number 1.\n")
  }

  @Test func asJSON() throws {
    let json = try JSONOutput.decode(
      JSONValue.self, from: try AnswerDocument(FeedDocument(try page())).json(pretty: true).utf8)
    #expect(json["v"] == .integer(1))
    #expect(json["next"] == .string("9"))
    #expect(json["posts"]?.elements.first?["autherName"] == .string("Ann"))
    #expect(json["posts"]?.elements.first?["createdAt"] == .string("2024-05-01T10:11:12.250Z"))
    let last = try AnswerDocument(FeedDocument(FeedPage(posts: [], next: nil))).json()
    #expect(last == #"{"next":null,"ok":true,"posts":[],"problems":[],"v":1}"# + "\n")
  }
}
