import ReelCore
import ReelSource
import ReelTestSupport
import Testing

@Suite("overlapping inputs and skipped folders", .shortTime)
struct OverlapTests {
  let folder: TemporaryFolder

  init() throws {
    folder = try TemporaryFolder()
    for name in ["a/1.mp4", "a/b/2.mp4", "a/b/3.mp4"] { try folder.write(name) }
  }

  @Test(
    "each file is reported once, where it is found first",
    arguments: [
      (["a", "a/b"], ["a/1.mp4", "a/b/2.mp4", "a/b/3.mp4"]),
      (["a/b", "a"], ["a/b/2.mp4", "a/b/3.mp4", "a/1.mp4"]),
      (["a/b/3.mp4", "a"], ["a/b/3.mp4", "a/1.mp4", "a/b/2.mp4"]),
      (["a", "a/1.mp4"], ["a/1.mp4", "a/b/2.mp4", "a/b/3.mp4"]),
      (["a/1.mp4", "a/./1.mp4", "a//1.mp4", "a/b/../1.mp4"], ["a/1.mp4"]),
      (["a", "a"], ["a/1.mp4", "a/b/2.mp4", "a/b/3.mp4"]),
    ])
  func once(_ inputs: [String], _ expected: [String]) {
    let walked = Walked(inputs, in: folder)
    #expect(walked.candidates == expected)
    #expect(walked.failed.isEmpty)
  }

  @Test("a named file is reported even if the folder around it excludes it")
  func namedAfterExcluded() throws {
    let options = WalkOptions(filter: NameFilter(excluding: [try #require(GlobPattern("1.*"))]))
    #expect(
      Walked(["a", "a/1.mp4"], in: folder, options).candidates == ["a/b/2.mp4", "a/b/3.mp4", "a/1.mp4"])
  }

  @Test("the library and the destination are never entered, nor anything in them")
  func skipped() throws {
    try folder.write("a/b/c/4.mp4")
    let library = try #require(DirectoryIdentity(at: folder.source("a/b")))
    let options = WalkOptions(skippedDirectories: [library])
    let walked = Walked(["a"], in: folder, options)
    #expect(walked.candidates == ["a/1.mp4"])
    #expect(walked.ignored == ["a/b"])
    for name in ["a/b", "a/b/2.mp4", "a/b/c", "a/b/c/4.mp4"] {
      #expect(Walked([name], in: folder, options).failed == [name: .outsideRoot], "\(name)")
    }
  }

  @Test("a missing folder has no identity")
  func noIdentity() throws {
    #expect(DirectoryIdentity(at: folder.source("none")) == nil)
    #expect(DirectoryIdentity(at: folder.source("a/1.mp4")) == nil)
    #expect(DirectoryIdentity(at: SourcePath("")) == nil)
  }
}
