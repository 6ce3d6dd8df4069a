import Foundation
import Glibc
import ReelCore
import ReelSource
import ReelTestSupport
import Synchronization
import Testing

@Suite("digests")
struct DigestTests {
  @Test(
    "digests are SHA-256",
    arguments: [
      ("", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
      ("abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
    ])
  func known(_ text: String, _ hex: String) throws {
    let folder = try TemporaryFolder()
    let file = try FoundFile.named(try folder.write("f.mp4", Array(text.utf8)), followLinks: false).open()
    #expect(try SourceDigest.sha256(of: file)?.hex == hex)
  }

  @Test("a million letters a have the published digest, and progress rises to the size")
  func long() throws {
    let folder = try TemporaryFolder()
    let bytes = [UInt8](repeating: UInt8(ascii: "a"), count: 1_000_000)
    let file = try FoundFile.named(try folder.write("f.mp4", bytes), followLinks: false).open()
    var seen: [Int64] = []
    let digest = try SourceDigest.sha256(of: file, progress: { seen.append($0) })
    #expect(digest?.hex == "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0")
    #expect(seen == seen.sorted() && seen.last == 1_000_000)
  }

  @Test(
    "a file that consists almost only of holes is neither hashed nor copied", .needsSharedMemory,
    arguments: [Int64(1) << 40, 1 << 43, .max])
  func holes(_ size: Int64) throws {
    // Only a file system in memory allows a file of the largest possible size.
    let path = "\(SharedMemory.path)/reel-test-\(UUID().uuidString)"
    let number = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
    try #require(number >= 0)
    defer { unlink(path) }
    for offset in [Int64(0), 1 << 20, 100 << 30] {
      try #require(pwrite(number, Sample.mp4, Sample.mp4.count, off_t(offset)) == Sample.mp4.count)
    }
    try #require(ftruncate(number, off_t(size)) == 0)
    close(number)
    let file = try FoundFile.named(SourcePath(path), followLinks: false).open()
    var chunks = 0
    let isEnough = { () -> Bool in
      chunks += 1
      return chunks > 1000
    }
    let error = #expect(throws: SourceError.self) { try SourceDigest.sha256(of: file, isCancelled: isEnough) }
    #expect(error?.code == .readLimit && chunks == 0)
    #expect(throws: PrivateCopy.Failure.self) {
      try PrivateCopy.make(of: file, in: TemporaryStaging(), isCancelled: isEnough)
    }
    #expect(chunks == 0)
  }

  @Test("holes of a reasonable size are hashed as zeros")
  func someHoles() throws {
    let folder = try TemporaryFolder()
    let path = try folder.write("f.mp4", [1])
    try #require(truncate(path.text, 1 << 20) == 0)
    let file = try FoundFile.named(path, followLinks: false).open()
    var bytes = [UInt8](repeating: 0, count: 1 << 20)
    bytes[0] = 1
    let whole = try FoundFile.named(try folder.write("g.mp4", bytes), followLinks: false).open()
    #expect(try SourceDigest.sha256(of: file) == SourceDigest.sha256(of: whole))
  }

  @Test("hashing ends when it is cancelled")
  func cancelled() throws {
    let folder = try TemporaryFolder()
    let file = try FoundFile.named(try folder.write("f.mp4"), followLinks: false).open()
    #expect(try SourceDigest.sha256(of: file, isCancelled: { true }) == nil)
  }

  @Test("a file that shrinks, grows or changes while it is read has no digest", arguments: [0, 1, 2])
  func changing(_ kind: Int) throws {
    let folder = try TemporaryFolder()
    let bytes = [UInt8](repeating: 7, count: 1 << 20)
    let path = try folder.write("f.mp4", bytes)
    try folder.age("f.mp4")
    let file = try FoundFile.named(path, followLinks: false).open()
    let writer = try #require(FileHandle(forWritingAtPath: path.text))
    let once = Mutex(false)
    #expect(throws: SourceError.self) {
      try SourceDigest.sha256(
        of: file,
        progress: { _ in
          guard
            once.withLock({
              let first = !$0; $0 = true; return first
            })
          else { return }
          switch kind {
          case 0: try? writer.truncate(atOffset: 300_000)
          case 1:
            _ = try? writer.seekToEnd()
            try? writer.write(contentsOf: Data(bytes))
          default: try? writer.write(contentsOf: Data([1, 2, 3]))
          }
        })
    }
  }

  @Test(
    "the speed is measured",
    .enabled(if: ProcessInfo.processInfo.environment["REEL_BENCH_FILE"] != nil, "REEL_BENCH_FILE is not set"))
  func speed() throws {
    let path = SourcePath(ProcessInfo.processInfo.environment["REEL_BENCH_FILE"] ?? "")
    let file = try FoundFile.named(path, followLinks: false).open()
    let clock = ContinuousClock()
    for _ in 0..<3 {
      let time = try clock.measure { _ = try SourceDigest.sha256(of: file) }
      print("SHA-256: \(Double(file.size) / 1e6 / (time / .seconds(1))) MB/s")
    }
  }
}
