import FoundationEssentials
import Glibc
import ReelCore
import ReelStorage
import ReelTestSupport
import Testing

/// Which objects of a folder store are replaced, and which never are.
@Suite struct ReplacingTests {
  let folder: TemporaryFolder
  let store: FolderUploader

  init() throws {
    folder = try TemporaryFolder()
    store = FolderUploader(root: folder.path(of: "store"), temporaries: folder.path(of: "tmp"))
  }

  private func bytes() throws -> Data {
    try Data(contentsOf: URL(filePath: folder.path(of: "store/a.mp4")))
  }

  private func inode() throws -> ino_t {
    var status = stat()
    try #require(lstat(folder.path(of: "store/a.mp4"), &status) == 0)
    return status.st_ino
  }

  @Test func whatIsSoundStays() async throws {
    try await store.prepare()
    try await store.upload(.filled(100), to: key("a.mp4"))
    let before = try inode()
    #expect(try await !store.replaceDamaged(key("a.mp4"), with: .filled(100)))
    #expect(try inode() == before)
  }

  @Test("an object of another length or with other bytes is replaced", arguments: [3, 100])
  func whatIsDamagedIsReplaced(_ length: Int) async throws {
    try await store.prepare()
    try await store.upload(.filled(length, with: 9), to: key("a.mp4"))
    #expect(try await store.replaceDamaged(key("a.mp4"), with: .filled(100)))
    #expect(try bytes() == Data(repeating: 7, count: 100))
    #expect(try folder.names(in: "store") == ["a.mp4"])
    #expect(try folder.names(in: "tmp").allSatisfy { $0.hasSuffix(".owner") })
  }

  @Test func aSourceThatIsSomethingElseReplacesNothing() async throws {
    try await store.prepare()
    try await store.upload(.filled(100, with: 9), to: key("a.mp4"))
    let other = UploadSource(
      size: 100, digest: try UploadSource.filled(100).digest, contentType: "video/mp4",
      bytes: MemoryBytes(bytes: [UInt8](repeating: 8, count: 100)))
    #expect(await uploadCode { try await store.replaceDamaged(key("a.mp4"), with: other) } == .sourceChanged)
    #expect(try bytes() == Data(repeating: 9, count: 100))
  }

  @Test func whatIsNotThereOrNoFileIsNotReplaced() async throws {
    try await store.prepare()
    #expect(
      await uploadCode { try await store.replaceDamaged(key("a.mp4"), with: .filled(100)) } == .conflict)
    mkdir(folder.path(of: "store/a.mp4"), 0o700)
    #expect(
      await uploadCode { try await store.replaceDamaged(key("a.mp4"), with: .filled(100)) } == .conflict)
    symlink("/etc/hostname", folder.path(of: "store/b.mp4"))
    #expect(
      await uploadCode { try await store.replaceDamaged(key("b.mp4"), with: .filled(100)) } == .conflict)
  }
}
