import HTTPTypes
import ReelCore
import ReelHTTPFakes
import ReelStorage
import ReelStorageTesting
import Synchronization
import Testing

@testable import ReelRemoteStorage

@Suite("bytes that the store already has are not sent", .shortTime)
struct PartCopyingTests {
  /// What happens to the original object and to the requests about it.
  enum Origin: CaseIterable {
    case there, gone, replaced, damaged, refused, elsewhere
  }

  private static let size = 17 << 20 + 1
  private let source = TestSource(size: size).upload

  /// Uploads and returns the number of bytes sent in parts and the number of copy requests.
  private func upload(
    _ fake: FakeS3, _ origin: Origin
  ) async throws -> (sent: Int, asked: Int, object: StoredObject) {
    var bytes = [UInt8](repeating: 0, count: Self.size)
    _ = try bytes.withUnsafeMutableBytes { try source.bytes.read(into: $0, at: 0) }
    let tag = FakeS3.tag(bytes)
    if origin == .damaged { bytes[6 << 20] ^= 1 }
    if origin == .replaced { bytes.removeLast() }
    if origin != .gone {
      fake.bucket.withLock { [bytes] in
        $0.objects["in/a file+.mp4"] = FakeS3.Object(
          bytes: bytes, type: "video/mp4", checksum: nil, tag: origin == .replaced ? "\"other\"" : tag)
      }
    }
    var copied = source
    copied.origin = ObjectOrigin(
      service: origin == .elsewhere ? "s3" : "s3+https://s3.test", bucket: "bucket", name: "in/a file+.mp4",
      tag: tag)
    let transport = fake.transport()
    let object = try await uploader(transport).upload(copied, to: #require(ObjectKey("abc.mp4"))) { _ in }
    let puts = transport.calls.filter { $0.call.method == .put }
    let asked = puts.count { HTTPField.Name("x-amz-copy-source").map($0.call.fields.contains) ?? false }
    return (puts.reduce(0) { $0 + $1.body.count }, asked, object)
  }

  @Test(
    "the object is copied part by part and proved by the SHA-256 that the store reports for each",
    arguments: [true, false])
  func copied(tellsChecksums: Bool) async throws {
    let fake = FakeS3(tellsChecksums: tellsChecksums)
    let (sent, asked, object) = try await upload(fake, .there)
    if tellsChecksums {
      #expect(sent == 0 && asked == 4)
    } else {
      #expect(sent == Self.size && (1...3).contains(asked))
    }
    #expect(object.digest == source.digest)
    let stored = fake.bucket.withLock { $0.objects["a/b/abc.mp4"]?.bytes }
    #expect(stored == fake.bucket.withLock { $0.objects["in/a file+.mp4"]?.bytes })
  }

  @Test(
    "what can't be copied, or has changed, is sent", arguments: Origin.allCases.filter { $0 != .there })
  func sent(_ origin: Origin) async throws {
    let fake = FakeS3 { sent in
      origin == .refused && HTTPField.Name("x-amz-copy-source").map(sent.call.fields.contains) == true
        ? FakeS3.error(501, "NotImplemented") : nil
    }
    let (sent, asked, object) = try await upload(fake, origin)
    #expect(object.digest == source.digest)
    #expect(fake.bucket.withLock { $0.objects["a/b/abc.mp4"]?.bytes.count } == Self.size)
    switch origin {
    case .elsewhere: #expect(asked == 0 && sent == Self.size)
    // The intact parts of a damaged object may be copied before the damaged one.
    case .damaged: #expect((5 << 20...Self.size).contains(sent) && asked > 0)
    // Only the requests already under way.
    default: #expect((1...3).contains(asked) && sent == Self.size)
    }
  }

  /// The collisions that anyone with write access could put in place of the original.
  enum Forgery: CaseIterable { case ofTheCRC, ofTheMD5 }

  @Test(
    "a copy is identified by its SHA-256: other bytes with the same CRC or MD5 are rejected",
    arguments: Forgery.allCases, [FakeS3.Checking.signed, .sumsOfTheWhole, .sumsDemanded, .nothingOfParts])
  func forged(_ forgery: Forgery, _ checking: FakeS3.Checking) async throws {
    let rest = TestSource(size: Self.size).bytes
    let (probed, other): ([UInt8], [UInt8])
    switch forgery {
    case .ofTheCRC: (probed, other) = (rest, TestSource(bytes: rest).forged(at: 6 << 20).bytes)
    case .ofTheMD5: (probed, other) = (MD5Collision.one + rest, MD5Collision.other + rest)
    }
    let tag = FakeS3.tag(probed)
    if forgery == .ofTheCRC {
      #expect(FakeS3.sum(probed) == FakeS3.sum(other))
    } else {
      #expect(tag == FakeS3.tag(other))
    }
    try #require(probed != other)
    let fake = FakeS3(tellsChecksums: false, checking: checking)
    fake.bucket.withLock {
      $0.objects["in/a file+.mp4"] = FakeS3.Object(bytes: other, type: "video/mp4", checksum: nil, tag: tag)
    }
    var source = TestSource(bytes: probed).summed.upload
    source.origin = ObjectOrigin(
      service: "s3+https://s3.test", bucket: "bucket", name: "in/a file+.mp4", tag: tag)
    _ = try await uploader(fake.transport()).upload(source, to: #require(ObjectKey("abc.mp4"))) { _ in }
    #expect(fake.bucket.withLock { $0.objects["a/b/abc.mp4"]?.bytes } == probed)
  }

  /// As `rclone serve s3` does.
  @Test("a store that takes a copy request for an empty part, and no part twice, gets a new upload")
  func takenForAPart() async throws {
    let taken = Mutex<Set<String>>([])
    let fake = FakeS3 { sent in
      let target = sent.call.target
      guard target.contains("partNumber=") else { return nil }
      if HTTPField.Name("x-amz-copy-source").map(sent.call.fields.contains) == true {
        taken.withLock { _ = $0.insert(target) }
        return FakeS3.empty(200, fields: [.eTag: FakeS3.tag([])])
      }
      return taken.withLock { $0.contains(target) } ? FakeS3.error(501, "NotImplemented") : nil
    }
    let (_, asked, object) = try await upload(fake, .there)
    #expect((1...3).contains(asked) && object.digest == source.digest)
    #expect(fake.bucket.withLock { $0.objects["a/b/abc.mp4"]?.bytes.count } == Self.size)
    #expect(fake.bucket.withLock { $0.uploads.isEmpty && $0.begun == 2 })
  }
}

extension HTTPFields {
  fileprivate func contains(_ name: HTTPField.Name) -> Bool { self[name] != nil }
}

/// Two blocks with the same MD5 (X. Wang, H. Yu, "How to Break MD5 and Other Hash Functions", 2005). With the same
/// suffix, the MD5 of the whole is the same, too.
enum MD5Collision {
  static let one = bytes(
    """
    d131dd02c5e6eec4693d9a0698aff95c2fcab58712467eab4004583eb8fb7f8955ad340609f4b30283e488832571415a\
    085125e8f7cdc99fd91dbdf280373c5bd8823e3156348f5bae6dacd436c919c6dd53e2b487da03fd02396306d248cda0\
    e99f33420f577ee8ce54b67080a80d1ec69821bcb6a8839396f9652b6ff72a70
    """)
  static let other = bytes(
    """
    d131dd02c5e6eec4693d9a0698aff95c2fcab50712467eab4004583eb8fb7f8955ad340609f4b30283e4888325f1415a\
    085125e8f7cdc99fd91dbd7280373c5bd8823e3156348f5bae6dacd436c919c6dd53e23487da03fd02396306d248cda0\
    e99f33420f577ee8ce54b67080280d1ec69821bcb6a8839396f965ab6ff72a70
    """)

  private static func bytes(_ text: String) -> [UInt8] { Hexadecimal.bytes(text) ?? [] }
}
