import Foundation
import ReelCore
import ReelTestSupport
import Testing

@testable import ReelSource

@Suite("comma-separated values")
struct SeparatedValuesTests {
  @Test(
    "values are read as in RFC 4180",
    arguments: [
      ("a,b\r\nc,d\r\n", [["a", "b"], ["c", "d"]]), ("a,b\nc,d", [["a", "b"], ["c", "d"]]),
      ("\u{FEFF}a\n", [["a"]]), ("", []), ("\n\n", []), ("a,\n", [["a", ""]]), ("a,", [["a", ""]]),
      ("\"a,b\",c", [["a,b", "c"]]),
      ("\"a\r\nb\",c\nd,e", [["a\r\nb", "c"], ["d", "e"]]),
      ("\"say \"\"hi\"\"\",x", [["say \"hi\"", "x"]]), (" a , b ", [[" a ", " b "]]),
      ("a\u{2028}b,c", [["a\u{2028}b", "c"]]),
      ("e\u{301},\u{301}x", [["e\u{301}", "\u{301}x"]]), ("\"a\"\r\n", [["a"]]),
    ])
  func wellFormed(_ text: String, _ expected: [[String]]) throws {
    #expect(try SeparatedValues.records(Array(text.utf8)).map(\.fields) == expected)
  }

  @Test(
    "a violation of the rules is an error with its line",
    arguments: [
      ("a,b\n\"c,d\n\n\n", 2), ("a\nb\"c\n", 2), ("a\n\"b\"c\n", 2), ("a\rb\n", 1), ("a\n\nb\r", 3),
      ("a\0b", 1),
      ("\"x\ny\"\n\"z\nz\"q", 4),
    ])
  func malformed(_ text: String, _ line: Int) {
    #expect { try SeparatedValues.records(Array(text.utf8)) } throws: { error in
      (error as? SeparatedValues.Problem)?.line == line
    }
  }

  @Test("text that is not UTF-8 is an error")
  func notUTF8() {
    #expect { try SeparatedValues.records(Array("a\n".utf8) + [0xE4, 0x2C]) } throws: { error in
      (error as? SeparatedValues.Problem)?.line == 2
    }
  }

  @Test("any fields survive being written and read back", arguments: 1...50)
  func roundTrip(_ seed: UInt64) throws {
    var random = SplitMix64(seed: seed)
    let letters = Array("ab,\"\r\n é\u{301}")
    let rows = (0..<5).map { _ in
      (0..<3).map { _ in
        String(
          (0..<Int.random(in: 1...8, using: &random)).compactMap { _ in letters.randomElement(using: &random)
          })
      }
    }
    let text = rows.map { row in
      row.map { "\"" + $0.replacingOccurrences(of: "\"", with: "\"\"") + "\"" }.joined(separator: ",")
    }.joined(separator: "\r\n")
    #expect(try SeparatedValues.records(Array(text.utf8)).map(\.fields) == rows, "seed \(seed)")
  }

  @Test(
    "line ends are those of spreadsheets",
    arguments: [
      ("path,caption\ra,x\rb,y\r", [["path", "caption"], ["a", "x"], ["b", "y"]]),
      ("path,caption\r\"a\rb\",x", [["path", "caption"], ["a\rb", "x"]]),
      ("path,caption\r\n,\r\na,x\r\n,\r\n\"\",\r\n", [["path", "caption"], ["a", "x"]]),
      ("a,b\n,\n,,,\n", [["a", "b"]]), (",", []), ("\"\"", []),
    ])
  func spreadsheets(_ text: String, _ rows: [[String]]) throws {
    #expect(try SeparatedValues.records(Array(text.utf8)).map(\.fields) == rows)
  }

  @Test("any bytes produce rows or an error", arguments: 1...200)
  func total(_ seed: UInt64) {
    var random = SplitMix64(seed: seed)
    let letters: [UInt8] = [0x61, 0x2C, 0x22, 0x0D, 0x0A, 0xC3, 0xA9, 0x00, 0xEF, 0xBB, 0xBF]
    let bytes = (0..<40).compactMap { _ in letters.randomElement(using: &random) }
    _ = try? SeparatedValues.records(bytes)
  }
}

