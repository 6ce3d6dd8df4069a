import Foundation
import Glibc
import ReelCore
import ReelTestSupport
import Synchronization
import Testing

@testable import ReelSource

/// Real folders with simulated times.
@Suite("watched folders", .shortTime)
struct FolderWatchTests {
  let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  private func watch(polls: Bool = false, options: WalkOptions = WalkOptions()) -> FolderWatch {
    FolderWatch(
      SourceInput(path: folder.source("drop")), options: options,
      settings: FolderWatch.Settings(
        waits: SettlingFiles.Waits(settle: .seconds(2), secondLook: .seconds(30)), interval: .seconds(10),
        polls: polls))
  }

  /// Returns what `watch` reports at that second, sorted by name.
  /// - Parameter date: The time on the file system's clock. By default far in the past, so that files' times are
  ///   meaningless.
  private func look(_ watch: inout FolderWatch, at second: Double, date: Date = .distantPast) -> [String] {
    var names: [String] = []
    // Until nothing more is due at this moment.
    for _ in 0..<20 {
      for finding in watch.next(upTo: 100, at: .seconds(second), date) {
        switch finding {
        case .open(let path): names.append("\(path.lastComponent.text): open")
        case .file(let file, _): names.append(file.path.lastComponent.text)
        case .failed(let path, let error): names.append("\(path.lastComponent.text): \(error.code)")
        case .notice(let notice): names.append("\(notice)")
        }
      }
    }
    return names.sorted()
  }

  private func write(_ name: String, closing: Bool = true) throws -> Int32 {
    let descriptor = open(folder.path + "/drop/" + name, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
    try #require(descriptor >= 0)
    try #require(Glibc.write(descriptor, Sample.mp4, Sample.mp4.count) == Sample.mp4.count)
    if closing { close(descriptor) }
    return descriptor
  }

  @Test("existing files are reported first, closed or moved ones at once, and open ones when they are closed")
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
    // The file is checked when it is due; it has changed since it was first seen.
    #expect(look(&watch, at: 5.5) == [])
    #expect(look(&watch, at: 7) == [])
    #expect(look(&watch, at: 8) == [] && look(&watch, at: 34) == [])
    // This is reported once.
    #expect(look(&watch, at: 38) == ["open.mp4: open"] && look(&watch, at: 100) == [])
    close(open)
    #expect(look(&watch, at: 100.1) == ["open.mp4"])
  }

  @Test(
    "a file is reported once its writer has removed the place that it kept beside it",
    arguments: [false, true])
  func control(polls: Bool) throws {
    try folder.folder("drop")
    try folder.write("drop/a.mp4.aria2", [1])
    _ = try write("a.mp4")
    var watch = watch(polls: polls)
    #expect((0...60).flatMap { look(&watch, at: Double($0)) } == [])
    try FileManager.default.removeItem(atPath: folder.path + "/drop/a.mp4.aria2")
    #expect((61...100).flatMap { look(&watch, at: Double($0)) } == ["a.mp4"])
  }

  @Test(
    "a video with an unusable sidecar is reported again after the sidecar is replaced or removed",
    arguments: [false, true])
  func invalidSidecar(polls: Bool) throws {
    for name in ["drop", "drop/below"] { try folder.folder(name) }
    func save(_ text: String) throws { try folder.write("drop/below/a.json", Array(text.utf8)) }
    try save("{")
    _ = try write("below/a.mp4")
    var watch = watch(polls: polls)
    func given(_ seconds: ClosedRange<Int>) throws -> FoundFile? {
      var files: [FoundFile] = []
      for second in seconds {
        for _ in 0..<20 {
          for case .file(let file, _) in watch.next(upTo: 100, at: .seconds(second), .distantPast) {
            files.append(file)
          }
        }
      }
      #expect(files.count < 2)
      return files.first
    }
    let file = try #require(try given(0...20))
    watch.hasInvalidSidecar(file, FileDisposal.SidecarState(beside: file), at: .seconds(20))
    #expect(try given(21...50) == nil)
    try save("{}")
    // Not at once: programs save files in several steps.
    #expect(try given(51...51) == nil)
    let again = try #require(try given(52...80))
    // The sidecar changed before its rejection was recorded.
    let old = FileDisposal.SidecarState(beside: again)
    try save("{ }")
    watch.hasInvalidSidecar(again, old, at: .seconds(80))
    let third = try #require(try given(81...110))
    watch.hasInvalidSidecar(third, FileDisposal.SidecarState(beside: third), at: .seconds(110))
    #expect(try given(111...140) == nil)
    try FileManager.default.removeItem(atPath: folder.path + "/drop/below/a.json")
    #expect(try given(141...170) != nil)
    #expect(try given(171...200) == nil)
  }

