import FoundationEssentials
import Glibc
import ReelCore
import ReelCrypto
import ReelLibrary
import ReelSource
import ReelStorage
import ReelTestSupport
import ReelTesting
import Testing

@testable import ReelIngest

/// A file that the program itself has written and hashed becomes a post without being read for its digest.
@Suite("A run over the program's own file", .shortTime)
struct OwnedFileRunTests {
  let folder: TemporaryFolder
  private let bytes = Array("a video".utf8)

  init() throws {
    folder = try TemporaryFolder()
    try folder.write(bytes, to: "whole")
    try #require(chmod(folder.path(of: "whole"), 0o600) == 0)
  }

  private var uploader: FolderUploader { FolderUploader(root: folder.path(of: "media")) }

  private func digest(_ text: String) throws -> ContentDigest {
    try #require(ContentDigest(sha256: SHA256.hash(data: Array(text.utf8))))
  }

  private func publish(_ digest: ContentDigest, size: Int64 = 7) async -> PublishResult {
    let file = OwnedFile(path: SourcePath(folder.path(of: "whole")), digest: digest, size: size)
    let services = IngestServices(
      prober: ScriptedProber(), uploader: VerifyingUploader(base: uploader), catalog: MemoryCatalog())
    return await services.publish(SourceInput(file))
  }

  /// The only stored object: its file status and the digest of its bytes.
  private func stored() async throws -> (status: stat, digest: ContentDigest?) {
    let name = try #require(try folder.names(in: "media").first { $0.hasSuffix(".mp4") })
    var status = stat()
    try #require(lstat(folder.path(of: "media/\(name)"), &status) == 0)
    return (status, try await uploader.readBack(try #require(ObjectKey(name))))
  }

  /// The post, and its object as ``stored()`` returns it.
  private func published(
    as text: String
  ) async throws -> (post: Post, object: (status: stat, digest: ContentDigest?)) {
    guard case .published(let post) = await publish(try digest(text)) else {
      throw NotPublished()
    }
    return (post, try await stored())
  }

  private struct NotPublished: Error {}

  @Test("stores the file itself")
  func adopted() async throws {
    let (post, object) = try await published(as: "a video")
    #expect(try post.digest == digest("a video") && object.digest == post.digest)
    #expect(object.status.st_nlink == 2)
  }

  /// The caller who makes an `OwnedFile` vouches for its digest; only reading the object reveals a wrong one.
  @Test("takes the digest on trust")
  func word() async throws {
    let (post, object) = try await published(as: "another video")
    #expect(try post.digest == digest("another video") && object.digest == digest("a video"))
  }

  @Test("hashes the bytes itself while somebody still has the file open for writing")
  func writer() async throws {
    let writer = open(folder.path(of: "whole"), O_RDWR | O_CLOEXEC)
    defer { close(writer) }
    let (post, object) = try await published(as: "another video")
    #expect(try post.digest == digest("a video") && object.digest == post.digest)
    #expect(object.status.st_nlink == 1)
  }

  /// A store that is not a folder reads the file, so the stated digest must not be recorded as one that was read.
  @Test("a wrong digest is not remembered for the file")
  func wrongWord() async throws {
    let catalog = MemoryCatalog()
    let elsewhere = MemoryUploader()
    let file = OwnedFile(path: SourcePath(folder.path(of: "whole")), digest: try digest("other"), size: 7)
    var services = IngestServices(prober: ScriptedProber(), uploader: elsewhere, catalog: catalog)
    services.clock = LaterClock()
    guard case .failed(let failure) = await services.publish(SourceInput(file)) else {
      throw NotPublished()
    }
    #expect(failure.code == .upload(.sourceChanged) || failure.code == .source(.sourceChanged), "\(failure)")
    guard case .published(let post) = await services.publish(SourceInput(path: file.path)) else {
      throw NotPublished()
    }
    #expect(try post.digest == digest("a video"))
  }

  @Test("fails if the file has another size than stated")
  func size() async throws {
    guard case .failed(let failure) = await publish(try digest("a video"), size: 8) else {
      Issue.record("it was taken")
      return
    }
    #expect(failure.code == .source(.sourceChanged))
  }
}
