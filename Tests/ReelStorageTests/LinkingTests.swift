import Foundation
import Glibc
import ReelCore
import ReelCrypto
import ReelTestSupport
import Synchronization
import Testing

@testable import ReelStorage

/// A file that no process writes to any more becomes the object itself.
@Suite struct LinkingTests {
  /// The bytes of a file, with a count of reads.
  private final class LinkedBytes: LinkableBytes {
    let file: Descriptor
    let reads = Atomic(0)
    private let isTaken = Atomic(false)

    init(_ path: String) throws {
      file = Descriptor(adopting: try retryingInterrupts("open") { open(path, O_RDONLY | O_CLOEXEC) })
    }

    var descriptor: Int32? { file.rawValue }
    var isPrivate: Bool { true }

    func takeFile() -> Descriptor? { isTaken.exchange(true, ordering: .relaxed) ? nil : file }

    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws(SourceError) -> Int {
      reads.add(1, ordering: .relaxed)
      do throws(SystemError) {
        return try readFully(file.rawValue, into: buffer, at: offset)
      } catch {
        throw SourceError(.unreadable, "\(error)")
      }
    }

    func checkUnchanged() {}
  }

  let folder: TemporaryFolder
  private let content = [UInt8](repeating: 7, count: 100_000)

  init() throws {
    folder = try TemporaryFolder()
    try folder.write(content, to: "uploads/whole")
    try #require(chmod(folder.path(of: "uploads/whole"), 0o600) == 0)
  }

  private func source(_ path: String? = nil) throws -> (UploadSource, LinkedBytes) {
    let bytes = try LinkedBytes(path ?? folder.path(of: "uploads/whole"))
    let digest = try #require(ContentDigest(sha256: SHA256.hash(data: content)))
    return (
      UploadSource(size: Int64(content.count), digest: digest, contentType: "video/mp4", bytes: bytes), bytes
    )
  }

  private func store(_ mode: FolderModes = .private) async throws -> FolderUploader {
    let uploader = FolderUploader(
      root: folder.path(of: "media"), temporaries: folder.path(of: "tmp"), mode: mode)
    try await uploader.prepare()
    return uploader
  }

  private func status(_ path: String) throws -> stat {
    var status = stat()
    try #require(lstat(path, &status) == 0)
    return status
  }

  private var leftovers: [String] {
    get throws { try folder.names(in: "tmp").filter { $0.hasSuffix(".part") } }
  }

  @Test("the object is the same file, which is not read; it remains when its original name is removed")
  func linked() async throws {
    let (store, (source, bytes)) = (try await store(FolderModes(file: 0o644)), try source())
    let object = try await store.upload(source, to: key("a.mp4"))
    #expect(object.digest == source.digest && object.size == source.size)
    #expect(bytes.reads.load(ordering: .relaxed) == 0)
    let own = folder.path(of: "uploads/whole")
    var status = try status(folder.path(of: "media/a.mp4"))
    #expect(try status.st_ino == self.status(own).st_ino && status.st_nlink == 2)
    #expect(status.st_mode & 0o7777 == 0o644)
    #expect(try leftovers.isEmpty)
    unlink(own)
    status = try self.status(folder.path(of: "media/a.mp4"))
    #expect(status.st_nlink == 1)
    #expect(try await store.readBack(key("a.mp4")) == source.digest)
    #expect(try await store.remove(key("a.mp4")) == .gone)
  }

  @Test("a batch links the file, too, and gives it the usual mode")
  func batch() async throws {
    try #require(chmod(folder.path(of: "uploads/whole"), 0o400) == 0)
    let (store, (source, bytes)) = (try await store(), try source())
    let results = store.store(
      [BatchUpload(source: source, key: try key("a.mp4"))], cancellation: CancellationFlag())
    #expect(try results.map { try $0.get().digest } == [source.digest])
    #expect(try status(folder.path(of: "media/a.mp4")).st_mode & 0o7777 == 0o600)
    #expect(bytes.reads.load(ordering: .relaxed) == 0)
  }

  @Test("if the object's name is taken, the original name stays and no link is left")
  func taken() async throws {
    let store = try await store()
    try await store.upload(.filled(10), to: key("a.mp4"))
    let (source, _) = try source()
    #expect(await uploadCode { try await store.upload(source, to: key("a.mp4")) } == .alreadyExists)
    // As if another process had taken the name after the check.
    do {
      let file = try #require(try self.source().1.takeFile())
      let staging = FolderStaging(store: try store.preparedStore(), failure: store.failure)
      let staged = try #require(try staging.linkObject(to: file))
      let copy = CopiedObject(key: try key("a.mp4"), size: source.size, isIntended: false, file: staged)
      #expect(throws: UploadError.self) { try copy.name(in: store.rootFolder(), store.failure) }
    }
    #expect(try status(folder.path(of: "uploads/whole")).st_nlink == 1)
    #expect(try leftovers.isEmpty)
    #expect(try await store.readBack(key("a.mp4")) == UploadSource.filled(10).digest)
  }

  @Test(
    "a second attempt copies the file: the first sync may have failed, and errors of a sync are reported only once"
  )
  func again() async throws {
    let (store, (source, bytes)) = (try await store(), try source())
    try await store.upload(source, to: key("a.mp4"))
    try await store.upload(source, to: key("b.mp4"))
    #expect(bytes.reads.load(ordering: .relaxed) > 0)
    let files = try ["a.mp4", "b.mp4"].map { try status(folder.path(of: "media/\($0)")) }
    #expect(files[0].st_ino != files[1].st_ino && files[1].st_nlink == 1)
    #expect(try await store.readBack(key("b.mp4")) == source.digest)
  }

  @Test("a file without a name is copied")
  func nameless() async throws {
    let store = try await store()
    let (source, _) = try source()
    unlink(folder.path(of: "uploads/whole"))
    try await store.upload(source, to: key("a.mp4"))
    #expect(try await store.readBack(key("a.mp4")) == source.digest)
    #expect(try status(folder.path(of: "media/a.mp4")).st_nlink == 1)
  }

  @Test(
    "a file on another file system is copied",
    .needsOtherFileSystem)
  func otherFileSystem() async throws {
    let store = try await store()
    let path = "\(SharedMemory.path)/reel-linking-\(UUID()).mp4"
    try Data(content).write(to: URL(filePath: path))
    defer { unlink(path) }
    try #require(chmod(path, 0o600) == 0)
    let (source, bytes) = try source(path)
    try await store.upload(source, to: key("b.mp4"))
    #expect(bytes.reads.load(ordering: .relaxed) > 0)
    #expect(try status(folder.path(of: "media/b.mp4")).st_nlink == 1 && status(path).st_nlink == 1)
    #expect(try await store.readBack(key("b.mp4")) == source.digest)
  }

  @Test("a replacement of a damaged object is copied and verified on the way")
  func replacing() async throws {
    let store = try await store()
    try folder.write([UInt8](repeating: 8, count: content.count), to: "media/a.mp4")
    let (source, bytes) = try source()
    #expect(try await store.replaceDamaged(key("a.mp4"), with: source))
    #expect(bytes.reads.load(ordering: .relaxed) > 0)
    #expect(try status(folder.path(of: "uploads/whole")).st_nlink == 1)
    #expect(try await store.readBack(key("a.mp4")) == source.digest)
  }
}