  @Test("a folder whose name is not UTF-8 is watched like any other")
  func strangeName() throws {
    let path = SourcePath(bytes: Array((folder.path + "/drop").utf8) + [0xFF])
    try #require(path.withCString { mkdir($0, 0o700) } == 0)
    var watch = FolderWatch(
      SourceInput(path: path), options: WalkOptions(),
      settings: FolderWatch.Settings(waits: SettlingFiles.Waits(), interval: .seconds(10), polls: false))
    #expect(look(&watch, at: 0) == [] && watch.watchedFolders == 1)
  }

  @Test("new folders are watched and searched; moved ones are no longer watched")
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
    "a folder that disappears is waited for, and files in its successor are reported",
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

  @Test(
    "while a folder is gone, only the next check for its return is scheduled",
    arguments: [false, true])
  func pauseWhileGone(polls: Bool) throws {
    try folder.folder("drop")
    var watch = watch(polls: polls)
    // An unsettled file is due at 2 s, the next listing of a polled folder at 10 s.
    close(try write("open.mp4", closing: false))
    #expect(look(&watch, at: 0) == [])
    try FileManager.default.removeItem(atPath: folder.path + "/drop")
    #expect(look(&watch, at: 20) == ["gone"])
    #expect(watch.pause(at: .seconds(20)) == .seconds(2))
    #expect(watch.pause(at: .seconds(21)) == .seconds(1))
    #expect(look(&watch, at: 22) == [])
    #expect(watch.pause(at: .seconds(22)) == .seconds(2))
  }

  @Test("a polled file is reported once it was unchanged twice, and again after it has changed")
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

  @Test("a link is reported once, and a file hidden by a process that died gets its name back")
  func leftovers() throws {
    try folder.folder("drop")
    _ = try write("real.mp4")
    try FileManager.default.createSymbolicLink(
      atPath: folder.path + "/drop/link.mp4", withDestinationPath: "real.mp4")
    try FileManager.default.moveItem(
      atPath: folder.path + "/drop/real.mp4", toPath: folder.path + "/drop/.reel-removing-real.mp4")
    var watch = watch()
    #expect(look(&watch, at: 0, date: Date() + 1) == ["link.mp4: isLink", "real.mp4"])
    // Hidden by a process that is still handling it.
    try FileManager.default.moveItem(
      atPath: folder.path + "/drop/real.mp4", toPath: folder.path + "/drop/.reel-removing-real.mp4")
    try folder.age("drop/.reel-removing-real.mp4")
    var next = self.watch()
    #expect(look(&next, at: 1, date: .distantPast) == ["link.mp4: isLink"])
  }

  // MARK: Writers

