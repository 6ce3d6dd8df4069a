import CReel
import Dispatch
import Foundation
import Glibc
import ReelCore
import ReelTestSupport
import Synchronization
import Testing

@testable import ReelSource

@Suite("moving and removing files after publication", .shortTime)
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

  /// A new folder on another file system.
  private static func otherDisk() throws -> String {
    let folder = "\(SharedMemory.path)/reel-test-\(UUID().uuidString)"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    return folder
  }

  @Test("a file is moved to the folder with its sidecar, under a free name")
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

  @Test("each of many files with one name is moved in a few attempts")
  func sameName() throws {
    try folder.folder("done")
    let calls = Mutex(0)
    let count = 300
    var disposal = FileDisposal(.move(folder.source("done")))
    disposal.renaming = { source, old, target, new throws(SystemError) in
      calls.withLock { $0 += 1 }
      try FileDisposal.Folder.systemRename(source, old, target, new)
    }
    for _ in 0..<count {
      for name in ["a.mp4", "a.json"] { try folder.write("drop/" + name) }
      try disposal.apply(to: found("a.mp4"))
    }
    #expect(calls.withLock { $0 } <= 3 * 2 * count)
    let numbers = ["a"] + (1..<count).map { "a-\($0)" }
    #expect(try Set(names("done")) == Set(numbers.flatMap { ["\($0).mp4", "\($0).json"] }))
  }

  @Test("an error names the folder that is full or not writable", arguments: [ENOSPC, EDQUOT, EACCES, EIO])
  func whichFolder(_ code: Int32) throws {
    try folder.folder("done")
    try folder.write("drop/a.mp4")
    var disposal = FileDisposal(.move(folder.source("done")))
    disposal.renaming = { _, _, _, _ throws(SystemError) in throw SystemError(code: code, call: "renameat2") }
    let error = #expect(throws: SourceError.self) { try disposal.apply(to: found("a.mp4")) }
    #expect(error?.message.contains("moved to \(folder.path)/done") == true, "\(error?.message ?? "")")
    #expect(try names("drop") == ["a.mp4"])
  }

  @Test("a sidecar that belongs to another video, too, stays")
  func shared() throws {
    // The cached names of the folder may be older than the first video's removal.
    let folders = FileDisposal.Folders()
    for name in ["a.mp4", "a.mov", "a.json"] { try folder.write("drop/" + name) }
    try FileDisposal(.delete, folders: folders).apply(to: found("a.mp4"))
    #expect(try names("drop") == ["a.json", "a.mov"])
    try FileDisposal(.delete, folders: folders).apply(to: found("a.mov"))
    #expect(try names("drop") == [])
  }

  @Test("a sidecar that arrived for the next video of this name stays")
  func nextSidecar() throws {
    for name in ["a.mp4", "a.json", "b.mp4"] { try folder.write("drop/" + name) }
    let (file, later) = (try found("a.mp4"), try found("b.mp4"))
    let (seen, none) = (FileDisposal.SidecarState(beside: file), FileDisposal.SidecarState(beside: later))
    try folder.write("next.json", Array("{}".utf8))
    rename(folder.path + "/next.json", folder.path + "/drop/a.json")
    try FileDisposal(.delete).apply(to: file, sidecar: seen)
    #expect(try names("drop") == ["a.json", "b.mp4"])
    // This sidecar arrived where there was none before, so it may have been read.
    try folder.write("drop/b.json")
    try FileDisposal(.delete).apply(to: later, sidecar: none)
    #expect(try names("drop") == ["a.json"])
  }

  @Test("a rejected file has a text beside it that says why")
  func rejected() throws {
    try folder.folder("no")
    try folder.write("drop/a.mp4")
    try FileDisposal(.move(folder.source("no"))).apply(to: found("a.mp4"), reason: "it is a text\n")
    #expect(try names("no") == ["a.mp4", "a.mp4.txt"])
    #expect(try String(contentsOfFile: folder.path + "/no/a.mp4.txt", encoding: .utf8) == "it is a text\n")
  }

  @Test("a file that was replaced or written to stays", arguments: ["replaced", "written", "gone"])
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

  @Test("a file that replaces it at the last moment gets its name back", arguments: [false, true])
  func race(moves: Bool) throws {
    try folder.folder("done")
    try folder.write("drop/a.mp4")
    try folder.write("drop/a.json", Array("{}".utf8))
    try folder.write("other.mp4", [1, 2, 3])
    let kind = moves ? FileDisposal.Kind.move(folder.source("done")) : .delete
    let path = folder.path
    // The sidecar is removed after the check of the video and before the video.
    let disposal = FileDisposal(kind) { step in
      if step == .sidecarDisposed { rename(path + "/other.mp4", path + "/drop/a.mp4") }
    }
    let error = #expect(throws: SourceError.self) { try disposal.apply(to: found("a.mp4")) }
    #expect(error?.code == .sourceChanged)
    #expect(try Data(contentsOf: URL(filePath: path + "/drop/a.mp4")) == Data([1, 2, 3]))
  }

  @Test(
    "a file that a process has open for writing stays, even if it was opened at the last moment",
    arguments: [false, true], [false, true])
  func heldOpen(moves: Bool, isEarly: Bool) throws {
    try folder.folder("done")
    try folder.write("drop/a.mp4")
    let path = folder.path + "/drop/a.mp4"
    let writer = Mutex<Int32>(-1)
    let kind = moves ? FileDisposal.Kind.move(folder.source("done")) : .delete
    if isEarly { writer.withLock { $0 = open(path, O_WRONLY | O_CLOEXEC) } }
    var disposal = FileDisposal(kind)
    // At the first check, the kernel may rightly report no writer.
    let system = disposal.writers
    disposal.writers = { file in
      let answer = system(file)
      writer.withLock { if $0 < 0 { $0 = open(path, O_WRONLY | O_CLOEXEC) } }
      return answer
    }
    let error = #expect(throws: SourceError.self) {
      try disposal.apply(to: found("a.mp4"), reason: moves ? "it is a text" : nil)
    }
    #expect(error?.code == .sourceChanged)
    #expect(try names("drop") == ["a.mp4"] && names("done") == [])
    close(writer.withLock { $0 })
    try FileDisposal(kind).apply(to: found("a.mp4"))
    #expect(try names("drop") == [] && names("done") == (moves ? ["a.mp4"] : []))
  }

  @Test("a file that is already in the target folder stays as it is")
  func inPlace() throws {
    try folder.write("drop/a.mp4")
    try folder.write("drop/a.json", Array("{}".utf8))
    let place = try FileDisposal(.move(folder.source("drop"))).apply(to: found("a.mp4"), reason: "no")
    #expect(place == folder.source("drop/a.mp4"))
    #expect(try names("drop") == ["a.json", "a.mp4"])
  }

  @Test("a missing folder is named")
  func noFolder() throws {
    try folder.write("drop/a.mp4")
    let error = #expect(throws: SourceError.self) {
      try FileDisposal(.move(folder.source("nowhere"))).apply(to: found("a.mp4"))
    }
    #expect(error?.code == .unreadable && error?.message.contains("nowhere is not there") == true)
  }

  @Test("a file left hidden by a crash does not interfere and is restored under a free name")
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

  @Test("a hidden file whose name is taken again is restored beside it")
  func takenMeanwhile() throws {
    try folder.write("drop/a.mp4")
    let file = try found("a.mp4")
    let path = folder.path + "/drop/"
    let disposal = FileDisposal(.delete) { step in
      guard step == .fileHidden else { return }
      // Another file takes the hidden name, and its successor has already arrived.
      try? Data([5]).write(to: URL(filePath: path + ".reel-removing-a.mp4"), options: .atomic)
      try? Data([6]).write(to: URL(filePath: path + "a.mp4"))
    }
    let error = #expect(throws: SourceError.self) { try disposal.apply(to: file) }
    #expect(error?.code == .sourceChanged)
    #expect(try names("drop") == ["a-1.mp4", "a.mp4"])
  }

  @Test("names of the maximum length work, and are cut between characters")
  func longNames() throws {
    try folder.folder("no")
    let name = String(repeating: "é", count: 125) + ".mp4"
    try folder.write("no/" + name)
    for kind in [FileDisposal.Kind.delete, .move(folder.source("no"))] {
      try folder.write("drop/" + name)
      try FileDisposal(kind).apply(to: found(name), reason: "no")
      #expect(try names("drop") == [])
    }
    // There is space for the text's name, too.
    let moved = String(repeating: "é", count: 123) + ".mp4"
    #expect(try Set(names("no")) == [name, moved, moved + ".txt"])
  }

  @Test("names are cut to the shorter limit of encrypted folders")
  func shortNames() throws {
    try folder.folder("no")
    let name = String(repeating: "é", count: 69) + ".mp4"
    for kind in [FileDisposal.Kind.delete, .move(folder.source("no")), .move(folder.source("no"))] {
      try folder.write("drop/" + name)
      var disposal = FileDisposal(kind)
      disposal.renaming = { source, old, target, new throws(SystemError) in
        if new.count > 143 { throw SystemError(code: ENAMETOOLONG, call: "renameat2") }
        try FileDisposal.Folder.systemRename(source, old, target, new)
      }
      try disposal.apply(to: found(name))
      #expect(try names("drop") == [])
    }
    #expect(try Set(names("no")) == [name, String(repeating: "é", count: 68) + "-1.mp4"])
  }

  /// On a case-insensitive file system, the sidecar is listed under another name than the one it is found by.
  @Test("a sidecar listed in another letter case is removed with its video and not taken for another's")
  func otherLetters() throws {
    for other in [false, true] {
      for name in ["CLIP.MP4", "CLIP.json"] + (other ? ["CLIP.MOV"] : []) { try folder.write("drop/" + name) }
      try #require(link(folder.path + "/drop/CLIP.json", folder.path + "/drop/CLIP.JSON") == 0)
      try FileDisposal(.delete).apply(to: found("CLIP.MP4"))
      // Only here are these two separate names.
      #expect(try names("drop").contains("CLIP.json") == other)
      for name in try names("drop") {
        try FileManager.default.removeItem(atPath: folder.path + "/drop/" + name)
      }
    }
  }

  @Test(
    "the reason for a rejection is written before the file is moved, and one left incomplete by a crash is completed"
  )
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

  // MARK: The target folder

  @Test("a link or another folder put in place of the opened one receives nothing")
  func anotherFolder() throws {
    try folder.folder("done")
    try folder.folder("elsewhere")
    let folders = FileDisposal.Folders()
    let disposal = FileDisposal(.move(folder.source("done")), folders: folders)
    try folders.open(folder.source("done"))
    try folder.write("drop/a.mp4")
    try disposal.apply(to: found("a.mp4"))
    try #require(rename(folder.path + "/done", folder.path + "/aside") == 0)
    try folder.link("done", to: "elsewhere")
    for reason in [nil, "it is a text"] {
      try folder.write("drop/b.mp4")
      let error = #expect(throws: SourceError.self) {
        try FileDisposal(.move(folder.source("done")), folders: folders).apply(
          to: found("b.mp4"), reason: reason)
      }
      #expect(error?.code == .unreadable && error?.message.contains("not the one that was there") == true)
    }
    #expect(try names("elsewhere") == [] && names("drop") == ["b.mp4"] && names("aside") == ["a.mp4"])
    try folder.remove("done")
    try folder.folder("done")
    #expect(throws: SourceError.self) { try disposal.apply(to: found("b.mp4")) }
    #expect(try names("done") == [] && names("drop") == ["b.mp4"])
    // Put back, it is used again; a link to it works as well.
    try folder.remove("done")
    try folder.link("done", to: "aside")
    try disposal.apply(to: found("b.mp4"))
    #expect(try names("aside") == ["a.mp4", "b.mp4"] && names("drop") == [])
  }

  // MARK: Without a rename that never replaces

  /// Acts as on NFS and SMB. `between` is called before each rename, with its number.
  private func crude(
    _ kind: FileDisposal.Kind, _ between: @escaping @Sendable (Int) -> Void = { _ in }
  ) -> FileDisposal {
    let count = Mutex(0)
    var disposal = FileDisposal(kind)
    disposal.renaming = { _, _, _, _ throws(SystemError) in
      between(
        count.withLock {
          $0 += 1; return $0
        })
      throw SystemError(code: EINVAL, call: "renameat2")
    }
    return disposal
  }

  @Test("without a rename that never replaces, files are still moved, and none is overwritten")
  func crudeRename() throws {
    try folder.folder("done")
    try folder.write("done/a.mp4", [9])
    for kind in [FileDisposal.Kind.delete, .move(folder.source("done"))] {
      try folder.write("drop/a.mp4")
      try folder.write("drop/a.json", Array("{}".utf8))
      try crude(kind).apply(to: found("a.mp4"), reason: nil)
      #expect(try names("drop") == [])
    }
    #expect(try names("done") == ["a-1.json", "a-1.mp4", "a.mp4"])
    #expect(try Data(contentsOf: URL(filePath: folder.path + "/done/a.mp4")) == Data([9]))
  }

  /// Replaces a file with one version after another, gives each a second name before the next replaces it, and keeps
  /// those open that have no second name.
  private final class Replacer: Sendable {
    let versions = Mutex<[UInt64: Int32]>([:])
    let isWanted = Atomic(true)
    let hasEnded = DispatchSemaphore(value: 0)

    func run(in path: String) {
      let (drop, draft) = (path + "/drop/a.mp4", path + "/draft")
      for number in 0..<100_000 where isWanted.load(ordering: .relaxed) {
        let file = open(draft, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        _ = write(file, "\(number)", "\(number)".utf8.count)
        close(file)
        let held = open(draft, O_RDONLY | O_CLOEXEC)
        guard let version = inode(of: draft) else { continue }
        versions.withLock { $0[version] = held }
        let saved = "\(path)/saved/\(number)"
        if save(drop, as: saved) {
          rename(draft, drop)
        } else {
          // A file that was restored since then is not replaced.
          while isWanted.load(ordering: .relaxed),
            reel_rename_without_replacing(AT_FDCWD, draft, AT_FDCWD, drop) != 0
          {
            if save(drop, as: saved) { rename(draft, drop); break }
          }
        }
      }
      hasEnded.signal()
    }

    private func save(_ path: String, as saved: String) -> Bool {
      guard link(path, saved) == 0 else { return false }
      if let version = inode(of: saved), let held = versions.withLock({ $0.removeValue(forKey: version) }) {
        close(held)
      }
      return true
    }

    private func inode(of path: String) -> UInt64? {
      var status = stat()
      return stat(path, &status) == 0 ? UInt64(status.st_ino) : nil
    }
  }

  @Test(
    "without a rename that never replaces, a file that arrives at any moment is not lost",
    arguments: [false, true])
  func crudeRace(moves: Bool) throws {
    for name in ["done", "saved"] { try folder.folder(name) }
    let (path, replacer) = (folder.path, Replacer())
    DispatchQueue(label: "replacer").async { replacer.run(in: path) }
    let kind = moves ? FileDisposal.Kind.move(folder.source("done")) : .delete
    var removed: Set<UInt64> = []
    let rounds = TestForm.isLong ? 20_000 : 3000
    for _ in 0..<rounds {
      guard let file = try? found("a.mp4") else { continue }
      do throws(SourceError) {
        try crude(kind).apply(to: file)
        if !moves { removed.insert(file.identity.inode) }
      } catch {}
    }
    replacer.isWanted.store(false, ordering: .relaxed)
    replacer.hasEnded.wait()
    for (inode, held) in replacer.versions.withLock({ $0 }) {
      var status = stat()
      fstat(held, &status)
      #expect(status.st_nlink > 0 || removed.contains(inode))
      close(held)
    }
    #expect(try names("drop").filter { $0.hasPrefix(".") } == [])
  }

  @Test("a draft belongs to one process; only those that dead processes left are removed")
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

  @Test("if a copy's name is taken by another file, the original is kept", .needsOtherFileSystem)
  func copyTaken() throws {
    let target = try Self.otherDisk()
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

  @Test(
    "a copy whose name can't be made durable is removed: the next attempt makes another",
    .needsOtherFileSystem)
  func copyNotDurable() throws {
    let target = try Self.otherDisk()
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

  @Test(
    "a file is moved to another file system by copying, comparing and removing; its time and mode are kept",
    .needsOtherFileSystem)
  func movedElsewhere() throws {
    let target = try Self.otherDisk()
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
    // Called from one thread only.
    private(set) var steps: [FileDisposal.Step] = []
    func add(_ step: FileDisposal.Step) { steps.append(step) }
  }
}
