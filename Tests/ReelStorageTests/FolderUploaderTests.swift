import FoundationEssentials
import Glibc
import ReelCore
import ReelTestSupport
import Testing

@testable import ReelStorage

@Suite struct FolderUploaderTests {
  let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  private func prepared(_ uploader: FolderUploader) async throws -> FolderUploader {
    try await uploader.prepare()
    return uploader
  }

  private func mode(_ name: String) throws -> mode_t {
    var status = stat()
    try #require(lstat(folder.path(of: name), &status) == 0)
    return status.st_mode & 0o7777
  }

  @Test func nothingIsMadeBeforeItIsPrepared() async throws {
    let uploader = FolderUploader(root: folder.path(of: "a/b"))
    #expect(try folder.names().isEmpty)
    #expect(await uploadCode { try await uploader.upload(.filled(1), to: key("a.mp4")) } == .storeUnusable)
    #expect(await uploadCode { try await uploader.find(key("a.mp4")) as Any } == .storeUnusable)
    #expect(try folder.names().isEmpty)
  }

  @Test func readingNeedsNoPreparation() async throws {
    let writer = try await prepared(FolderUploader(root: folder.path(of: "store")))
    let object = try await writer.upload(.filled(10), to: key("a.mp4"))
    let reader = FolderUploader(root: folder.path(of: "store"))
    #expect(try await reader.find(key("a.mp4"))?.url == object.url)
    #expect(try await reader.readBack(key("a.mp4")) == UploadSource.filled(10).digest)
    #expect(try reader.remove([key("b.mp4"), key("a.mp4")]).map { try $0.get() } == [.gone, .gone])
    #expect(try await reader.remove(key("a.mp4")) == .gone)
    #expect(try folder.names(in: "store") == [".reel-tmp"])
  }

  @Test func theDestinationIsTheRealPath() async throws {
    let real = try #require(realpath(folder.path, nil).map { String(cString: $0) })
    symlink(real, folder.path(of: "link"))
    let name = FolderUploader(root: real + "/store").destination
    #expect(name.name == "file://" + real + "/store")
    for path in ["link/store", "link/./store/", "link//store", "link/nowhere/../store"] {
      #expect(FolderUploader(root: folder.path(of: path)).destination == name, "\(path)")
    }
    let uploader = try await prepared(FolderUploader(root: folder.path(of: "link/store")))
    #expect(uploader.destination == name)
    #expect(FolderUploader(root: folder.path(of: "link/store")).destination == name)
    #expect(FolderUploader(root: "/").destination.name == "file:///")
  }

  @Test(
    "objects have their addresses",
    arguments: [
      (nil, "file://REAL/st%C3%B6re%20%25/a.mp4"),
      ("https://media.example.org/v", "https://media.example.org/v/a.mp4"),
      ("https://media.example.org/v/", "https://media.example.org/v/a.mp4"),
    ])
  func addresses(_ base: String?, _ expected: String) async throws {
    let real = try #require(realpath(folder.path, nil).map { String(cString: $0) })
    let uploader = try await prepared(
      FolderUploader(root: folder.path(of: "störe %"), publicBaseURL: base))
    let object = try await uploader.upload(.filled(10), to: key("a.mp4"))
    #expect(object.url == expected.replacing("REAL", with: real))
  }

  @Test(
    "modes apply whatever the umask",
    arguments: [
      (FolderModes.private, 0o600, 0o700), (FolderModes(file: 0o644), 0o644, 0o755),
      (FolderModes(file: 0o640), 0o640, 0o750), (FolderModes(file: 0o666), 0o666, 0o777),
      (FolderModes(file: 0o604, folder: 0o711), 0o604, 0o711), (FolderModes(file: 0), 0o600, 0o700),
    ] as [(FolderModes, mode_t, mode_t)])
  func modes(_ modes: FolderModes, _ file: mode_t, _ made: mode_t) async throws {
    let uploader = try await prepared(FolderUploader(root: folder.path(of: "a/b"), mode: modes))
    try await uploader.upload(.filled(10), to: key("a.mp4"))
    #expect(try mode("a/b/a.mp4") == file)
    #expect(try mode("a") == made)
    #expect(try mode("a/b") == made)
    #expect(try mode("a/b/.reel-tmp") == 0o700)
  }

  @Test func aFolderThatIsThereKeepsItsMode() async throws {
    try #require(mkdir(folder.path(of: "store"), 0o750) == 0)
    _ = try await prepared(FolderUploader(root: folder.path(of: "store"), mode: FolderModes(file: 0o644)))
    #expect(try mode("store") == 0o750)
  }

