import ReelCore
import ReelStorage
import ReelStorageTesting
import ReelTestSupport
import Testing

@Suite struct FolderUploaderContractTests {
  @Test("bytes hashed while they are copied", arguments: UploaderContractTest.all)
  func hashed(_ promise: UploaderContractTest) async throws {
    let folder = try TemporaryFolder()
    try await promise.check(
      StoreUnderTest { FolderUploader(root: folder.path(of: "store")) })
    #expect(try folder.names(in: "store") == [".reel-tmp"])
  }

  @Test("bytes copied by the kernel", arguments: UploaderContractTest.all)
  func kernel(_ promise: UploaderContractTest) async throws {
    let folder = try TemporaryFolder()
    try await promise.check(
      StoreUnderTest(sources: .files(folder: folder.path)) { FolderUploader(root: folder.path(of: "store")) })
    #expect(try folder.names(in: "store") == [".reel-tmp"])
  }

  @Test("with a separate folder for temporary files", arguments: UploaderContractTest.all)
  func temporaries(_ promise: UploaderContractTest) async throws {
    let folder = try TemporaryFolder()
    try await promise.check(
      StoreUnderTest(sources: .files(folder: folder.path)) {
        FolderUploader(root: folder.path(of: "store"), temporaries: folder.path(of: "tmp"))
      })
    #expect(try folder.names(in: "store").isEmpty)
    #expect(try await folder.becomesEmpty("tmp"))
  }
}

extension FolderUploaderContractTests {
  @Test(
    "from another file system",
    .needsOtherFileSystem,
    arguments: UploaderContractTest.all)
  func otherFileSystem(_ promise: UploaderContractTest) async throws {
    let folder = try TemporaryFolder()
    try await promise.check(
      StoreUnderTest(sources: .files(folder: SharedMemory.path), largeSize: 3 << 20 + 1) {
        FolderUploader(root: folder.path(of: "store"))
      })
  }
}
