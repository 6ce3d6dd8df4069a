import FoundationEssentials
import Glibc
import ReelCore
import ReelTestSupport
import Testing

@testable import ReelStorage

@Suite struct LeftoverTests {
  let folder: TemporaryFolder
  let dead = TemporaryName.newOwner(SeededRandomness(seed: 1))
  let living = TemporaryName.newOwner(SeededRandomness(seed: 2))

  init() throws {
    folder = try TemporaryFolder()
    try #require(mkdir(folder.path(of: "tmp"), 0o700) == 0)
  }

  private func prepare() async throws -> FolderUploader {
    let uploader = FolderUploader(root: folder.path(of: "store"), temporaries: folder.path(of: "tmp"))
    try await uploader.prepare()
    return uploader
  }

  private func names() throws -> Set<String> { try Set(folder.names(in: "tmp")) }

  /// The names left after an uploader was released together with its lock: the last thread that holds it may release
  /// it a moment later.
  private func namesAtTheEnd(_ expected: Set<String>) async throws -> Set<String> {
    _ = try await eventually { try names() == expected }
    return try names()
  }

  @Test func whatTheDeadLeftGoes() async throws {
    for name in [".owner", ".owner.new", ".1.part", ".23.part"] {
      try folder.write([1, 2, 3], to: "tmp/" + dead + name)
    }
    let uploader = try await prepare()
    #expect(try names().filter { $0.hasPrefix(dead) }.isEmpty)
    #expect(try names().count == 1)
    withExtendedLifetime(uploader) {}
  }

  @Test func whatTheLivingHaveStays() async throws {
    let lock = try OwnerLock(directory: folder.path(of: "tmp"), name: living)
    try folder.write([1], to: "tmp/\(living).7.part")
    _ = try await prepare()
    let stay: Set = [living + ".owner", living + ".7.part"]
    #expect(try await namesAtTheEnd(stay) == stay)
    withExtendedLifetime(lock) {}
  }

  @Test func whatDiedWithoutAWordGoes() async throws {
    // As after kill -9: the file still exists, but its lock was released with the process.
    var lock: OwnerLock? = try OwnerLock(directory: folder.path(of: "tmp"), name: dead)
    try folder.write([1], to: "tmp/\(dead).1.part")
    #expect(lock != nil)
    lock = nil
    // A child process of another test may hold the lock between its fork and its exec.
    let isGone = try await eventually {
      _ = try await prepare()
      return try names().isEmpty
    }
    #expect(isGone)
  }

  @Test func whoDiesMeanwhileIsSweptAtTheEnd() async throws {
    var lock: OwnerLock? = try OwnerLock(directory: folder.path(of: "tmp"), name: dead)
    try folder.write([1], to: "tmp/\(dead).1.part")
    var uploader: FolderUploader? = try await prepare()
    #expect(try names().filter { $0.hasPrefix(dead) }.count == 2)
    withExtendedLifetime((lock, uploader)) {}
    lock = nil
    // The next uploader's sweep would remove it, too; this tests the sweep at the end of the current one.
    #expect(try await eventually { try !OwnerLock.isAlive(directory: folder.path(of: "tmp"), name: dead) })
    uploader = nil
    #expect(try await namesAtTheEnd([]).isEmpty)
  }

  @Test(
    "files with other names are left alone",
    arguments: [
      "clip.mp4", ".owner", "x.owner", "upload-.owner", "upload-short.1.part",
      "upload-0123456789012345678901.part",
      "upload-0123456789012345678901.x.part", "upload-0123456789012345678901.1.part.bak",
      "upload-0123456789012345678901", "upload-012345678901234567890-.1.part",
      "Upload-0123456789012345678901.1.part",
      "upload-0123456789012345678901..part", "0123456789012345678901.owner",
    ])
  func notOurs(_ name: String) async throws {
    try folder.write([1], to: "tmp/" + name)
    _ = try await prepare()
    #expect(try await namesAtTheEnd([name]) == [name])
    #expect(TemporaryName.owner(of: name) == nil)
  }

  @Test func ourNamesAreKnown() {
    let owner = TemporaryName.newOwner()
    for name in [TemporaryName.part(owner: owner, attempt: 1), owner + ".owner", owner + ".owner.new"] {
      #expect(TemporaryName.owner(of: name) == owner)
    }
  }

  @Test func anUploaderThatGoesTakesItsLockAlong() async throws {
    var uploader: FolderUploader? = try await prepare()
    #expect(try names().count == 1)
    try await uploader?.prepare()
    #expect(try names().count == 1)
    uploader = nil
    #expect(try await namesAtTheEnd([]).isEmpty)
  }

  @Test func manyMaySweepAtOnce() async throws {
    for number in 0..<20 {
      let owner = TemporaryName.newOwner()
      try folder.write([1], to: "tmp/\(owner).owner")
      try folder.write([1], to: "tmp/\(owner).\(number).part")
    }
    let uploaders = try await withThrowingTaskGroup { group in
      for _ in 0..<12 { group.addTask { try await prepare() } }
      return try await group.reduce(into: []) { $0.append($1) }
    }
    #expect(try names().count == 12)
    for (index, uploader) in uploaders.enumerated() {
      try await uploader.upload(.filled(10), to: key("\(index).mp4"))
    }
  }
}

/// A store's own folder for temporary files, into which processes on other machines may write.
@Suite struct ForeignLeftoverTests {
  let folder: TemporaryFolder
  let foreign = TemporaryName.newOwner(SeededRandomness(seed: 3))