extension SeparatedValues {
  /// - Throws: ``Problem`` at the first line that breaks a rule.
  fileprivate static func records(_ bytes: [UInt8]) throws(Problem) -> [Record] {
    var values = SeparatedValues(bytes)
    var records: [Record] = []
    while let record = try values.next() { records.append(record) }
    return records
  }
}

@Suite("caption lists")
struct CaptionListTests {
  private func list(_ text: String, at path: String = "lists/captions.csv") throws -> CaptionList {
    let working = AbsolutePath(Array("/home/me".utf8), from: .root)
    return try CaptionList(Array(text.utf8), listedAt: SourcePath(path), workingDirectory: working)
  }

  @Test("a list finds a file by its path, however that is written")
  func lookUp() throws {
    let list = try list(
      "Path,caption, Author ,authorName,notes\r\na.mp4,\"Sea, and sky\",u1,,x\r\n../b.mp4,,,,\r\n")
    let words = PostMetadata(authorID: "u1", caption: "Sea, and sky")
    for path in ["lists/a.mp4", "./lists/a.mp4", "/home/me/lists/a.mp4", "lists/x/../a.mp4", "lists//a.mp4"] {
      #expect(list.entry(for: SourcePath(path))?.metadata == words, "\(path)")
    }
    #expect(list.entry(for: SourcePath("b.mp4"))?.metadata == PostMetadata())
    #expect(list.entry(for: SourcePath("a.mp4")) == nil)
    #expect(list.entries.map(\.line) == [2, 3])
  }

  @Test("a list with carriage returns as line ends is read row by row")
  func carriageReturns() throws {
    let list = try list("path,caption\ra.mp4,one\rb.mp4,two\r,\r")
    #expect(list.entries.map(\.metadata.caption) == ["one", "two"])
    #expect(list.entries.map(\.line) == [2, 3])
    #expect(list.entry(for: SourcePath("lists/b.mp4"))?.metadata.caption == "two")
  }

