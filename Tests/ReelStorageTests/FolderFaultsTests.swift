import Foundation
import Glibc
import ReelCore
import ReelTestSupport
import Testing

@testable import ReelStorage

/// Faults that the system reports.
@Suite(.needsMounting)
struct FolderFaultsTests {
  @Test func aFullDiskIsSaidAndLeavesNothing() async throws {
    let disk = try #require(TinyDisk(kilobytes: 1024))
    let uploader = FolderUploader(root: disk.path + "/store")
    try await uploader.prepare()
    let error = await #expect(throws: UploadError.self) {
      try await uploader.upload(.filled(2 << 20), to: key("a.mp4"))
    }
    #expect(error?.code == .storeFull)
    #expect(error?.message.contains(disk.path) == true)
    #expect(try await uploader.find(key("a.mp4")) == nil)
    // There is space again, and the rest of the batch continues.
    try await uploader.upload(.filled(900 << 10), to: key("b.mp4"))
  }

  @Test func aReadOnlyStoreEndsTheRun() async throws {
    let disk = try #require(TinyDisk(kilobytes: 1024))
    try await fill(disk.path + "/store")
    try #require(disk.makeReadOnly())
    let uploader = FolderUploader(root: disk.path + "/store")
    #expect(await uploadCode { try await uploader.prepare() } == .storeUnusable)
    #expect(await uploadCode { try await uploader.remove(key("a.mp4")) } == .storeUnusable)
    #expect(try await uploader.readBack(key("a.mp4")) == UploadSource.filled(10).digest)
  }

  /// Stores `a.mp4` and releases the folder.
  private func fill(_ root: String) async throws {
    let uploader = FolderUploader(root: root)
    try await uploader.prepare()
    try await uploader.upload(.filled(10), to: key("a.mp4"))
  }

  @Test func temporariesOnAnotherFileSystemAreNotUsed() async throws {
    let folder = try TemporaryFolder()
    let disk = try #require(TinyDisk(kilobytes: 1024))
    let uploader = FolderUploader(root: disk.path + "/store", temporaries: folder.path(of: "tmp"))
    try await uploader.prepare()
    try await uploader.upload(.filled(10), to: key("a.mp4"))
    #expect(try folder.names(in: "tmp").isEmpty)
    let names = try FileManager.default.contentsOfDirectory(atPath: disk.path + "/store")
    #expect(names.sorted() == [".reel-tmp", "a.mp4"])
  }
}

/// What the system's error numbers mean for a run.
@Suite struct FolderFailureTests {
  @Test(
    "each error number has its code",
    arguments: [
      (ENOSPC, .storeFull), (EDQUOT, .storeFull), (EFBIG, .tooLarge), (EROFS, .storeUnusable),
      (EACCES, .storeUnusable), (ENOENT, .storeUnusable), (ENOTDIR, .storeUnusable), (EMFILE, .unavailable),
      (ENFILE, .unavailable), (ENOMEM, .unavailable), (EIO, .interrupted), (ESTALE, .interrupted),
      (EINVAL, .rejected),
    ] as [(Int32, UploadError.Code)])
  func codes(_ number: Int32, _ code: UploadError.Code) {
    let error = FolderFailure(store: "/srv/media")(SystemError(code: number, call: "write"), "write")
    #expect(error.code == code)
    #expect(error.message.hasPrefix("could not write in the store /srv/media ("))
  }

  @Test func noPermissionForOneObjectIsAboutThatObject() throws {
    let failure = FolderFailure(store: "/srv/media")
    let error = failure.object(try key("a.mp4"), SystemError(code: EACCES, call: "openat"), "open")
    #expect(error.code == .denied)
    #expect(!error.code.endsTheRun)
  }
}