  init() throws {
    folder = try TemporaryFolder()
    for name in ["store", "store/.reel-tmp"] { try #require(mkdir(folder.path(of: name), 0o700) == 0) }
  }

  private func leave(by host: String, secondsAgo: Int) throws {
    try folder.write((host + "\n").utf8, to: "store/.reel-tmp/\(foreign).owner")
    try folder.write([1], to: "store/.reel-tmp/\(foreign).1.part")
    try setTime(of: "\(foreign).owner", secondsAgo: secondsAgo)
  }

  private func setTime(of name: String, secondsAgo: Int) throws {
    var times = [timespec(), timespec()]
    times[1].tv_sec = time(nil) - secondsAgo
    try #require(utimensat(AT_FDCWD, folder.path(of: "store/.reel-tmp/" + name), times, 0) == 0)
  }

  private func namesOfTheForeign() throws -> [String] {
    try folder.names(in: "store/.reel-tmp").filter { $0.hasPrefix(foreign) }
  }

  @Test(
    "what an uploader under another kernel left stays until its lease expires, whatever its lock says here",
    arguments: ["another-boot another-machine", "another-boot", ""])
  func lease(host: String) async throws {
    try leave(by: host, secondsAgo: 3000)
    let uploader = FolderUploader(root: folder.path(of: "store"), lease: .seconds(3600))
    try await uploader.prepare()
    #expect(try namesOfTheForeign() == [foreign + ".1.part", foreign + ".owner"])
    #expect(try await uploader.leftovers() == [])
    try setTime(of: "\(foreign).owner", secondsAgo: 3601)
    #expect(try await uploader.leftovers().count == 2)
    try await uploader.prepare()
    #expect(try namesOfTheForeign() == [])
  }

  @Test func whatADeadOneOfThisKernelLeftGoesAtOnce() async throws {
    try leave(by: HostIdentity.current(), secondsAgo: 0)
    try await FolderUploader(root: folder.path(of: "store")).prepare()
    #expect(try namesOfTheForeign() == [])
  }

  @Test func whatTheLibrarysOwnFolderHoldsIsThisKernels() async throws {
    try #require(mkdir(folder.path(of: "tmp"), 0o700) == 0)
    // As after a power failure: written under another boot, a moment ago.
    try folder.write("another-boot machine\n".utf8, to: "tmp/\(foreign).owner")
    let uploader = FolderUploader(root: folder.path(of: "store"), temporaries: folder.path(of: "tmp"))
    try await uploader.prepare()
    #expect(try !folder.names(in: "tmp").contains(foreign + ".owner"))
    withExtendedLifetime(uploader) {}
  }

  @Test func anUploaderShowsThatItLives() async throws {
    let uploader = FolderUploader(root: folder.path(of: "store"), lease: .milliseconds(60))
    try await uploader.prepare()
    let name = try #require(try folder.names(in: "store/.reel-tmp").first)
    try setTime(of: name, secondsAgo: 3600)
    func secondsAgo() -> Int {
      var status = stat()
      stat(folder.path(of: "store/.reel-tmp/" + name), &status)
      return time(nil) - status.st_mtim.tv_sec
    }
    #expect(try await eventually { secondsAgo() < 1800 })
    withExtendedLifetime(uploader) {}
  }
}

@Suite struct TemporaryFileTests {
  @Test(
    "a sealed file is synced through a writable descriptor, as SMB requires, and is read-only when it gets its name"
  )
  func syncedForWriting() throws {
    let folder = try TemporaryFolder()
    let open = try StoreFolder.open(folder.path)
    try folder.write([9], to: "own")
    do {
      var file = try TemporaryFile.create("part", in: open.rawValue)
      try file.seal()
      let sealed = try Self.facts(of: file.descriptor)
      var synced: Facts?
      weak var writer: Descriptor?
      try file.sync { descriptor throws(SystemError) in
        synced = try Self.facts(of: descriptor)
        writer = descriptor
      }
      let isGone = writer == nil
      #expect(sealed.access == O_RDONLY && synced?.access == O_WRONLY && isGone)
      #expect(synced?.inode == sealed.inode)

      let linked = try TemporaryFile.linking(
        try Descriptor(opening: folder.path(of: "own"), O_RDONLY), as: "linked", in: open.rawValue)
      try linked.sync { descriptor throws(SystemError) in synced = try Self.facts(of: descriptor) }
      #expect(synced?.access == O_RDONLY)
    }
    #expect(try folder.names() == ["own"])
    withExtendedLifetime(open) {}
  }

  private struct Facts {
    let access: Int32
    let inode: ino_t
  }

  private static func facts(of file: Descriptor) throws(SystemError) -> Facts {
    Facts(access: fcntl(file.rawValue, F_GETFL) & O_ACCMODE, inode: try file.status().st_ino)
  }

  @Test func aNameThatIsTakenStaysWhatItIs() throws {
    let folder = try TemporaryFolder()
    let open = try StoreFolder.open(folder.path)
    try folder.write([9], to: "taken")
    do {
      let file = try TemporaryFile.create("part", in: open.rawValue)
      #expect(throws: SystemError(code: EEXIST, call: "rename")) {
        try file.rename(to: "taken", in: open.rawValue)
      }
      #expect(throws: SystemError(code: EEXIST, call: "rename")) {
        try renameAfterLooking("part", in: open.rawValue, to: "taken", in: open.rawValue)
      }
      // If the check fails, nothing is replaced.
      #expect(throws: SystemError(code: ENOTDIR, call: "stat")) {
        try renameAfterLooking("part", in: open.rawValue, to: "taken/free", in: open.rawValue)
      }
      try renameAfterLooking("part", in: open.rawValue, to: "free", in: open.rawValue)
    }
    #expect(try folder.names() == ["free", "taken"])
    #expect(FileManager.default.contents(atPath: folder.path(of: "taken")) == Data([9]))
  }
}
