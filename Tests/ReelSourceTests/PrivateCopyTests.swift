import Foundation
import Glibc
import ReelCore
import ReelCrypto
import ReelSource
import ReelTestSupport
import Synchronization
import Testing

@Suite("private copies", .shortTime)
struct PrivateCopyTests {
  let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  private func source(_ bytes: [UInt8]) throws -> SourceFile {
    try FoundFile.named(try folder.write("f.mp4", bytes), followLinks: false).open()
  }

  private func content(of copy: PrivateCopy, count: Int) throws -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: count + 1)
    let read = try bytes.withUnsafeMutableBytes { try copy.read(into: $0, at: 0) }
    return Array(bytes.prefix(read))
  }

  @Test(
    "a copy has the source's bytes and their digest, whatever its length",
    arguments: [0, 1, 4095, 4096, 262_143, 262_144, 262_145, 2_621_440, 3_000_001])
  func lengths(_ count: Int) throws {
    var draws = SplitMix64(seed: 1)
    let bytes = draws.bytes(count)
    let copy = try #require(
      try PrivateCopy.make(of: try source(bytes), in: TemporaryStaging(folder: folder.path)))
    #expect(copy.digest == ContentDigest(sha256: SHA256.hash(data: bytes)))
    #expect(try content(of: copy, count: count) == bytes)
    #expect(copy.isPrivate && copy.source.size == Int64(count))
  }

  @Test(
    "a copy keeps the bytes that were hashed when the source changes, and can't be written to any more",
    arguments: [10_000, 2_000_000])
  func changed(_ count: Int) throws {
    let file = try source([UInt8](repeating: 7, count: count))
    let copy = try #require(try PrivateCopy.make(of: file, in: TemporaryStaging(folder: folder.path)))
    let writer = try #require(FileHandle(forWritingAtPath: folder.path + "/f.mp4"))
    try writer.write(contentsOf: Data([1, 2, 3]))
    let descriptor = try #require(copy.descriptor)
    #expect(pwrite(descriptor, [1, 2, 3], 3, 0) == -1 && ftruncate(descriptor, 0) == -1)
    #expect(try content(of: copy, count: count) == [UInt8](repeating: 7, count: count))
    let error = #expect(throws: SourceError.self) { try copy.checkUnchanged() }
    #expect(error?.code == .sourceChanged)
  }

  @Test(
    "a copy of a file with holes has its bytes and digest and takes no more space",
    arguments: [0, 1 << 20, 3 << 20])
  func sparse(_ at: Int) throws {
    let folder = try TemporaryFolder()
    let path = try folder.write("f.mp4", [])
    let number = open(path.text, O_RDWR | O_CLOEXEC)
    try #require(pwrite(number, Sample.mp4, Sample.mp4.count, off_t(at)) == Sample.mp4.count)
    try #require(ftruncate(number, 4 << 20) == 0)
    close(number)
    let file = try FoundFile.named(path, followLinks: false).open()
    let copy = try #require(
      try PrivateCopy.make(of: file, in: TemporaryStaging(folder: folder.path), isCancelled: { false }))
    #expect(try copy.digest == SourceDigest.sha256(of: file))
    #expect(try copy.digest == SourceDigest.sha256(of: copy.source))
    var status = stat()
    try #require(fstat(copy.descriptor ?? -1, &status) == 0)
    #expect(status.st_size == 4 << 20 && status.st_blocks <= 1024)
  }

  @Test("a copy of a large file that begins with a hole takes no more space than the file")
  func sparseAndLarge() throws {
    let folder = try TemporaryFolder()
    let path = try folder.write("f.mp4", [])
    let (number, bytes) = (open(path.text, O_RDWR | O_CLOEXEC), [UInt8](repeating: 7, count: 20 << 20))
    try #require(pwrite(number, bytes, bytes.count, 40 << 20) == bytes.count)
    close(number)
    let file = try FoundFile.named(path, followLinks: false).open()
    let copy = try #require(
      try PrivateCopy.make(of: file, in: TemporaryStaging(folder: folder.path), isCancelled: { false }))
    var status = stat()
    try #require(fstat(copy.descriptor ?? -1, &status) == 0)
    #expect(status.st_size == 60 << 20 && Int64(status.st_blocks) * 512 <= 21 << 20)
  }

  @Test("a copy never has a name, even while it is open")
  func nameless() throws {
    let copy = try PrivateCopy.make(of: try source([1, 2, 3]), in: TemporaryStaging(folder: folder.path))
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["f.mp4"])
    withExtendedLifetime(copy) {}
  }

  /// Bytes that differ with each read, although the file's state never changes.
  private struct Flickering: SourceHandle {
    let reads = Counter()
    let identity: FileIdentity
    let count: Int

    final class Counter: Sendable {
      private let value = Mutex(0)
      func next() -> Int {
        value.withLock {
          $0 += 1; return $0
        }
      }
    }

    var descriptor: Int32? { nil }
    func currentIdentity() throws(SourceError) -> FileIdentity { identity }
    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws(SourceError) -> Int {
      let read = max(0, min(buffer.count, count - Int(offset)))
      for index in 0..<read { buffer[index] = UInt8(truncatingIfNeeded: reads.next()) }
      return read
    }
  }

  @Test("a copy has the digest of its own bytes, even if every read of the source returns others")
  func flickering() throws {
    let real = try source([UInt8](repeating: 0, count: 600_000))
    let file = SourceFile(
      path: real.path, identity: real.identity,
      handle: Flickering(identity: real.identity, count: 600_000))
    let copy = try #require(try PrivateCopy.make(of: file, in: TemporaryStaging(folder: folder.path)))
    let held = try content(of: copy, count: 600_000)
    #expect(copy.digest == ContentDigest(sha256: SHA256.hash(data: held)))
    #expect(try content(of: copy, count: 600_000) == held)
  }

  /// The descriptor has another length than the source had when it was found.
  @Test("a source that became shorter or longer is not copied", arguments: [599_999, 600_001])
  func otherLength(_ count: Int) throws {
    let real = try source([UInt8](repeating: 0, count: 600_000))
    let file = SourceFile(
      path: real.path, identity: real.identity, handle: Flickering(identity: real.identity, count: count))
    let staging = TemporaryStaging(folder: folder.path)
    #expect {
      try PrivateCopy.make(of: file, in: staging)
    } throws: { error in
      if case PrivateCopy.Failure.source(let error) = error { error.code == .sourceChanged } else { false }
    }
  }

  @Test("copying ends when it is cancelled")
  func cancelled() throws {
    let file = try source([1])
    #expect(
      try PrivateCopy.make(of: file, in: TemporaryStaging(folder: folder.path), isCancelled: { true }) == nil)
  }

  @Test("small copies are kept in memory up to a limit; others are in the folder")
  func inMemory() throws {
    let staging = TemporaryStaging(folder: folder.path)
    func isInMemory(_ file: any StagedFile) throws -> Bool {
      try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\(file.descriptor)")
        .hasPrefix("/memfd:")
    }
    #expect(try isInMemory(staging.makeFile(upTo: 1000)))
    #expect(try !isInMemory(staging.makeFile(upTo: 2_000_000)))
    #expect(try !isInMemory(staging.makeFile()))
    var many: [any StagedFile] = []
    for _ in 0..<40 { many.append(try staging.makeFile(upTo: 1 << 20)) }
    // Concurrent tests may use some of the limit.
    #expect(try (16...32).contains(many.filter(isInMemory).count))
    many = []
    #expect(try isInMemory(staging.makeFile(upTo: 1 << 20)))
  }

  @Test("a copy that can't be made names the folder and says what to do")
  func noFolder() throws {
    let file = try source([UInt8](repeating: 1, count: 2_000_000))
    let staging = TemporaryStaging(folder: folder.path + "/nowhere")
    #expect {
      try PrivateCopy.make(of: file, in: staging)
    } throws: { error in
      guard case PrivateCopy.Failure.staging(let error) = error else { return false }
      return error.code == .storeUnusable && error.message.contains("/nowhere")
    }
  }
}
