import FoundationEssentials
import ReelCore
import ReelTerminal
import ReelTestSupport
import Testing

@Suite struct PostTableTests {
  private func post(_ caption: String?, author: String? = nil) throws -> Post {
    try Samples.post(metadata: PostMetadata(authorName: author, caption: caption))
  }

  private func caption(_ text: String?, raw: Bool = false) throws -> String {
    let table = PostTable(.csv, raw: raw)
    let rows = try #require(Self.rows(of: table.header + (try table.text([try post(text)]))))
    let column = try #require(rows[0].firstIndex(of: "caption"))
    #expect(rows.count == 2 && rows[0].count == rows[1].count)
    return rows[1][column]
  }

  @Test func everyKeyOfAPostHasAColumn() throws {
    let header = try #require(Self.rows(of: PostTable(.csv).header)?.first)
    let post = try JSONOutput.decode(JSONValue.self, from: try JSONOutput.text(try post("x")).utf8)
    #expect(Set(header).count == header.count)
    #expect(
      Set(header)
        == Set(post.members.keys).subtracting(["probe"]).union(
          (post["probe"]?.members.keys ?? [:].keys).map { "probe." + $0 }))
  }

  @Test(arguments: [
    "Harbour, at dawn", "say \"hi\"", "two\nlines", "two\r\nlines", " blanks ", "", "日本語 \u{1F1EF}\u{1F1F5}",
    "a;b", "'x", "a\"\u{301}b",
  ])
  func textsComeBack(text: String) throws {
    #expect(try caption(text) == text)
    #expect(try caption(nil) == "")
  }

  @Test(arguments: ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "＝1", "=HYPERLINK(\"http://x\",\"y\")"])
  func aFormulaIsMadeAText(text: String) throws {
    #expect(try caption(text) == "'" + text)
    #expect(try caption(text, raw: true) == text)
  }

  @Test(arguments: [
    ";", "\t", ";\t", "=", "a;=1+1;b", "x\t=2", "x\n@SUM(A1)", "x;\"=1\"", "x; =1", ";-1", ";+cmd", "a\r=b",
    ";=1", "\n=1", "\t;=1",
  ])
  func noCellBeginsWithAFormula(text: String) throws {
    let table = PostTable(.csv)
    let csv = table.header + (try table.text([try post(text, author: text)]))
    // A reader with other separators recognizes quotes at most at the beginning of a cell.
    for separators in [";", "\t", ";\t", ",", ",;\t"] {
      for cell in csv.split(whereSeparator: { separators.contains($0) || $0.isNewline }) {
        let begin = cell.drop { $0 == "\"" || $0 == " " }.first
        let isNumber = Double(cell) != nil
        #expect(isNumber || !(begin.map { "=+-@".contains($0) } ?? false), "\(text): \(cell)")
      }
    }
    // A single field for readers of RFC 4180, quoted if it contains another separator.
    #expect(try caption(text).replacing("'", with: "") == text)
    if text.contains(where: { ";\t".contains($0) }) {
      #expect(
        try PostTable(.csv, raw: true).text([try post(text)]).contains(
          "\"\(text.replacing("\"", with: "\"\""))\""))
    }
  }

  @Test(arguments: ["nice ;-)", "a - b", "one; two", "1;2", "mail@host;x@host", "- not a list;- nor this"])
  func textsStay(text: String) throws {
    #expect(try caption(text).trimmingPrefix("'") == text)
  }

  @Test func numbersAreNumbers() throws {
    var post = try post("x")
    post.likeCount = -3
    let rows = try #require(Self.rows(of: PostTable(.csv).header + (try PostTable(.csv).text([post]))))
    #expect(rows[1][try #require(rows[0].firstIndex(of: "likeCount"))] == "-3")
  }

  @Test(arguments: 0..<50 as Range<UInt64>) func anyTextIsOneField(seed: UInt64) throws {
    var random = SplitMix64(seed: seed)
    let text = HostileText.draw(&random)
    // No caption contains U+0000.
    let said = String(decoding: text.utf8.filter { $0 != 0 }, as: UTF8.self)
    #expect(try caption(text, raw: true) == said, "seed \(seed)")
  }

  @Test func aLineForEachPost() throws {
    let posts = [try post("a"), try post("=b")]
    let lines = try PostTable(.jsonl).text(posts)
    #expect(PostTable(.jsonl).header == "")
    let read = try lines.split(separator: "\n").map { try JSONOutput.decode(Post.self, from: $0.utf8) }
    #expect(read == posts)
  }

  /// Parses RFC 4180; nil if the text is invalid.
  private static func rows(of text: String) -> [[String]]? {
    var (rows, row, field): ([[String]], [String], [UInt8]) = ([], [], [])
    var bytes = Array(text.utf8)[...]
    while let byte = bytes.popFirst() {
      switch byte {
      case UInt8(ascii: "\"") where field.isEmpty:
        while true {
          guard let inner = bytes.popFirst() else { return nil }
          if inner != UInt8(ascii: "\"") {
            field.append(inner)
          } else if bytes.first == UInt8(ascii: "\"") {
            field.append(inner)
            bytes = bytes.dropFirst()
          } else {
            break
          }
        }
        guard let next = bytes.first, ",\r".utf8.contains(next) else { return nil }
      case UInt8(ascii: ","):
        row.append(String(decoding: field, as: UTF8.self))
        field = []
      case UInt8(ascii: "\r"):
        guard bytes.popFirst() == UInt8(ascii: "\n") else { return nil }
        rows.append(row + [String(decoding: field, as: UTF8.self)])
        (row, field) = ([], [])
      case UInt8(ascii: "\n"), UInt8(ascii: "\""): return nil
      default: field.append(byte)
      }
    }
    return row.isEmpty && field.isEmpty ? rows : nil
  }
}
