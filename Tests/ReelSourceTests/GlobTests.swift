import ReelCore
import ReelTestSupport
import Testing

@testable import ReelSource

@Suite("patterns")
struct GlobTests {
  @Test(
    "patterns match the intended paths",
    arguments: [
      ("*.mov", "a/b/c.mov", true), ("*.mov", "c.MOV", false), ("c.mov", "a/c.mov", true),
      ("a", "a/c.mov", false),
      ("a/*.mov", "a/c.mov", true), ("a/*.mov", "a/b/c.mov", false), ("a/*.mov", "x/a/c.mov", false),
      ("./a/*.mov", "a/c.mov", true), ("./c.mov", "c.mov", true), ("./c.mov", "a/c.mov", false),
      ("a/./c.mov", "a/c.mov", true), (".*", ".x", true),
      ("/c.mov", "c.mov", true), ("/c.mov", "a/c.mov", false),
      ("**/c.mov", "c.mov", true), ("**/c.mov", "a/b/c.mov", true), ("a/**", "a/b/c.mov", true),
      ("a/**/c.mov", "a/c.mov", true), ("a/**/c.mov", "a/b/b/c.mov", true), ("a/**/c.mov", "b/c.mov", false),
      ("**/a/**/b/*", "x/a/y/a/b/c", true), ("**", "anything/at all", true),
      ("?.mov", "c.mov", true), ("??.mov", "c.mov", false), ("[a-c].mov", "b.mov", true),
      ("[!a-c].mov", "b.mov", false),
      (#"\*.mov"#, "*.mov", true), (#"\*.mov"#, "a.mov", false), (#"\["#, "[", true), ("[[]", "[", true),
      ("*", ".x", true),
      ("[]a].mov", "].mov", true), ("[!]a].mov", "b.mov", true), ("[a-]", "-", true),
      ("[[:digit:]]x", "7x", true),
      ("caf\u{E9}*.mov", "cafe\u{301} 1.mov", true), ("cafe\u{301}.mov", "caf\u{E9}.mov", true),
      ("caf\u{E9}/*", "cafe\u{301}/a", true), ("[\u{E8}-\u{EA}].mov", "e\u{301}.mov", true),
      ("[!\u{E9}].mov", "e\u{301}.mov", false), ("caf\u{E9}.mov", "caf\u{E8}.mov", false),
      ("caf?.mov", "cafe\u{301}.mov", false), ("*\u{E9}\\*x", "e\u{301}*x", true),
      ("\u{E9}", "e", false),
      (#"[\]]"#, "]", true), ("[[:alpha:]_-]", "-", true), ("a]", "a]", true), ("[a\\-z]", "-", true),
    ])
  func table(_ pattern: String, _ path: String, _ expected: Bool) throws {
    let glob = try #require(GlobPattern(pattern))
    #expect(glob.matches(Array(path.utf8), isFolder: false) == expected)
  }

  @Test("a pattern with a trailing slash matches folders only")
  func folders() throws {
    let glob = try #require(GlobPattern("cache/"))
    #expect(glob.matches(Array("a/cache".utf8), isFolder: true))
    #expect(!glob.matches(Array("a/cache".utf8), isFolder: false))
  }

  @Test("patterns match names that are not UTF-8")
  func bytes() throws {
    #expect(try #require(GlobPattern("*.mp4")).matches([0xFF, 0xFE] + Array(".mp4".utf8), isFolder: false))
    #expect(try #require(GlobPattern([0xFF, 0x2A])).matches([0xFF, 0x80], isFolder: false))
    #expect(try #require(GlobPattern("?.mp4")).matches([0xFF] + Array(".mp4".utf8), isFolder: false))
  }

  @Test("an empty or impossible pattern is invalid")
  func nothing() {
    #expect(GlobPattern("") == nil)
    #expect(GlobPattern("///") == nil)
    #expect(GlobPattern("./") == nil && GlobPattern("../a") == nil && GlobPattern("a/../b") == nil)
    #expect(GlobPattern("a\0b") == nil)
  }

  /// fnmatch(3) accepts each of them, but matches nothing or something unintended.
  @Test(
    "an incomplete pattern is invalid",
    arguments: [
      "[", "[a", "[]", "[!]", "a[b/c]d", "x[z-a]", #"a\"#, #"a\/b"#, #"[a\"#, "[[:alpha]", "[^", "**/[a",
    ])
  func broken(_ pattern: String) {
    #expect(GlobPattern(pattern) == nil)
  }

  @Test("exclusion wins, inclusion narrows, and folders are only excluded")
  func filter() throws {
    let folder = try TemporaryFolder()
    for name in ["a.mov", "b.mp4", "b.txt", "drafts/c.mov", "sub/d.mov"] { try folder.write(name) }
    let filter = NameFilter(
      including: [try #require(GlobPattern("*.mov")), try #require(GlobPattern("b.*"))],
      excluding: [try #require(GlobPattern("drafts")), try #require(GlobPattern("*.mp4"))])
    let walked = Walked(all: folder, WalkOptions(filter: filter))
    #expect(walked.candidates == ["a.mov", "b.txt", "sub/d.mov"])
    #expect(walked.ignored == ["b.mp4", "drafts"])
  }
}
