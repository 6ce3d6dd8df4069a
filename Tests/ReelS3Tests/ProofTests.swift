import HTTPTypes
import ReelCore
import ReelCrypto
import ReelHTTPFakes
import ReelStorage
import ReelStorageTesting
import ReelTestServers
import ReelTestSupport
import Synchronization
import Testing

@testable import ReelRemoteStorage

/// How large objects whose sums are known are proved: at each kind of store, and when bytes change somewhere.
@Suite("how it is proved what a store holds", .shortTime)
struct ProofTests {
  private static let source = TestSource(size: 11 << 20 + 3).summed

  private func key(_ name: String = "abc.mp4") throws -> ObjectKey { try #require(ObjectKey(name)) }

  /// The parts of `key` among `calls`.
  private func parts(_ calls: [ScriptedTransport.Sent], of key: ObjectKey) -> [HTTPCall] {
    calls.filter { $0.isPart && $0.call.target.contains(key.rawValue) }.map(\.call)
  }

  @Test("it keeps every promise", arguments: UploaderContractTest.all, FakeS3.Checking.allCases)
  func promises(_ promise: UploaderContractTest, _ checking: FakeS3.Checking) async throws {
    let fake = FakeS3(tellsChecksums: false, checking: checking)
    let folder = try TemporaryFolder()
    try await promise.check(
      StoreUnderTest(sources: .files(folder: folder.path), largeSize: 11 << 20 + 3) {
        try uploader(fake.transport())
      })
    let left = fake.bucket.withLock { ($0.objects.count, $0.uploads.count) }
    #expect(left.0 == 0 && left.1 == 0)
  }

  @Test(
    "a store is asked once, and only what it does not check is hashed", arguments: FakeS3.Checking.allCases)
  func asking(_ checking: FakeS3.Checking) async throws {
    let fake = FakeS3(tellsChecksums: false, checking: checking)
    let transport = fake.transport()
    let uploader = try uploader(transport)
    for name in ["one.mp4", "two.mp4"] {
      let stored = try await uploader.upload(Self.source.upload, to: key(name)) { _ in }
      #expect(stored.digest == Self.source.digest)
      #expect(fake.bucket.withLock { $0.objects["a/b/" + name]?.bytes } == Self.source.bytes)
    }
    let questions = transport.calls.count { $0.isQuestion }
    #expect(
      questions
        == [.signed: 4, .signedIfAny: 4, .sums: 3, .sumsOfTheWhole: 3, .nothing: 3, .nothingOfParts: 3][
          checking])
    #expect(fake.bucket.withLock { $0.uploads.isEmpty && $0.begun == 3 })
    for part in try parts(transport.calls, of: key("two.mp4")) {
      let isSigned = part.fields[.contentSHA256] != SignatureV4.unsignedPayload
      #expect(isSigned == [.signed, .signedIfAny].contains(checking))
      #expect((part.fields[.checksumCRC64] != nil) == [.sums, .sumsOfTheWhole].contains(checking))
      #expect((part.fields[.checksumSHA256] != nil) == isSigned)
    }
  }

