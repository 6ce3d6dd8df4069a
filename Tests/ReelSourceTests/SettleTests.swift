import Foundation
import ReelCore
import ReelTestSupport
import Synchronization
import Testing

@testable import ReelSource

@Suite("recently changed files are left alone", .shortTime)
struct SettleTests {
  let folder: TemporaryFolder
  private let now = Date(timeIntervalSince1970: 1_700_000_000)

  init() throws {
    folder = try TemporaryFolder()
  }

  private func write(_ name: String, _ bytes: [UInt8] = Sample.mp4, changed seconds: Double) throws {
    try folder.write(name, bytes)
    try FileManager.default.setAttributes(
      [.modificationDate: now.addingTimeInterval(seconds)], ofItemAtPath: folder.source(name).text)
  }

  private var options: WalkOptions {
    var options = WalkOptions()
    options.settle = .seconds(60)
    options.now = { [now] in now }
    return options
  }

  @Test(
    "a file is left alone only within the period, on either side: a clock that is ahead blocks no file forever",
    arguments: [
      (-86_400, false), (-61, false), (-60, false), (-59, true), (0, true), (59, true), (60, false),
      (86_400, false), (31_536_000, false),
    ])
  func window(seconds: Double, isLeft: Bool) throws {
    try write("clip.ts", changed: seconds)
    for walked in [Walked(all: folder, options), Walked(["clip.ts"], in: folder, options)] {
      #expect(walked.leftAlone == (isLeft ? ["clip.ts"] : []))
      #expect(walked.candidates == (isLeft ? [] : ["clip.ts"]))
      #expect(walked.failed.isEmpty)
    }
    var none = options
    none.settle = .zero
    #expect(Walked(all: folder, none).candidates == ["clip.ts"])
  }

  @Test("in a long run, files changed since its start are left alone, too")
  func longRun() throws {
    try write("before.ts", changed: -3700)
    try write("just-before.ts", changed: -3601)
    try write("long-ago-in-the-run.ts", changed: -600)
    var options = options
    options.begun = now - 3600
    let walked = Walked(all: folder, options)
    #expect(walked.candidates == ["before.ts"])
    #expect(walked.leftAlone == ["just-before.ts", "long-ago-in-the-run.ts"])
  }

  @Test("other files are ignored as usual, and each skipped file is reported with its reason")
  func reasons() throws {
    for name in ["a.mp4", "b.mp4", "a.json", "n.txt", ".h.mp4", "x.mp4.part", "out.mp4", "lost+found/c.mp4"] {
      try write(
        name, name.hasSuffix("mp4") ? Sample.mp4 : Array("{\"caption\":\"a\"}".utf8),
        changed: name == "b.mp4" || name == "n.txt" ? 0 : -100)
    }
    var options = options
    options.filter = NameFilter(excluding: [try #require(GlobPattern(Array("out*".utf8)))])
    let told = Mutex<[String: PassedBy]>([:])
    let names = folder.source.text.utf8.count + 1
    options.onPassed = { path, reason in told.withLock { $0[String(path.text.dropFirst(names))] = reason } }
    let walked = Walked(all: folder, options)
    #expect(walked.candidates == ["a.mp4"] && walked.leftAlone == ["b.mp4"])
    let reasons: [String: PassedBy] = [
      "b.mp4": .changing, "a.json": .sidecar, "n.txt": .noVideo, ".h.mp4": .hidden, "x.mp4.part": .unfinished,
      "out.mp4": .excluded, "lost+found": .trash,
    ]
    #expect(told.withLock { $0 } == reasons)
    #expect(Set(walked.ignored + walked.leftAlone) == Set(reasons.keys))
  }

  @Test("a path below a bucket is skipped for the reason of the first folder on the way")
  func way() throws {
    var options = options
    options.filter = NameFilter(excluding: [try #require(GlobPattern(Array("out*".utf8)))])
    for (path, reason) in [
      ("a/.trash/b", PassedBy.hidden), ("lost+found/c", .trash), ("a/out/d", .excluded), ("a/b", nil),
      ("", nil),
    ] {
      #expect(options.obstacle(onWay: Array(path.utf8), from: SourcePath("root")) == reason, "\(path)")
    }
  }
}
