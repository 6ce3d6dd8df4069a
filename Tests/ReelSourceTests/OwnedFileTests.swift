import Foundation
import Glibc
import ReelCore
import ReelCrypto
import ReelTestSupport
import Testing

@testable import ReelSource

@Suite("the program's own files", .shortTime)
struct OwnedFileTests {
  let folder: TemporaryFolder
  let bytes = [UInt8](repeating: 7, count: 10_000)

  init() throws { folder = try TemporaryFolder() }

  private func owned(_ mode: mode_t = 0o600, size: Int64 = 10_000) throws -> OwnedFile {
    let path = try folder.write("whole", bytes)
    try #require(chmod(path.text, mode) == 0)
    let digest = try #require(ContentDigest(sha256: SHA256.hash(data: bytes)))
    return OwnedFile(path: path, digest: digest, size: size)
  }

  /// Finds and opens the file as a run does.
  private func opened(_ file: OwnedFile) throws -> SourceFile {
    guard case .candidate(let found)? = SourceWalk(inputs: [SourceInput(file)]).next(upTo: 1).first else {
      throw SourceError(.notFound, "it was not found (a test)")
    }
    return try found.open()
  }

  @Test("an owned file is used with its declared digest, and one store can take it over once")
  func taken() throws {
    let (file, source) = (try owned(), try opened(try owned()))
    let handle = try #require(source.handle as? OwnedHandle)
    #expect(handle.digest == file.digest && source.size == file.size && handle.isPrivate)
    #expect(try handle.head(20_000) == bytes)
    #expect(handle.takeFile()?.rawValue == handle.descriptor)
    #expect(handle.takeFile() == nil)
  }

  @Test("an owned file that may still be written to is treated like any other file")
  func writer() throws {
    let file = try owned()
    let writer = open(file.path.text, O_RDWR | O_CLOEXEC)
    #expect(try opened(file).handle is OpenedFile)
    let mapped = mmap(nil, 1, PROT_READ | PROT_WRITE, MAP_SHARED, writer, 0)
    try #require(mapped != MAP_FAILED)
    close(writer)
    #expect(try opened(file).handle is OpenedFile)
    munmap(mapped, 1)
    #expect(try opened(file).handle is OwnedHandle)
    #expect(try opened(try owned(0o660)).handle is OpenedFile)
  }

  @Test("an owned file must have its declared size")
  func size() throws {
    let file = try owned(size: 9_999)
    #expect { _ = try opened(file) } throws: { ($0 as? SourceError)?.code == .sourceChanged }
  }

  @Test("an owned file is not accepted behind a link")
  func link() throws {
    let file = try owned()
    try #require(symlink(file.path.text, folder.path + "/link") == 0)
    let linked = OwnedFile(
      path: SourcePath(folder.path + "/link"), digest: file.digest, size: file.size)
    #expect(throws: SourceError.self) { try opened(linked) }
  }

  @Test("a new name or mode does not count as a change; a write does")
  func unchanged() throws {
    let file = try owned()
    let handle = try #require(try opened(file).handle as? OwnedHandle)
    try #require(Glibc.link(file.path.text, folder.path + "/object") == 0)
    try #require(chmod(file.path.text, 0o644) == 0)
    try handle.checkUnchanged()
    try #require(truncate(file.path.text, 9_999) == 0)
    #expect { try handle.checkUnchanged() } throws: { ($0 as? SourceError)?.code == .sourceChanged }
  }

  @Test("an owned file does not have to settle")
  func settle() throws {
    var options = WalkOptions()
    options.settle = .seconds(60)
    let walk = SourceWalk(inputs: [SourceInput(try owned())], options: options)
    guard case .candidate = walk.next(upTo: 1).first else {
      Issue.record("it was left alone")
      return
    }
  }
}
