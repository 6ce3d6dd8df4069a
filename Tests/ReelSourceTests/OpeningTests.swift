import Foundation
import Glibc
import ReelCore
import ReelTestSupport
import Testing

@testable import ReelSource

@Suite("opening files that were found", .shortTime)
struct OpeningTests {
  let folder: TemporaryFolder

  init() throws {
    folder = try TemporaryFolder()
    try folder.write("clip.mp4")
  }

  private func found() throws -> FoundFile {
    try #require(Walked(all: folder).files.first)
  }

  private func code(_ body: () throws -> Void) -> SourceError.Code? {
    do {
      try body()
      return nil
    } catch {
      return (error as? SourceError)?.code
    }
  }

  @Test("the same file is opened, whatever happens to the folder's name")
  func heldDirectory() throws {
    try folder.write("in/clip.mp4")
    let file = try #require(Walked(["in"], in: folder).files.first)
    try #require(rename(folder.path + "/in", folder.path + "/moved") == 0)
    try folder.write("in/clip.mp4", Sample.text)
    #expect(try file.open().size == Int64(Sample.mp4.count))
  }

  @Test("times out of the range of nanoseconds are clamped to it")
  func extremeTimes() throws {
    for seconds in Extremes.integers {
      for nanoseconds in [0, 999_999_999] {
        var status = stat()
        (status.st_mtim, status.st_ctim) = (
          timespec(tv_sec: Int(seconds), tv_nsec: nanoseconds),
          timespec(tv_sec: Int(seconds), tv_nsec: nanoseconds)
        )
        status.st_size = Int(seconds)
        let whole = Int128(seconds) * 1_000_000_000 + Int128(nanoseconds)
        let expected = min(max(whole, Int128(Int64.min)), Int128(Int64.max))
        // Clamping the seconds alone gives a result within a second of the limit.
        #expect(abs(Int128(FileIdentity(status).modifiedAt) - expected) < 1_000_000_000)
      }
    }
  }

  @Test("another file under the same name is refused")
  func replaced() throws {
    try folder.age("clip.mp4")
    let file = try found()
    try folder.remove("clip.mp4")
    #expect(code { _ = try file.open() } == .notFound)
    try folder.write("clip.mp4")
    #expect(code { _ = try file.open() } == .sourceChanged)
  }

  @Test("a file that was written to is refused")
  func written() throws {
    let file = try found()
    try folder.write("clip.mp4", Sample.mp4 + [1])
    #expect(code { _ = try file.open() } == .sourceChanged)
  }

  @Test("a link, a FIFO or a folder in the file's place is refused without hanging")
  func swapped() throws {
    let file = try found()
    try folder.remove("clip.mp4")
    try folder.link("clip.mp4", to: "/etc/passwd")
    #expect(code { _ = try file.open() } == .isLink)
    try folder.remove("clip.mp4")
    try folder.fifo("clip.mp4")
    #expect(code { _ = try file.open() } == .notRegular)
    try folder.remove("clip.mp4")
    try folder.folder("clip.mp4")
    #expect(code { _ = try file.open() } == .isDirectory)
  }

  @Test("files are read by position, to the end and not beyond")
  func reading() throws {
    let handle = try found().open().handle
    #expect(try handle.head(4) == [0, 0, 0, 16])
    #expect(try handle.head(1000) == Sample.mp4)
    var buffer = [UInt8](repeating: 0xAA, count: 8)
    let count = try buffer.withUnsafeMutableBytes { try handle.read(into: $0, at: 4) }
    #expect(count == 8)
    #expect(buffer == Array("ftypisom".utf8))
    #expect(try buffer.withUnsafeMutableBytes { try handle.read(into: $0, at: 24) } == 0)
    #expect(throws: SourceError.self) {
      try buffer.withUnsafeMutableBytes { _ = try handle.read(into: $0, at: -1) }
    }
  }

  @Test("a change of the open file is detected")
  func changes() throws {
    let file = try found().open()
    let bytes = SourceFileBytes(file)
    try bytes.checkUnchanged()
    try #require(truncate(folder.path + "/clip.mp4", 3) == 0)
    #expect(code { try bytes.checkUnchanged() } == .sourceChanged)
  }

  @Test(
    "times out of range do not trap",
    arguments: [Int.max, 1 << 40, -1, Int.min])
  func absurdTimes(_ seconds: Int) throws {
    var times = [timespec(tv_sec: seconds, tv_nsec: 0), timespec(tv_sec: seconds, tv_nsec: 999_999_999)]
    utimensat(AT_FDCWD, folder.path + "/clip.mp4", &times, 0)
    #expect(try found().open().size == Int64(Sample.mp4.count))
  }

  @Test(
    "opening one component at a time gives the same results as openat2",
    arguments: ["clip.mp4", "./clip.mp4", "in/../clip.mp4"])
  func componentWalk(_ name: String) throws {
    try folder.folder("in")
    let path = folder.source(name).bytes
    let stepped = try FileStatus(of: try ComponentWalk.open(path, from: nil, links: .refuse))
    #expect(try stepped == PathLookup.find(path, from: nil, links: .refuse).status)
  }

  @Test("opening one component at a time refuses links, and links out of the folder")
  func componentWalkLinks() throws {
    try folder.write("in/real.mp4")
    try folder.link("in/link", to: ".")
    try folder.link("in/out", to: "../clip.mp4")
    try folder.link("in/inside", to: folder.path + "/in/real.mp4")
    let root = try PathLookup.find(folder.source("in").bytes, from: nil, links: .refuse).descriptor
    func walk(_ name: String, _ links: LinkRule) throws -> FileStatus {
      try FileStatus(of: try ComponentWalk.open(Array(name.utf8), from: root, links: links))
    }
    #expect(code { _ = try walk("link/real.mp4", .refuse) } == .isLink)
    #expect(try walk("link", .refuse).kind == .link)
    #expect(try walk("link/real.mp4", .followBeneath).kind == .regular)
    #expect(try walk("inside", .followBeneath).kind == .regular)
    #expect(code { _ = try walk("out", .followBeneath) } == .outsideRoot)
    #expect(try walk("out", .follow).kind == .regular)
    #expect(code { _ = try walk("real.mp4/x", .refuse) } == .notFound)
  }
}