  @Test(
    "an invalid list is an error with its place",
    arguments: [
      ("", "line 1"), ("caption\nx\n", "no column path"), ("path;caption\na;b\n", "commas"),
      ("path,caption\na.mp4\n", "line 2"), ("path,caption\n,x\n", "line 2"),
      ("path\na.mp4\nb.mp4\n./a.mp4\n", "line 4"), ("path,Path\n", "twice"), ("path\n\"a", "line 2"),
    ])
  func broken(_ text: String, _ place: String) {
    #expect { try list(text) } throws: { error in
      let error = error as? SourceError
      return error?.code == .sidecarInvalid && error?.message.contains(place) == true
    }
  }

  @Test("a list of many rows finds each by its path, and no other", arguments: [0, 1, 7, 8, 9, 1000])
  func many(_ count: Int) throws {
    let rows = (0..<count).map { "\"d/../v\($0).mp4\",c\($0),\"two\nlines\"" }
    let list = try list((["path,caption,music"] + rows).joined(separator: "\r\n"))
    for number in 0..<count {
      let entry = list.entry(for: SourcePath("lists/./v\(number).mp4"))
      #expect(entry?.metadata == PostMetadata(caption: "c\(number)", music: "two\nlines"))
      #expect(entry?.line == 2 + 2 * number)
    }
    #expect(list.entry(for: SourcePath("lists/v\(count).mp4")) == nil)
    #expect(list.entries.count == count)
  }

  @Test("a list reports which of its files are missing")
  func missing() throws {
    let folder = try TemporaryFolder()
    try folder.folder("clips")
    try folder.write("clips/there.mp4")
    let rows = [
      "there.mp4", "gone.mp4", "../clips/there.mp4/x", "/dev/null", "no/../there.mp4", "far/gone.mp4",
    ]
    let list = try CaptionList(
      at: try folder.write("clips/list.csv", Array(("path\n" + rows.prefix(4).joined(separator: "\n")).utf8)))
    // A path below a file is missing, too.
    #expect(list.missing(among: 0..<list.count).map(\.line) == [3, 4])
    #expect(list.missing(among: 2..<99).map(\.line) == [4])
    #expect(list.missing(among: 99..<100).isEmpty)
    let more = try CaptionList(
      at: try folder.write("clips/more.csv", Array(("path\n" + rows.suffix(2).joined(separator: "\n")).utf8)))
    #expect(more.missing(among: 0..<2).map(\.path.text) == ["far/gone.mp4"])
  }

  @Test("a list finds a file whose path looks the same, if it is the only one; an exact match comes first")
  func alike() throws {
    let list = try list(
      "path,caption\ncaf\u{E9}/a.mp4,1\nb.mp4,2\nb.MP4,3\nc.Mp4,4\nd.mp4,5\nd.MP4,6\n")
    for (path, caption) in [
      ("lists/cafe\u{301}/a.mp4", "1"), ("lists/cafe\u{301}/a.MP4", "1"), ("lists/b.mp4", "2"),
      ("lists/b.MP4", "3"),
      ("lists/c.mp4", "4"),
    ] {
      #expect(list.entry(for: SourcePath(path))?.metadata.caption == caption, "\(path)")
    }
    for path in ["lists/B.mp4", "lists/d.Mp4", "lists/cafe/a.mp4", "lists/c"] {
      #expect(list.entry(for: SourcePath(path)) == nil, "\(path)")
    }
  }

  @Test("a list reports rows that match no single file, even if some look the same")
  func missingAlike() throws {
    let folder = try TemporaryFolder()
    for name in ["cafe\u{301}.mp4", "two.Mp4", "one.MP4", "one.Mp4"] { try folder.write(name) }
    let rows = ["caf\u{E9}.mp4", "two.mp4", "two.MP4", "one.mp4", "cafe.mp4"]
    let list = try CaptionList(
      at: try folder.write("list.csv", Array(("path\n" + rows.joined(separator: "\n")).utf8)))
    #expect(list.missing(among: 0..<9).map(\.line) == [3, 4, 5, 6])
    // Folders on the way are matched like files.
    try folder.write("e\u{301}te\u{301}/x/u\u{308}.mp4")
    let below = try CaptionList(
      at: try folder.write(
        "below.csv", Array("path\n\u{E9}t\u{E9}/x/\u{FC}.mp4\n\u{E9}t\u{E9}/y/\u{FC}.mp4\n".utf8)))
    #expect(below.missing(among: 0..<9).map(\.line) == [3])
  }

  @Test("a list is read from a file")
  func reading() throws {
    let folder = try TemporaryFolder()
    let path = try folder.write("captions.csv", Array("path,music\nclip.mp4,M\n".utf8))
    #expect(
      try CaptionList(at: path).entry(for: folder.source("clip.mp4"))?.metadata == PostMetadata(music: "M"))
    #expect(throws: SourceError.self) { try CaptionList(at: folder.source("none.csv")) }
    #expect(throws: SourceError.self) { try CaptionList(at: folder.source) }
  }
}

@Suite("lists of names")
struct FileListTests {
  @Test(
    "each name ends with a NUL",
    arguments: [
      ("a\0b c\0", ["a", "b c"]), ("a\0-b", ["a", "-b"]), ("", []), ("new\nline\0", ["new\nline"]),
    ])
  func names(_ text: String, _ expected: [String]) throws {
    #expect(try FileList.inputs(in: Array(text.utf8)).map(\.path.text) == expected)
  }

  @Test("an empty name is an error that says which one", arguments: ["\0", "a\0\0b\0", "a\0b\0\0"])
  func empty(_ text: String) {
    #expect { try FileList.inputs(in: Array(text.utf8)) } throws: {
      ($0 as? SourceError)?.code == .invalidName
    }
  }

  @Test("a name longer than any path is an error that says which one without repeating it")
  func tooLong() throws {
    let longest = [UInt8](repeating: 0x78, count: 65_536)
    #expect(try FileList.inputs(in: longest + [0]).count == 1)
    #expect {
      try FileList.inputs(in: [0x61, 0] + longest + [0x78, 0])
    } throws: { error in
      let error = error as? SourceError
      return error?.code == .invalidName && error?.message.contains("name 2") == true
        && (error?.message.count ?? 0) < 300
    }
  }

  @Test("a list is read from a file, and its names may have any bytes")
  func file() throws {
    let folder = try TemporaryFolder()
    let path = try folder.write("list", [0xFF, 0x00, 0x61])
    #expect(try FileList.inputs(from: path).map(\.path.bytes) == [[0xFF], [0x61]])
    #expect(throws: SourceError.self) { try FileList.inputs(from: folder.source("none")) }
  }
}