  @Test(
    "a bit that changes on the way or in the store never makes an object that counts",
    arguments: FakeS3.Checking.allCases, FakeS3.Damage.allCases)
  func damage(_ checking: FakeS3.Checking, _ damage: FakeS3.Damage) async throws {
    let fake = FakeS3(tellsChecksums: false, checking: checking, damage: damage)
    let error = await #expect(throws: UploadError.self) {
      _ = try await uploader(fake.transport()).upload(Self.source.upload, to: key()) { _ in }
    }
    // Whoever checks parts refuses one.
    let isRefused = damage == .onTheWay && ![.nothing, .nothingOfParts].contains(checking)
    #expect(error?.code == (isRefused ? .interrupted : .verificationFailed), "\(error?.message ?? "")")
    #expect(fake.bucket.withLock { $0.objects.isEmpty })
  }

  @Test("a copy whose bytes are no longer those of its sums is not sent", arguments: FakeS3.Checking.allCases)
  func rottenCopy(_ checking: FakeS3.Checking) async throws {
    for (size, place) in [
      (1000, 999), (11 << 20 + 3, 0), (11 << 20 + 3, 6 << 20), (11 << 20 + 3, 11 << 20 + 2),
    ] {
      let rotten = TestSource(size: size).summed.flipped(at: place)
      let fake = FakeS3(tellsChecksums: false, checking: checking)
      let error = await #expect(throws: UploadError.self) {
        _ = try await uploader(fake.transport()).upload(rotten.upload, to: key()) { _ in }
      }
      #expect(error?.code == .sourceChanged, "\(error?.message ?? "")")
      #expect(fake.bucket.withLock { $0.objects.isEmpty && $0.uploads.isEmpty })
    }
  }

  @Test("what a store tells of sums that it does not check is not believed")
  func echo() async throws {
    // Such a store tells again what it was told.
    let fake = FakeS3(tellsChecksums: false, checking: .nothing, damage: .atRest)
    let lying = ScriptedTransport { sent async throws(HTTPFailure) in
      let reply = fake.answer(sent)
      guard sent.call.method == .head, reply.status == .ok else { return reply }
      var fields = reply.fields
      fields[.checksumCRC64] = FakeS3.sum(Self.source.bytes)
      fields[.checksumType] = "FULL_OBJECT"
      return HTTPReply(status: reply.status, fields: fields)
    }
    let error = await #expect(throws: UploadError.self) {
      _ = try await uploader(lying).upload(Self.source.upload, to: key()) { _ in }
    }
    #expect(error?.code == .verificationFailed)
  }

  @Test("a store that is busy when it is asked is asked again, and nothing is left begun")
  func busy() async throws {
    let isBusy = Mutex(true)
    let fake = FakeS3(tellsChecksums: false, checking: .sums) { sent async throws(HTTPFailure) in
      let isBusy = sent.isQuestion && sent.call.target.contains("partNumber=3") && isBusy.withLock { $0 }
      return isBusy ? FakeS3.error(503, "SlowDown") : nil
    }
    let transport = fake.transport()
    let uploader = try uploader(transport)
    let error = await #expect(throws: UploadError.self) {
      _ = try await uploader.upload(Self.source.upload, to: key()) { _ in }
    }
    #expect(error?.isWorthARetry == true)
    #expect(fake.bucket.withLock { $0.uploads.isEmpty })
    isBusy.withLock { $0 = false }
    _ = try await uploader.upload(Self.source.upload, to: key()) { _ in }
    #expect(try parts(transport.calls, of: key()).allSatisfy { $0.fields[.checksumCRC64] != nil })
  }

  @Test("what was left of a question is no upload to go on with", arguments: [0, 13])
  func leftQuestion(_ size: Int) async throws {
    let fake = FakeS3(tellsChecksums: false, checking: .sumsOfTheWhole)
    fake.bucket.withLock { bucket in
      for name in ["one", "two"] {
        bucket.uploads[name] = FakeS3.Upload(
          name: "a/b/abc.mp4", type: "video/mp4", hasSum: true,
          parts: size == 0 ? [:] : [1: Array("what was sent".utf8), 7: [1]])
      }
    }
    _ = try await uploader(fake.transport()).upload(Self.source.upload, to: key()) { _ in }
    #expect(fake.bucket.withLock { $0.uploads.isEmpty })
    #expect(try await uploader(fake.transport()).readBack(key()) == Self.source.digest)
  }

  @Test("a store that knows no sums, nor how to begin with them, is asked without")
  func withoutSums() async throws {
    let fake = FakeS3(tellsChecksums: false, checking: .signedIfAny) { sent async throws(HTTPFailure) in
      sent.call.fields[.checksumAlgorithm] == nil ? nil : FakeS3.error(501, "NotImplemented")
    }
    let transport = fake.transport()
    _ = try await uploader(transport).upload(Self.source.upload, to: key()) { _ in }
    #expect(try parts(transport.calls, of: key()).allSatisfy { $0.fields[.checksumCRC64] == nil })
    #expect(fake.bucket.withLock { $0.uploads.isEmpty })
  }

  @Test("where others can change what is on its way, everything is signed, whatever the store takes without")
  func plainHTTP() async throws {
    let fake = FakeS3(tellsChecksums: false, checking: .sums)
    let transport = fake.transport()
    let store = try S3Store(bucket: "bucket", prefix: "a/b", endpoint: HTTPAddress(parsing: "http://s3.test"))
    _ = try await uploader(transport, store: store).upload(Self.source.upload, to: key()) { _ in }
    #expect(transport.calls.allSatisfy { $0.call.fields[.contentSHA256] != SignatureV4.unsignedPayload })
    #expect(try parts(transport.calls, of: key()).allSatisfy { $0.fields[.checksumCRC64] != nil })
  }

  @Test("an upload that broke goes on with the parts that the store has", arguments: FakeS3.Checking.allCases)
  func resume(_ checking: FakeS3.Checking) async throws {
    let isWhole = Mutex(false)
    let fake = FakeS3(tellsChecksums: false, checking: checking) { sent async throws(HTTPFailure) in
      if sent.isPart, sent.call.target.contains("partNumber=3"), !isWhole.withLock({ $0 }) {
        throw .broken("a test")
      }
      return nil
    }
    let one = S3Options(singleLimit: 5 << 20, partSize: 5 << 20, partsAtOnce: 1)
    let broken = await #expect(throws: UploadError.self) {
      _ = try await uploader(fake.transport(), one).upload(Self.source.upload, to: key()) { _ in }
    }
    #expect(broken?.code == .interrupted)
    isWhole.withLock { $0 = true }
    // Another process: nothing is known but the key.
    let again = fake.transport()
    _ = try await uploader(again, one).upload(Self.source.upload, to: key()) { _ in }
    #expect(try parts(again.calls, of: key()).count == 1)
    #expect(try await uploader(again).readBack(key()) == Self.source.digest)
  }

  @Test("parts that were damaged are not gone on with", arguments: FakeS3.Checking.allCases)
  func damagedParts(_ checking: FakeS3.Checking) async throws {
    let isWhole = Mutex(false)
    let fake = FakeS3(tellsChecksums: false, checking: checking) { sent async throws(HTTPFailure) in
      if sent.isPart, sent.call.target.contains("partNumber=3"), !isWhole.withLock({ $0 }) {
        throw .broken("a test")
      }
      return nil
    }
    let one = S3Options(singleLimit: 5 << 20, partSize: 5 << 20, partsAtOnce: 1)
    await #expect(throws: UploadError.self) {
      _ = try await uploader(fake.transport(), one).upload(Self.source.upload, to: key()) { _ in }
    }
    isWhole.withLock { $0 = true }
    fake.bucket.withLock { bucket in
      for id in bucket.uploads.keys { bucket.uploads[id]?.parts[2]?[5] ^= 1 }
    }
    let again = fake.transport()
    _ = try await uploader(again, one).upload(Self.source.upload, to: key()) { _ in }
    #expect(try parts(again.calls, of: key()).count == 2)
    #expect(try await uploader(again).readBack(key()) == Self.source.digest)
  }
}

