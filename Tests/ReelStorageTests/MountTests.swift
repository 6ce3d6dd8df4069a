import Glibc
import ReelCore
import ReelTestSupport
import Testing

@testable import ReelStorage

@Suite(
  "two mounts of one file system count as two for rename(2)",
  .needsMounting)
struct MountTests {
  @Test func temporariesLieBesideTheObjects() async throws {
    let folder = try TemporaryFolder()
    for name in ["library", "library/tmp", "library/media", "elsewhere"] {
      try #require(mkdir(folder.path(of: name), 0o700) == 0)
    }
    let media = folder.path(of: "library/media")
    try #require(mount(folder.path(of: "elsewhere"), media, nil, UInt(MS_BIND), nil) == 0)
    defer { umount2(media, Int32(MNT_DETACH)) }
    var (one, other) = (stat(), stat())
    try #require(stat(media, &one) == 0 && stat(folder.path(of: "library/tmp"), &other) == 0)
    try #require(one.st_dev == other.st_dev)
    let uploader = FolderUploader(root: media, temporaries: folder.path(of: "library/tmp"))
    try await uploader.prepare()
    try await uploader.upload(.filled(1000), to: key("a.mp4"))
    #expect(try folder.names(in: "elsewhere").contains("a.mp4"))
    #expect(try folder.names(in: "library/tmp") == [])
  }
}
