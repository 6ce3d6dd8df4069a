import Foundation
import Glibc
import ReelCore
import ReelCrypto
import ReelSource
import ReelTestSupport
import Testing

/// A file system that can share blocks between files, in a loop-mounted image.
private final class SharingFileSystem {
  let folder: TemporaryFolder
  var path: String { folder.path + "/mounted" }

  static let isPossible: Bool =
    geteuid() == 0 && access("/usr/sbin/mkfs.xfs", X_OK) == 0 && access("/dev/loop-control", R_OK) == 0

  struct NotMounted: Error {
    let errors: String
  }

  init() throws {
    folder = try TemporaryFolder()
    let image = folder.path + "/image"
    try #require(mkdir(path, 0o700) == 0 && FileManager.default.createFile(atPath: image, contents: nil))
    try #require(truncate(image, 400 << 20) == 0)
    try Self.run("/usr/sbin/mkfs.xfs", ["-q", "-m", "reflink=1", image])
    try Self.run("/usr/bin/mount", ["-o", "loop", image, path])
  }

  deinit { umount2(path, Int32(MNT_DETACH)) }

  private static func run(_ program: String, _ arguments: [String]) throws {
    let process = Process()
    let errors = Pipe()
    process.executableURL = URL(filePath: program)
    process.arguments = arguments
    process.standardError = errors
    try process.run()
    process.waitUntilExit()
    guard process.terminationStatus == 0 else {
      throw NotMounted(errors: String(decoding: errors.fileHandleForReading.availableData, as: UTF8.self))
    }
  }

  /// The number of bytes that the file system has allocated.
  func used() throws -> UInt64 {
    var facts = statvfs()
    try #require(statvfs(path, &facts) == 0)
    return UInt64(facts.f_blocks - facts.f_bfree) * UInt64(facts.f_frsize)
  }
}

@Suite("private copies by sharing blocks", .shortTime)
struct CloneTests {
  @Test(
    "copies have the source's bytes and digest and take no space",
    .enabled(if: SharingFileSystem.isPossible, "it takes root, loop devices and xfsprogs"))
  func clones() throws {
    let mounted = try SharingFileSystem()
    let bytes = [UInt8](repeating: 9, count: 20 << 20)
    let source = mounted.path + "/clip.mp4"
    try Data(bytes).write(to: URL(filePath: source))
    try #require(FileHandle(forUpdatingAtPath: source)).synchronize()
    let file = try FoundFile.named(SourcePath(source), followLinks: false).open()
    let before = try mounted.used()
    let copy = try #require(try PrivateCopy.make(of: file, in: TemporaryStaging(folder: mounted.path)))
    #expect(try mounted.used() < before + 4 << 20)
    #expect(copy.digest == ContentDigest(sha256: SHA256.hash(data: bytes)))
    var held = [UInt8](repeating: 0, count: bytes.count)
    #expect(try held.withUnsafeMutableBytes { try copy.read(into: $0, at: 0) } == bytes.count)
    #expect(held == bytes)
  }
}