  @Test func temporariesThatOthersMayWriteToAreRefused() async throws {
    let uploader = try await prepared(FolderUploader(root: folder.path(of: "store")))
    try #require(chmod(folder.path(of: "store/.reel-tmp"), 0o777) == 0)
    #expect(await uploadCode { try await uploader.prepare() } == .storeUnusable)
  }

  @Test(
    "the owner of a folder for temporary files is told by its status and that of a file made there",
    arguments: [
      ("ours", 7, 0o700, 7, 0o600, .us), ("ours, read by all", 7, 0o755, 7, 0o755, .us),
      ("everything is everybody's", 7, 0o777, 7, 0o777, .anybody),
      ("everything is another's", 1, 0o700, 1, 0o600, .anybody),
      ("everything is another's, for everybody", 1, 0o777, 1, 0o777, .anybody),
      ("this one alone is everybody's", 7, 0o777, 7, 0o600, .others),
      ("another has made it", 1, 0o700, 7, 0o600, .others),
      ("another has made it, for everybody", 1, 0o777, 7, 0o777, .others),
      ("another has made it where we are a third", 1, 0o777, 2, 0o600, .others),
    ] as [(String, uid_t, mode_t, uid_t, mode_t, StoreFolder.Owner)])
  func owner(
    _ what: String, _ owner: uid_t, _ mode: mode_t, _ maker: uid_t, _ made: mode_t,
    _ expected: StoreFolder.Owner
  ) {
    var (folder, file) = (stat(), stat())
    (folder.st_uid, folder.st_mode, file.st_uid, file.st_mode) = (owner, mode, maker, made)
    #expect(StoreFolder.owner(folder, madeThere: file, user: 7) == expected)
  }

  @Test func temporariesBehindALinkAreRefused() async throws {
    _ = try await prepared(FolderUploader(root: folder.path(of: "other")))
    try #require(mkdir(folder.path(of: "store"), 0o700) == 0)
    symlink(folder.path(of: "other"), folder.path(of: "store/.reel-tmp"))
    let uploader = FolderUploader(root: folder.path(of: "store"))
    #expect(await uploadCode { try await uploader.prepare() } == .storeUnusable)
  }

  @Test func aFileInTheFoldersPlaceIsRefused() async throws {
    try folder.write([1], to: "store")
    for path in ["store", "store/below"] {
      let uploader = FolderUploader(root: folder.path(of: path))
      #expect(await uploadCode { try await uploader.prepare() } == .storeUnusable)
    }
  }

  @Test func whatIsNoFileOfOursIsLeftAlone() async throws {
    let uploader = try await prepared(FolderUploader(root: folder.path(of: "store")))
    try #require(mkdir(folder.path(of: "store/folder"), 0o700) == 0)
    symlink("/etc/passwd", folder.path(of: "store/link"))
    symlink("nowhere", folder.path(of: "store/dangling"))
    try #require(mkfifo(folder.path(of: "store/fifo"), 0o600) == 0)
    for name in ["folder", "link", "dangling", "fifo"] {
      #expect(await uploadCode { try await uploader.upload(.filled(1), to: key(name)) } == .alreadyExists)
      #expect(await uploadCode { try await uploader.find(key(name)) as Any } == .conflict)
      #expect(await uploadCode { try await uploader.readBack(key(name)) as Any } == .conflict)
    }
    #expect(await uploadCode { try await uploader.remove(key("folder")) } == .conflict)
    #expect(try folder.names(in: "store").contains("folder"))
  }

  @Test func aFolderThatWasTakenAwayIsSaid() async throws {
    let uploader = try await prepared(FolderUploader(root: folder.path(of: "store")))
    try FileManager.default.removeItem(atPath: folder.path(of: "store"))
    #expect(await uploadCode { try await uploader.upload(.filled(1), to: key("a.mp4")) } == .storeUnusable)
  }

  @Test func anUploadThatWasNeverNamedLeavesNothing() async throws {
    let uploader = try await prepared(
      FolderUploader(root: folder.path(of: "store"), temporaries: folder.path(of: "tmp")))
    let wrong = try UploadSource(
      size: 10, digest: UploadSource.filled(10).digest, contentType: "video/mp4",
      bytes: MemoryBytes(bytes: [1]))
    #expect(await uploadCode { try await uploader.upload(wrong, to: key("a.mp4")) } == .sourceChanged)
    #expect(try folder.names(in: "tmp").filter { $0.hasSuffix(".part") }.isEmpty)
    #expect(try folder.names(in: "store").isEmpty)
  }
}