@Suite(
  "how it is proved what a real server holds",
  .enabled(if: SwiftS3Server.isInstalled, SwiftS3Server.absence), .besideSwiftS3, .shortTime, .notQuick)
struct RealProofTests {
  @Test("OpenStack Swift checks the sums of parts, and needs no signed digest")
  func swift() async throws {
    let bucket = "b\(SystemRandomness().name(length: 20).lowercased())"
    let endpoint = try HTTPAddress(parsing: try BesideSwiftS3.server().endpoint)
    let credentials = FixedCredentials(
      S3Credentials(keyID: SwiftS3Server.key.id, secret: Secret(SwiftS3Server.key.secret)))
    let store = try S3Store(bucket: bucket, endpoint: endpoint)
    let client = S3Client(
      store, transport: try CurlTransport.patient(), credentials: credentials, clock: SystemWallClock())
    try await client.makeBucket()
    let checks = try await client.checks(by: #require(ObjectKey("abc.mp4")), "video/mp4")
    #expect(checks == S3Checks(sums: true, unsigned: true))
    let uploader = S3Uploader(
      store, options: S3Options(singleLimit: 5 << 20, partSize: 5 << 20),
      transport: try CurlTransport.patient(), credentials: credentials)
    let source = TestSource(size: 11 << 20 + 3).summed
    let key = try #require(ObjectKey("abc.mp4"))
    _ = try await uploader.upload(source.upload, to: key) { _ in }
    #expect(try await uploader.readBack(key) == source.digest)
    // What comes when other bytes arrive than were read.
    let meddling = MeddlingTransport(base: try CurlTransport.patient()) { call in
      guard call.target.contains("partNumber=2"), call.body.length > 1000 else { return }
      call.body = .bytes([UInt8](repeating: 7, count: 5 << 20))
    }
    let other = S3Uploader(
      store, options: S3Options(singleLimit: 5 << 20, partSize: 5 << 20), transport: meddling,
      credentials: credentials)
    let error = await #expect(throws: UploadError.self) {
      _ = try await other.upload(source.upload, to: try #require(ObjectKey("other.mp4"))) { _ in }
    }
    #expect(
      error?.code == .interrupted && error?.message.contains("BadDigest") == true, "\(error?.message ?? "")")
    #expect(try await uploader.find(#require(ObjectKey("other.mp4"))) == nil)
  }
}

extension ScriptedTransport.Sent {
  /// A part that asks what the store checks.
  fileprivate var isQuestion: Bool { call.target.contains("partNumber=") && body.count < 100 }
  fileprivate var isPart: Bool { call.target.contains("partNumber=") && !isQuestion }
}
