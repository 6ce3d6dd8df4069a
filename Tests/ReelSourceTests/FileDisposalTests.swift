import Foundation
import Glibc
import ReelCore
import ReelTestSupport
import Testing

@testable import ReelSource

@Suite("What becomes of files that were dealt with", .shortTime)
struct FileDisposalTests {
  let folder: TemporaryFolder

  init() throws {
    folder = try TemporaryFolder()
    try folder.folder("drop")
  }

  private func found(_ name: String) throws -> FoundFile {
    try FoundFile.named(folder.source("drop/" + name), followLinks: false)
  }

  private func names(_ place: String) throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: folder.path + "/" + place).sorted()
  }

  /// Another file system than that of temporary files; nil where there is none to write to.
  private static var otherDisk: String? {
    var (own, other) = (stat(), stat())
    guard stat(FileManager.default.temporaryDirectory.path, &own) == 0, stat("/dev/shm", &other) == 0,
      own.st_dev != other.st_dev, access("/dev/shm", W_OK) == 0
    else { return nil }
    return "/dev/shm"
  }

  @Test("a file goes to the folder with its sidecar, under a name that is free")
  func moves() throws {
    try folder.folder("done")
    try folder.write("done/a.mp4", [9])
    try folder.write("drop/a.mp4")
    try folder.write("drop/a.json", Array("{}".utf8))
    let place = try FileDisposal(.move(folder.source("done"))).apply(to: found("a.mp4"))
    #expect(place == folder.source("done/a-1.mp4"))
    #expect(try names("drop") == [])
    #expect(try names("done") == ["a-1.json", "a-1.mp4", "a.mp4"])
    #expect(try Data(contentsOf: URL(filePath: folder.path + "/done/a.mp4")) == Data([9]))
  }

  @Test("a sidecar that is another video's, too, stays")
  func shared() throws {
    for name in ["a.mp4", "a.mov", "a.json"] { try folder.write("drop/" + name) }
    try FileDisposal(.delete).apply(to: found("a.mp4"))
    #expect(try names("drop") == ["a.json", "a.mov"])
    try FileDisposal(.delete).apply(to: found("a.mov"))
    #expect(try names("drop") == [])
  }

  @Test("a sidecar that has come for the next video of this name stays")
  func nextSidecar() throws {
    for name in ["a.mp4", "a.json", "b.mp4"] { try folder.write("drop/" + name) }
    let (file, later) = (try found("a.mp4"), try found("b.mp4"))
    let (seen, none) = (FileDisposal.SidecarState(beside: file), FileDisposal.SidecarState(beside: later))
    try folder.write("next.json", Array("{}".utf8))
    rename(folder.path + "/next.json", folder.path + "/drop/a.json")
    try FileDisposal(.delete).apply(to: file, sidecar: seen)
    #expect(try names("drop") == ["a.json", "b.mp4"])
    // It may have been read: it came before its video was.
    try folder.write("drop/b.json")
    try FileDisposal(.delete).apply(to: later, sidecar: none)
    #expect(try names("drop") == ["a.json"])
  }

  @Test("one that was not wanted has a text beside it that says why")
  func rejected() throws {
    try folder.folder("no")
    try folder.write("drop/a.mp4")
    try FileDisposal(.move(folder.source("no"))).apply(to: found("a.mp4"), reason: "it is a text\n")
    #expect(try names("no") == ["a.mp4", "a.mp4.txt"])
    #expect(try String(contentsOfFile: folder.path + "/no/a.mp4.txt", encoding: .utf8) == "it is a text\n")
  }

  @Test("what has come in its place, or was written to, stays", arguments: ["replaced", "written", "gone"])
  func others(_ what: String) throws {
    try folder.folder("done")
    for kind in [FileDisposal.Kind.delete, .move(folder.source("done"))] {
      try folder.write("drop/a.mp4")
      let file = try found("a.mp4")
      let path = folder.path + "/drop/a.mp4"
      switch what {
      case "replaced":
        try folder.write("drop/b.mp4", [1])
        try #require(rename(folder.path + "/drop/b.mp4", path) == 0)
      case "written":
        let writer = try #require(FileHandle(forWritingAtPath: path))
        try writer.seekToEnd()
        try writer.write(contentsOf: Data([1]))
      default: try FileManager.default.removeItem(atPath: path)
      }
      let error = #expect(throws: SourceError.self) { try FileDisposal(kind).apply(to: file) }
      #expect(error?.code == (what == "gone" ? .notFound : .sourceChanged))
      #expect(try names("drop") == (what == "gone" ? [] : ["a.mp4"]) && names("done") == [])
      if what != "gone" { try FileManager.default.removeItem(atPath: path) }
    }
  }

  @Test("one that comes in its place at the last moment gets its name back", arguments: [false, true])
  func race(moves: Bool) throws {
    try folder.folder("done")
    try folder.write("drop/a.mp4")
    try folder.write("drop/a.json", Array("{}".utf8))
    try folder.write("other.mp4", [1, 2, 3])
    let kind = moves ? FileDisposal.Kind.move(folder.source("done")) : .delete
    let path = folder.path
    // The sidecar goes after the look at the video, and before the video.
    let disposal = FileDisposal(kind) { step in
      if step == .sidecarDisposed { rename(path + "/other.mp4", path + "/drop/a.mp4") }
    }
    let error = #expect(throws: SourceError.self) { try disposal.apply(to: found("a.mp4")) }
    #expect(error?.code == .sourceChanged)
    #expect(try Data(contentsOf: URL(filePath: path + "/drop/a.mp4")) == Data([1, 2, 3]))
  }

  @Test("what lies in the folder that it is to go to stays as it is")
  func inPlace() throws {
    try folder.write("drop/a.mp4")
    try folder.write("drop/a.json", Array("{}".utf8))
    let place = try FileDisposal(.move(folder.source("drop"))).apply(to: found("a.mp4"), reason: "no")
    #expect(place == folder.source("drop/a.mp4"))
    #expect(try names("drop") == ["a.json", "a.mp4"])
  }

  @Test("a folder that is missing is named")
  func noFolder() throws {
    try folder.write("drop/a.mp4")
    let error = #expect(throws: SourceError.self) {
      try FileDisposal(.move(folder.source("nowhere"))).apply(to: found("a.mp4"))
    }
    #expect(error?.code == .unreadable && error?.message.contains("nowhere is not there") == true)
  }

  @Test("what a crash has hidden is in nobody's way, and gets a name that is free")
  func hiddenBefore() throws {
    try folder.write("drop/.reel-removing-a.mp4", [7])
    try folder.write("drop/a.mp4")
    try FileDisposal(.delete).apply(to: found("a.mp4"))
    #expect(try names("drop") == [".reel-removing-a.mp4"])
    try folder.write("drop/a.mp4")
    FileDisposal.putBack(folder.source("drop/.reel-removing-a.mp4"), unlessSince: .distantFuture)
    #expect(try names("drop") == ["a-1.mp4", "a.mp4"])
    #expect(try Data(contentsOf: URL(filePath: folder.path + "/drop/a-1.mp4")) == Data([7]))
  }

  @Test("one whose name is taken again while it is hidden is put back beside that")
  func takenMeanwhile() throws {
    try folder.write("drop/a.mp4")
    let file = try found("a.mp4")
    let path = folder.path + "/drop/"
    let disposal = FileDisposal(.delete) { step in
      guard step == .fileHidden else { return }
      // Another one is hidden, and has a successor already.
      try? Data([5]).write(to: URL(filePath: path + ".reel-removing-a.mp4"), options: .atomic)
      try? Data([6]).write(to: URL(filePath: path + "a.mp4"))
    }
    let error = #expect(throws: SourceError.self) { try disposal.apply(to: file) }
    #expect(error?.code == .sourceChanged)
    #expect(try names("drop") == ["a-1.mp4", "a.mp4"])
  }

  @Test("names as long as file systems take are no obstacle, and are cut between characters")
  func longNames() throws {
    try folder.folder("no")
    let name = String(repeating: "é", count: 125) + ".mp4"
    try folder.write("no/" + name)
    for kind in [FileDisposal.Kind.delete, .move(folder.source("no"))] {
      try folder.write("drop/" + name)
      try FileDisposal(kind).apply(to: found(name), reason: "no")
      #expect(try names("drop") == [])
    }
    // There is room for the text's name, too.
    let moved = String(repeating: "é", count: 123) + ".mp4"
    #expect(try Set(names("no")) == [name, moved, moved + ".txt"])
  }

  @Test("why it is no post is there before the file is, and what a crash has left of that is completed")
  func reasonFirst() throws {
    try folder.folder("no")
    try folder.write("no/a.mp4.txt", Array("it is".utf8))
    try folder.write("no/b.mp4.txt", Array("of another".utf8))
    let no = folder.path + "/no/"
    for (name, place) in [("a.mp4", "a.mp4"), ("b.mp4", "b-1.mp4")] {
      try folder.write("drop/" + name)
      let recorder = Recorder()
      let disposal = FileDisposal(.move(folder.source("no"))) { step in
        recorder.add(step)
        if step == .reasonWritten { #expect(access(no + place, F_OK) != 0) }
      }
      try disposal.apply(to: found(name), reason: "it is a text")
      #expect(recorder.steps == [.reasonWritten, .fileMoved])
      #expect(try String(contentsOfFile: no + place + ".txt", encoding: .utf8) == "it is a text")
    }
    #expect(try String(contentsOfFile: no + "b.mp4.txt", encoding: .utf8) == "of another")
  }

  @Test("a draft is nobody else's; what dead processes have left goes, and nothing else")
  func drafts() throws {
    try folder.folder("done")
    try folder.write("done/.reel-moving-dead")
    try folder.write("done/a.mp4")
    let directory = try FileDisposal.Folder(folder.source("done")).directory
    let (one, other) = (try FileDisposal.Draft(in: directory), try FileDisposal.Draft(in: directory))
    #expect(one.name != other.name && one.has(one.name) && !one.has(other.name))
    #expect(try names("done").count == 3 && !names("done").contains(".reel-moving-dead"))
    try withExtendedLifetime((one, other)) {
      let place = folder.path + "/done/" + String(decoding: one.name, as: UTF8.self)
      try #require(rename(folder.path + "/done/a.mp4", place) == 0)
      #expect(!one.has(one.name))
    }
  }

  @Test("a copy whose name has come to mean another file costs the original nothing")
  func copyTaken() throws {
    guard let disk = Self.otherDisk else { return }
    let target = disk + "/reel-test-\(UUID().uuidString)"
    try FileManager.default.createDirectory(atPath: target, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: target) }
    try folder.write("drop/a.mp4", [1, 2])
    let disposal = FileDisposal(.move(SourcePath(target))) { step in
      guard step == .copyNamed else { return }
      try? FileManager.default.removeItem(atPath: target + "/a.mp4")
      try? Data([3]).write(to: URL(filePath: target + "/a.mp4"))
    }
    #expect(throws: SourceError.self) { try disposal.apply(to: found("a.mp4")) }
    let flag = CancellationFlag()
    flag.set()
    #expect(throws: SourceError.self) {
      try FileDisposal(.move(SourcePath(target))).apply(to: found("a.mp4"), cancellation: flag)
    }
    #expect(try names("drop") == ["a.mp4"])
    #expect(try FileManager.default.contentsOfDirectory(atPath: target) == ["a.mp4"])
    #expect(try Data(contentsOf: URL(filePath: target + "/a.mp4")) == Data([3]))
  }

  @Test("a copy whose name can't be made durable does not stay: the next attempt makes another")
  func copyNotDurable() throws {
    guard let disk = Self.otherDisk else { return }
    let target = disk + "/reel-test-\(UUID().uuidString)"
    try FileManager.default.createDirectory(atPath: target, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: target) }
    try folder.write("drop/a.mp4", [1, 2])
    var disposal = FileDisposal(.move(SourcePath(target)))
    disposal.syncFolder = { _ throws(SystemError) in throw SystemError(code: EIO, call: "fsync") }
    for _ in 0..<2 {
      let error = #expect(throws: SourceError.self) {
        try disposal.apply(to: found("a.mp4"), reason: "it is a text\n")
      }
      #expect(error?.code == .unreadable)
      #expect(try names("drop") == ["a.mp4"])
      #expect(try FileManager.default.contentsOfDirectory(atPath: target) == [])
    }
  }

  @Test("to another file system it is copied, compared, and then removed; its time and mode go along")
  func otherDisk() throws {
    guard let disk = Self.otherDisk else { return }
    let target = disk + "/reel-test-\(UUID().uuidString)"
    try FileManager.default.createDirectory(atPath: target, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: target) }
    var draws = SplitMix64(seed: 3)
    let bytes = draws.bytes(3 << 20)
    try folder.write("drop/a.mp4", bytes)
    try folder.age("drop/a.mp4")
    chmod(folder.path + "/drop/a.mp4", 0o640)
    var steps: [FileDisposal.Step] = []
    let seen = Recorder()
    try FileDisposal(.move(SourcePath(target))) { seen.add($0) }.apply(to: found("a.mp4"))
    steps = seen.steps
    #expect(steps == [.copyMade, .copySynced, .copyNamed, .fileHidden, .fileRemoved])
    #expect(try names("drop") == [])
    #expect(try Data(contentsOf: URL(filePath: target + "/a.mp4")) == Data(bytes))
    #expect(try FileManager.default.contentsOfDirectory(atPath: target) == ["a.mp4"])
    var facts = stat()
    try #require(stat(target + "/a.mp4", &facts) == 0)
    #expect(facts.st_mode & 0o777 == 0o640 && facts.st_mtim.tv_sec == 1_600_000_000)
  }

  private final class Recorder: @unchecked Sendable {
    // Called by one thread.
    private(set) var steps: [FileDisposal.Step] = []
    func add(_ step: FileDisposal.Step) { steps.append(step) }
  }
}
