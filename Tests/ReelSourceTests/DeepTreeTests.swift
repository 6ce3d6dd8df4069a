import Glibc
import ReelCore
import ReelSource
import ReelTestSupport
import Testing

@Suite("deep trees", .shortTime)
struct DeepTreeTests {
  /// Creates nested folders, with a file in the last one and beside each thousandth.
  private func dig(_ folder: TemporaryFolder, levels: Int, name: String) throws {
    var current = open(folder.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    for level in 0..<levels {
      try #require(mkdirat(current, name, 0o700) == 0)
      if level % 1000 == 999 { try write(in: current) }
      let next = openat(current, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
      try #require(next >= 0)
      close(current)
      current = next
    }
    try write(in: current)
    close(current)
  }

  private func write(in directory: Int32) throws {
    let file = openat(directory, "z.mp4", O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
    try #require(file >= 0)
    defer { close(file) }
    try #require(Glibc.write(file, Sample.mp4, Sample.mp4.count) == Sample.mp4.count)
  }

  @Test(
    "a deep tree is walked to the bottom and back with few descriptors",
    arguments: [(3000, "d"), (40, String(repeating: "n", count: 255))])
  func deep(levels: Int, name: String) throws {
    let folder = try TemporaryFolder()
    try dig(folder, levels: levels, name: name)
    let walked = Walked(all: folder)
    #expect(walked.failed.isEmpty)
    #expect(walked.candidates.count == levels / 1000 + 1)
    let deepest = try #require(walked.files.first)
    #expect(deepest.path.bytes.count > 4096)
    #expect(try deepest.open().size == Int64(Sample.mp4.count))
    #expect(try FoundFile.named(deepest.path, followLinks: false).open().size == Int64(Sample.mp4.count))
    #expect(try Sidecar.metadata(beside: deepest, trustAuthor: false) == nil)
  }

  @Test("a folder that is moved while the walk is deep below it is found again or reported")
  func moved() throws {
    let folder = try TemporaryFolder()
    try dig(folder, levels: 60, name: "d")
    try folder.write("d/z.mp4")
    let walk = SourceWalk(inputs: [SourceInput(path: folder.source)])
    let first = walk.next(upTo: 1)
    #expect(first.count == 1)
    // The third folder from the top is no longer open; its parent, found by `..`, will be another one.
    try #require(mkdir(folder.path + "/other", 0o700) == 0)
    try #require(rename(folder.path + "/d/d/d", folder.path + "/other/d") == 0)
    let rest = Walked(walk, in: folder)
    #expect(rest.candidates == ["d/z.mp4"])
    #expect(rest.failed.isEmpty)
  }

  @Test("a folder that is gone when the walk returns to it is reported, and the walk continues above it")
  func gone() throws {
    let folder = try TemporaryFolder()
    try dig(folder, levels: 60, name: "d")
    try folder.write("d/d/z.mp4")
    try folder.write("z.mp4")
    let walk = SourceWalk(inputs: [SourceInput(path: folder.source)])
    #expect(walk.next(upTo: 1).count == 1)
    try #require(rename(folder.path + "/d/d/d", folder.path + "/moved") == 0)
    try folder.remove("d/d")
    let rest = Walked(walk, in: folder)
    #expect(rest.failed == ["d/d": .notFound])
    #expect(rest.candidates == ["z.mp4"])
  }
}