  @Test(
    "a file that a process has open for writing is not reported as complete, however long it is unchanged",
    arguments: [false, true], ["before", "since", "closedByAnother", "mapped", "reserved"])
  func heldOpen(polls: Bool, way: String) throws {
    try folder.folder("drop")
    var watch = watch(polls: polls)
    if way != "before" { #expect(look(&watch, at: 0) == []) }
    let writer = try write("a.mp4", closing: false)
    var map: UnsafeMutableRawPointer?
    switch way {
    case "closedByAnother": close(try write("a.mp4", closing: false))
    case "mapped":
      let reader = open(folder.path + "/drop/a.mp4", O_RDWR | O_CLOEXEC)
      map = mmap(nil, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, reader, 0)
      close(reader)
      close(writer)
    case "reserved": try #require(posix_fallocate(writer, 0, 1 << 20) == 0)
    default: break
    }
    let date = way == "before" ? Date() + 5000 : .distantPast
    let told = [1.0, 5, 20, 60, 7000].flatMap { look(&watch, at: $0, date: date) }
    #expect(told == ["a.mp4: open"])
    if let map { munmap(map, 4096) } else { close(writer) }
    let after = [7001.0, 7012, 7040].map { look(&watch, at: $0, date: date) }
    #expect(after.joined().elementsEqual(["a.mp4"]), "\(after)")
  }

  @Test(
    "a file with space that was reserved but not written, or with a hole, has to rest longer, even if it was closed"
  )
  func holes() throws {
    try folder.folder("drop")
    var watch = watch()
    #expect(look(&watch, at: 0) == [])
    let writer = try write("a.mp4", closing: false)
    try #require(ftruncate(writer, 1 << 20) == 0)
    close(writer)
    #expect(look(&watch, at: 1) == [] && look(&watch, at: 30) == [])
    #expect(look(&watch, at: 31) == ["a.mp4"])
  }

  /// A watch on a kernel that does not report writers.
  private func blind(
    polls: Bool = false, presumes: Duration? = nil, begun: Date = .distantPast
  ) -> FolderWatch {
    var watch = FolderWatch(
      SourceInput(path: folder.source("drop")), options: WalkOptions(),
      settings: FolderWatch.Settings(
        waits: SettlingFiles.Waits(settle: .seconds(2), secondLook: .seconds(30)), interval: .seconds(10),
        polls: polls, presumesClosed: presumes, begun: begun))
    watch.writers = { _ in .unknown }
    return watch
  }

  /// Returns what `watch` reports at that second, with how each file is known to be closed.
  private func closings(
    _ watch: inout FolderWatch, at second: Double, date: Date = .distantPast
  ) -> [String: Closing] {
    var closings: [String: Closing] = [:]
    for _ in 0..<20 {
      for case .file(let file, let settled) in watch.next(upTo: 100, at: .seconds(second), date) {
        closings[file.path.lastComponent.text] = settled.closing
      }
    }
    return closings
  }

  @Test(
    "where the kernel does not report writers, a file that was not seen closing rests far longer and is not removed"
  )
  func unknown() throws {
    try folder.folder("drop")
    var watch = blind()
    #expect(closings(&watch, at: 0) == [:])
    let writer = try write("open.mp4", closing: false)
    _ = try write("closed.mp4")
    #expect(closings(&watch, at: 1) == ["closed.mp4": .seen])
    for second in [3.0, 10, 59] { #expect(closings(&watch, at: second) == [:], "at \(second)") }
    #expect(closings(&watch, at: 63) == ["open.mp4": .unknown])
    // A stall is not the end: when it is closed, the file is reported as closed.
    #expect(Glibc.write(writer, [0, 0, 0, 8], 4) == 4)
    close(writer)
    #expect(closings(&watch, at: 64) == ["open.mp4": .seen])
  }

  @Test("a file closed without another change waits no longer; a time set by hand is no change")
  func closedLater() throws {
    try folder.folder("drop")
    var watch = blind()
    #expect(closings(&watch, at: 0) == [:])
    let writer = try write("a.mp4", closing: false)
    #expect(closings(&watch, at: 10) == [:] && closings(&watch, at: 20) == [:])
    close(writer)
    #expect(closings(&watch, at: 21) == ["a.mp4": .seen])
    // FTP uploaders do this.
    _ = try write("b.mp4")
    guard case .file(let file, let settled) = watch.next(upTo: 9, at: .seconds(22), .distantPast).first else {
      Issue.record("it was closed")
      return
    }
    try folder.age("drop/b.mp4")
    watch.changed(file, settled, at: .seconds(22))
    #expect(closings(&watch, at: 25) == [:] && closings(&watch, at: 28) == ["b.mp4": .seen])
  }

  @Test(
    "where other machines may write, every file rests far longer; with `presumesClosed` it then counts as closed"
  )
  func unknownPolled() throws {
    try folder.folder("drop")
    _ = try write("a.mp4")
    var watches = [blind(polls: true), blind(polls: true, presumes: .seconds(600))]
    for index in watches.indices {
      for second in stride(from: 0.0, to: 60, by: 5) {
        #expect(closings(&watches[index], at: second) == [:], "at \(second)")
      }
    }
    #expect(closings(&watches[0], at: 62) == ["a.mp4": .unknown])
    #expect(closings(&watches[1], at: 62) == [:] && closings(&watches[1], at: 599) == [:])
    #expect(closings(&watches[1], at: 602) == ["a.mp4": .presumed])
  }

  @Test("a file unchanged for an hour when the watch began counts as closed; a newer one does not")
  func leftAlone() throws {
    try folder.folder("drop")
    _ = try write("a.mp4")
    for (age, closing) in [(4000.0, Closing.presumed), (3000, .unknown)] {
      let begun = Date() + age
      var watch = blind(begun: begun)
      #expect(closings(&watch, at: 0, date: begun) == ["a.mp4": closing])
    }
  }

  // MARK: What can't be watched

  @Test("a folder behind a link is reported once, and watched within a minute after the link is replaced")
  func rootBehindLink() throws {
    try folder.folder("real")
    try folder.link("drop", to: "real")
    var watch = watch()
    #expect(watch.obstacle()?.code == .isLink)
    #expect(look(&watch, at: 0) == ["drop: isLink"])
    #expect(look(&watch, at: 59) == [])
    // The folder that the link led to.
    try folder.remove("drop")
    try FileManager.default.moveItem(atPath: folder.path + "/real", toPath: folder.path + "/drop")
    _ = try write("a.mp4")
    #expect(watch.obstacle() == nil)
    #expect(look(&watch, at: 60) == [])
    #expect(look(&watch, at: 62) == ["a.mp4"])
  }

  @Test("a folder that is excluded, or lies below an excluded one, is reported")
  func rootExcluded() throws {
    try folder.folder("drop")
    let parent = try #require(DirectoryIdentity(at: folder.source))
    var watch = watch(options: WalkOptions(skippedDirectories: [parent]))
    #expect(watch.obstacle()?.code == .outsideRoot)
    #expect(look(&watch, at: 0) == ["drop: outsideRoot"])
  }

  @Test("a folder that may not be listed is reported")
  func rootDenied() throws {
    try folder.folder("drop")
    try #require(chmod(folder.path + "/drop", 0) == 0)
    defer { chmod(folder.path + "/drop", 0o700) }
    var watch = watch()
    withoutRootsRights {
      #expect(watch.obstacle()?.code == .denied)
      #expect(look(&watch, at: 0) == ["drop: denied"])
    }
  }

  @Test(
    "a new folder that becomes readable later is searched and watched within a minute")
  func opensLater() throws {
    try folder.folder("drop/a")
    _ = try write("a/1.mp4")
    try #require(chmod(folder.path + "/drop/a", 0) == 0)
    defer { chmod(folder.path + "/drop/a", 0o700) }
    var watch = watch()
    withoutRootsRights { #expect(look(&watch, at: 0) == ["a: denied"]) }
    try #require(chmod(folder.path + "/drop/a", 0o700) == 0)
    #expect(look(&watch, at: 59) == [])
    #expect(look(&watch, at: 60) == [])
    #expect(look(&watch, at: 62) == ["1.mp4"])
    _ = try write("a/2.mp4")
    #expect(look(&watch, at: 63) == ["2.mp4"])
  }

  @Test("a subfolder on a file system without notifications does not count as watched")
  func tellsNothing() throws {
    let notifications = try FolderNotifications()
    let descriptor = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    try #require(descriptor >= 0)
    notifications.watch(folder.source("drop/far"), Descriptor(adopting: descriptor))
    #expect(notifications.count == 0)
    #expect(notifications.shortcoming?.contains("drop/far is on a file system") == true)
  }

  // MARK: Another folder of the same name

  @Test(
    "a folder that is recreated between two checks is watched, even if it has the inode of the old one")
  func remade() throws {
    try folder.folder("drop")
    var watch = watch()
    #expect(look(&watch, at: 0) == [])
    // Some file systems reuse the inode number, others don't: here it is always the same.
    let (drop, away) = (folder.path + "/drop", folder.path + "/away")
    try FileManager.default.moveItem(atPath: drop, toPath: away)
    try FileManager.default.moveItem(atPath: away, toPath: drop)
    _ = try write("a.mp4")
    #expect(look(&watch, at: 1) == ["back"])
    #expect(look(&watch, at: 3) == ["a.mp4"])
    try folder.remove("drop")
    try folder.folder("drop")
    #expect(look(&watch, at: 3.5) == ["back"])
    _ = try write("b.mp4")
    #expect(look(&watch, at: 3.6) == ["b.mp4"])
  }

  @Test("files below an unmounted mount point are not taken in")
  func unmounted() throws {
    try folder.folder("drop")
    _ = try write("on it.mp4")
    let mounts = Mounts()
    var watch = watch()
    watch.isMounted = { _, _ in mounts.isMounted.load(ordering: .relaxed) }
    #expect(look(&watch, at: 0, date: Date() + 10) == ["on it.mp4"])
    mounts.isMounted.store(false, ordering: .relaxed)
    _ = try write("beneath.mp4")
    // Unmounting reveals another folder; here `isMounted` and a move simulate that.
    let (drop, away) = (folder.path + "/drop", folder.path + "/away")
    try FileManager.default.moveItem(atPath: drop, toPath: away)
    try FileManager.default.moveItem(atPath: away, toPath: drop)
    #expect(look(&watch, at: 2) == ["gone"])
    _ = try write("also beneath.mp4")
    #expect(look(&watch, at: 9) == [] && !watch.isThere)
    mounts.isMounted.store(true, ordering: .relaxed)
    #expect(look(&watch, at: 12) == ["back"])
  }

  @Test("mounts below a folder are read from the kernel's table, whatever their names")
  func mountTable() {
    let table = """
      36 35 98:0 / /srv/drop rw,noatime shared:1 - ext4 /dev/a rw
      37 35 98:1 / /srv/drop/my\\040disk\\134 rw master:2 - ext4 /dev/b rw
      38 35 98:2 / /srv/drop2/x rw - ext4 /dev/c rw
      39 37 98:3 / /srv/drop/my\\040disk\\134 rw - xfs /dev/d rw
      40 35 0:42 /sub /srv/drop/a/b rw - nfs server:/x rw
      short line
      """
    let mounts = MountTable.mounts(in: Array(table.utf8), below: Array("/srv/drop".utf8))
    #expect(Set(mounts.keys.map { String(decoding: $0, as: UTF8.self) }) == ["my disk\\", "a/b"])
    #expect(mounts[Array("my disk\\".utf8)]?.starts(with: "39 ".utf8) == true)
    #expect(MountTable.mounts(in: Array(table.utf8), below: Array("/".utf8)).count == 4)
  }

  private static let canMount: Bool = {
    let place = FileManager.default.temporaryDirectory.appendingPathComponent(
      "reel-test-\(UUID().uuidString)"
    ).path
    guard geteuid() == 0, mkdir(place, 0o700) == 0 else { return false }
    defer { rmdir(place) }
    guard mount("tmpfs", place, "tmpfs", 0, nil) == 0 else { return false }
    return umount2(place, Int32(MNT_DETACH)) == 0
  }()

  @Test(
    "a disk mounted below is noticed each time it is mounted, and its files are watched",
    .enabled(if: canMount, "nothing can be mounted"))
  func mountedBelow() throws {
    try folder.folder("drop/a b/disk")
    var watch = watch()
    #expect(look(&watch, at: 0) == [])
    let place = folder.path + "/drop/a b/disk"
    defer { umount2(place, Int32(MNT_DETACH)) }
    for round in 0..<2 {
      let start = Double(round * 100)
      try #require(mount("tmpfs", place, "tmpfs", 0, nil) == 0)
      _ = try write("a b/disk/\(round).mp4")
      try folder.folder("drop/a b/disk/deep")
      #expect(look(&watch, at: start + 10) == [])
      #expect(look(&watch, at: start + 13) == ["\(round).mp4"])
      _ = try write("a b/disk/deep/\(round)-later.mp4")
      #expect(look(&watch, at: start + 14) == ["\(round)-later.mp4"])
      try #require(umount2(place, Int32(MNT_DETACH)) == 0)
      #expect(look(&watch, at: start + 30) == [])
      // The folder below the mount point is like any other.
      _ = try write("a b/disk/beneath-\(round).mp4")
      #expect(look(&watch, at: start + 31) == ["beneath-\(round).mp4"])
    }
  }

  /// What the system would report.
  private final class Mounts: Sendable {
    let isMounted = Atomic(true)
  }

  @Test(
    "what is known about files is forgotten within an hour after their folder is gone, so that it does not accumulate"
  )
  func tidies() throws {
    try folder.folder("drop/a")
    var watch = watch()
    #expect(look(&watch, at: 0) == [])
    _ = try write("a/1.mp4")
    // A link does not prevent this.
    try folder.link("drop/link.mp4", to: "a/1.mp4")
    #expect(look(&watch, at: 1) == ["1.mp4", "link.mp4: isLink"])
    let (inside, outside) = (folder.path + "/drop/a", folder.path + "/a")
    try FileManager.default.moveItem(atPath: inside, toPath: outside)
    #expect(look(&watch, at: 2) == [])
    #expect(look(&watch, at: 3602) == [])
    // The folder counts as new.
    try FileManager.default.moveItem(atPath: outside, toPath: inside)
    #expect(look(&watch, at: 3603) == [])
    #expect(look(&watch, at: 3606) == ["1.mp4"])
  }
}
