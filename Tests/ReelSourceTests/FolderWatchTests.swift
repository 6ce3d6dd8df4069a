import Foundation
import Glibc
import ReelCore
import ReelTestSupport
import Testing

@testable import ReelSource

/// Real folders, and times that are made up.
@Suite("Folders that are watched", .shortTime)
struct FolderWatchTests {
  let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  private func watch(polls: Bool = false) -> FolderWatch {
    FolderWatch(
      SourceInput(path: folder.source("drop")), options: WalkOptions(),
      settings: FolderWatch.Settings(
        waits: SettlingFiles.Waits(settle: .seconds(2), secondLook: .seconds(30)), interval: .seconds(10),
        polls: polls))
  }

  /// What `watch` gives at that second, in the order of names.
  /// - Parameter date: by the clock that files' times are of; in the past, so that they say nothing, unless told.
  private func look(_ watch: inout FolderWatch, at second: Double, date: Date = .distantPast) -> [String] {
    var names: [String] = []
    // Until there is nothing more to do at this moment.
    for _ in 0..<20 {
      for finding in watch.next(upTo: 100, at: .seconds(second), date) {
        switch finding {
        case .file(let file, _): names.append(file.path.lastComponent.text)
        case .failed(let path, let error): names.append("\(path.lastComponent.text): \(error.code)")
        case .notice(let notice): names.append("\(notice)")
        }
      }
    }
    return names.sorted()
  }

  private func write(_ name: String, closing: Bool = true) throws -> Int32 {
    let descriptor = open(folder.path + "/drop/" + name, O_WRONLY | O_CREAT | O_APPEND, 0o600)
    try #require(descriptor >= 0)
    try #require(Glibc.write(descriptor, Sample.mp4, Sample.mp4.count) == Sample.mp4.count)
    if closing { close(descriptor) }
    return descriptor
  }

  @Test("what lies there comes first, what is closed or moved in at once, what stays open when it rests")
  func comes() throws {
    try folder.folder("drop")
    _ = try write("old.mp4")
    var watch = watch()
    #expect(look(&watch, at: 0, date: Date() + 10) == ["old.mp4"])
    _ = try write("closed.mp4")
    let open = try write("open.mp4", closing: false)
    _ = try write("half.mp4.part")
    _ = try write(".hidden.mp4")
    #expect(look(&watch, at: 3) == ["closed.mp4"])
    try FileManager.default.moveItem(
      atPath: folder.path + "/drop/half.mp4.part", toPath: folder.path + "/drop/half.mp4")
    #expect(look(&watch, at: 4) == ["half.mp4"])
    #expect(Glibc.write(open, [0, 0, 0, 8], 4) == 4)
    // It is looked at when it is due, and has changed since it was first seen.
    #expect(look(&watch, at: 5.5) == [])
    #expect(look(&watch, at: 7) == [])
    #expect(look(&watch, at: 8) == ["open.mp4"])
    close(open)
    #expect(look(&watch, at: 20) == [])
  }

  @Test("folders that appear are watched and looked through; those that move away are not watched any more")
  func folders() throws {
    try folder.folder("drop")
    var watch = watch()
    #expect(look(&watch, at: 0) == [])
    try folder.folder("drop/a/b")
    _ = try write("a/b/1.mp4")
    #expect(look(&watch, at: 1) == [])
    #expect(look(&watch, at: 4) == ["1.mp4"])
    _ = try write("a/b/2.mp4")
    #expect(look(&watch, at: 5) == ["2.mp4"])
    #expect(watch.watchedFolders == 3)
    try FileManager.default.moveItem(atPath: folder.path + "/drop/a", toPath: folder.path + "/a")
    #expect(look(&watch, at: 6) == [])
    #expect(watch.watchedFolders == 1)
    _ = try write("../a/b/3.mp4")
    #expect(look(&watch, at: 9) == [])
  }

  @Test(
    "a folder that goes is waited for, and what is in the next one of its name comes",
    arguments: [false, true])
  func gone(polls: Bool) throws {
    try folder.folder("drop")
    var watch = watch(polls: polls)
    #expect(look(&watch, at: 0) == [])
    try FileManager.default.removeItem(atPath: folder.path + "/drop")
    #expect(look(&watch, at: 5) == ["gone"])
    #expect(look(&watch, at: 10) == [])
    try folder.folder("drop")
    _ = try write("new.mp4")
    #expect(look(&watch, at: 15) == ["back"])
    #expect(look(&watch, at: 30) == ["new.mp4"])
    #expect(look(&watch, at: 60) == [])
  }

  @Test("listed again and again, a file comes once it was the same twice, and again when it has changed")
  func polled() throws {
    try folder.folder("drop")
    var watch = watch(polls: true)
    _ = try write("a.mp4")
    #expect(look(&watch, at: 0) == [])
    #expect(look(&watch, at: 2) == ["a.mp4"])
    #expect(look(&watch, at: 12) == [])
    _ = try write("a.mp4")
    #expect(look(&watch, at: 24) == [])
    #expect(look(&watch, at: 26) == ["a.mp4"])
    try FileManager.default.removeItem(atPath: folder.path + "/drop/a.mp4")
    #expect(look(&watch, at: 40) == [])
    #expect(watch.waiting == 0)
  }

  @Test("a link is told once, and a file that was on its way out when the process died gets its name back")
  func leftovers() throws {
    try folder.folder("drop")
    _ = try write("real.mp4")
    try FileManager.default.createSymbolicLink(
      atPath: folder.path + "/drop/link.mp4", withDestinationPath: "real.mp4")
    try FileManager.default.moveItem(
      atPath: folder.path + "/drop/real.mp4", toPath: folder.path + "/drop/.reel-removing-real.mp4")
    var watch = watch()
    #expect(look(&watch, at: 0, date: Date() + 1) == ["link.mp4: isLink", "real.mp4"])
    // Hidden by whoever is at it now.
    try FileManager.default.moveItem(
      atPath: folder.path + "/drop/real.mp4", toPath: folder.path + "/drop/.reel-removing-real.mp4")
    try folder.age("drop/.reel-removing-real.mp4")
    var next = self.watch()
    #expect(look(&next, at: 1, date: .distantPast) == ["link.mp4: isLink"])
  }
}
