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

/// How large objects with known checksums are proved: with each kind of store, and when bytes change somewhere.
@Suite("proof of what a store holds", .shortTime)
struct ProofTests {
  private static let source = TestSource(size: 11 << 20 + 3).summed

  private func key(_ name: String = "abc.mp4") throws -> ObjectKey { try #require(ObjectKey(name)) }

  /// The calls among `calls` that send parts of `key`.
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
    "a store is asked once what it checks, and only what it does not check is hashed",
    arguments: FakeS3.Checking.allCases)
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
        == [
          .signed: 4, .signedIfAny: 4, .sums: 3, .sumsOfTheWhole: 3, .sumsDemanded: 3, .nothing: 3,
          .nothingOfParts: 3,
        ][checking])
    #expect(fake.bucket.withLock { $0.uploads.isEmpty && $0.begun == 3 })
    for part in try parts(transport.calls, of: key("two.mp4")) {
      let isSigned = part.fields[.contentSHA256] != SignatureV4.unsignedPayload
      #expect(isSigned == [.signed, .signedIfAny].contains(checking))
      #expect(
        (part.fields[.checksumCRC64] != nil) == [.sums, .sumsOfTheWhole, .sumsDemanded].contains(checking))
      #expect((part.fields[.checksumSHA256] != nil) == isSigned)
    }
  }

  @Test(
    "a bit that flips on the way or in the store never makes an accepted object",
    arguments: FakeS3.Checking.allCases, FakeS3.Damage.allCases)
  func damage(_ checking: FakeS3.Checking, _ damage: FakeS3.Damage) async throws {
    let fake = FakeS3(tellsChecksums: false, checking: checking, damage: damage)
    let error = await #expect(throws: UploadError.self) {
      _ = try await uploader(fake.transport()).upload(Self.source.upload, to: key()) { _ in }
    }
    // A store that checks parts refuses the damaged one.
    let isRefused = damage == .onTheWay && ![.nothing, .nothingOfParts].contains(checking)
    #expect(error?.code == (isRefused ? .interrupted : .verificationFailed), "\(error?.message ?? "")")
    #expect(fake.bucket.withLock { $0.objects.isEmpty })
  }

  @Test("a copy whose bytes no longer match its checksums is not sent", arguments: FakeS3.Checking.allCases)
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

  @Test("checksums reported by a store that does not check them are not trusted")
  func echo() async throws {
    // Such a store echoes what it was sent.
    let fake = FakeS3(tellsChecksums: false, checking: .nothing, damage: .atRest)
    let lying = Self.telling(fake) { fields in
      fields[.checksumCRC64] = FakeS3.sum(Self.source.bytes)
      fields[.checksumType] = "FULL_OBJECT"
    }
    let error = await #expect(throws: UploadError.self) {
      _ = try await uploader(lying).upload(Self.source.upload, to: key()) { _ in }
    }
    #expect(error?.code == .verificationFailed)
  }

  @Test(
    "a checksum of the parts' digests is trusted only if the store checks them", arguments: [true, false])
  func echoOfParts(_ isSummed: Bool) async throws {
    let fake = FakeS3(tellsChecksums: false, checking: .nothing, damage: .atRest)
    let parts = PartPlan(size: Int64(Self.source.bytes.count), wanted: 5 << 20)
    let digests = (1...parts.count).flatMap {
      let range = parts.range(of: $0)
      return SHA256.hash(data: Self.source.bytes[Int(range.lowerBound)..<Int(range.upperBound)])
    }
    let lying = Self.telling(fake) { fields in
      fields[.checksumSHA256] = "\(FakeS3.checksum(digests))-\(parts.count)"
      fields[.checksumType] = "COMPOSITE"
    }
    // Each part is signed with its digest if the source has no checksums or the connection is plain http.
    let store = try S3Store(bucket: "bucket", prefix: "a/b", endpoint: HTTPAddress(parsing: "http://s3.test"))
    let source = isSummed ? Self.source : TestSource(bytes: Self.source.bytes)
    let error = await #expect(throws: UploadError.self) {
      _ = try await uploader(lying, store: isSummed ? store : nil).upload(source.upload, to: key()) { _ in }
    }
    #expect(error?.code == .verificationFailed)
    #expect(fake.bucket.withLock { $0.objects.isEmpty })
  }

  /// A transport to `fake` with other fields in its replies to HEAD.
  private static func telling(
    _ fake: FakeS3, _ change: @escaping @Sendable (inout HTTPFields) -> Void
  ) -> ScriptedTransport {
    ScriptedTransport { sent async throws(HTTPFailure) in
      let reply = fake.answer(sent)
      guard sent.call.method == .head, reply.status == .ok else { return reply }
      var fields = reply.fields
      change(&fields)
      return HTTPReply(status: reply.status, fields: fields)
    }
  }

  @Test(
    "a part whose reply lacks the checksum that the store reported when probed counts as unchecked",
    arguments: [true, false], [true, false])
  func uncheckedPart(_ isDamaged: Bool, _ tellsWhole: Bool) async throws {
    let fake = FakeS3(tellsChecksums: false, checking: .sumsOfTheWhole)
    // Of several servers behind one address, one ignores checksums, and the others trust it.
    let mixed = ScriptedTransport { sent async throws(HTTPFailure) in
      var (call, body) = (sent.call, sent.body)
      if sent.isPart, call.target.contains("partNumber=2") {
        if isDamaged { body[777] ^= 4 }
        call.fields[.checksumCRC64] = nil
        let reply = fake.answer(.init(call: call, body: body))
        return HTTPReply(status: reply.status, fields: [.eTag: reply.fields[.eTag] ?? ""])
      }
      let reply = fake.answer(sent)
      guard call.method == .head, reply.status == .ok else { return reply }
      var fields = reply.fields
      fields[.checksumCRC64] = tellsWhole ? FakeS3.sum(Self.source.bytes) : nil
      return HTTPReply(status: reply.status, fields: fields)
    }
    let error = try await failure(of: uploader(mixed))
    #expect(error?.code == (isDamaged ? .verificationFailed : nil), "\(error?.message ?? "")")
    let stored = fake.bucket.withLock { $0.objects["a/b/abc.mp4"]?.bytes }
    #expect(stored == (isDamaged ? nil : Self.source.bytes))
    let reads = mixed.calls.count { $0.call.method == .get && !$0.call.target.contains("?") }
    #expect(reads == (isDamaged ? 1 : 0), "the tag of the parts' MD5s settles it")
  }

  /// A transport to `fake` whose list of parts has these elements for its only unfinished upload.
  private static func listing(
    _ fake: FakeS3, _ parts: @escaping @Sendable ([UInt8], Int) -> String
  ) -> ScriptedTransport {
    ScriptedTransport { sent async throws(HTTPFailure) in
      guard sent.call.method == .get, sent.call.target.contains("uploadId=") else { return fake.answer(sent) }
      let stored = fake.bucket.withLock { $0.uploads.values.first?.parts ?? [:] }
      let listed = stored.sorted { $0.key < $1.key }.map { number, bytes in
        "<Part><PartNumber>\(number)</PartNumber><ETag>\(xmlEscaped(FakeS3.tag(bytes)))</ETag>"
          + "<Size>\(bytes.count)</Size>\(parts(bytes, number))</Part>"
      }
      return FakeS3.xml(
        "<ListPartsResult>\(listed.joined())<IsTruncated>false</IsTruncated></ListPartsResult>")
    }
  }

  private static let left: [[UInt8]] = [
    Array(source.bytes[..<(5 << 20)]), Array(source.bytes[(5 << 20)..<(10 << 20)]),
  ]

  @Test(
    "a part of an earlier run counts as checked only if the list has its digest and the requested checksum",
    arguments: [true, false])
  func listedEcho(_ isDamaged: Bool) async throws {
    let fake = FakeS3(tellsChecksums: false, checking: .sums)
    var second = Self.left[1]
    if isDamaged { second[777] ^= 4 }
    fake.bucket.withLock { [second] in
      $0.uploads["left"] = FakeS3.Upload(
        name: "a/b/abc.mp4", type: "video/mp4", parts: [1: Self.left[0], 2: second])
    }
    // What an earlier run sent, echoed without having been checked.
    let lying = Self.listing(fake) { _, number in
      "<ChecksumSHA256>\(FakeS3.checksum(Self.left[number - 1]))</ChecksumSHA256>"
    }
    let error = try await failure(of: uploader(lying))
    #expect(error?.code == (isDamaged ? .verificationFailed : nil), "\(error?.message ?? "")")
    #expect(
      fake.bucket.withLock { $0.objects["a/b/abc.mp4"]?.bytes } == (isDamaged ? nil : Self.source.bytes))
  }

  @Test(
    "other bytes with the same CRC, left under the same name, never make an accepted object",
    arguments: [true, false])
  func listedForgery(_ tellsDigests: Bool) async throws {
    let fake = FakeS3(tellsChecksums: false, checking: .sumsOfTheWhole)
    let forged = Array(Self.source.forged(at: 777).bytes[..<(5 << 20)])
    try #require(FakeS3.sum(forged) == FakeS3.sum(Self.left[0]) && forged != Self.left[0])
    fake.bucket.withLock {
      $0.uploads["left"] = FakeS3.Upload(
        name: "a/b/abc.mp4", type: "video/mp4", hasSum: true, algorithm: "CRC64NVME", parts: [1: forged])
    }
    let transport = Self.listing(fake) { bytes, _ in
      "<ChecksumCRC64NVME>\(FakeS3.sum(bytes))</ChecksumCRC64NVME>"
        + (tellsDigests ? "<ChecksumSHA256>\(FakeS3.checksum(bytes))</ChecksumSHA256>" : "")
    }
    let error = try await failure(of: uploader(transport))
    #expect(error?.code == (tellsDigests ? nil : .verificationFailed), "\(error?.message ?? "")")
    #expect(
      fake.bucket.withLock { $0.objects["a/b/abc.mp4"]?.bytes } == (tellsDigests ? Self.source.bytes : nil))
  }

  @Test("uploads created with another checksum are aborted at once and not resumed")
  func otherAlgorithm() async throws {
    let (fake, isWhole) = Self.breaking(.sumsDemanded)
    fake.bucket.withLock { bucket in
      for id in ["v1", "v2"] {
        bucket.uploads[id] = FakeS3.Upload(
          name: "a/b/abc.mp4", type: "video/mp4", algorithm: "SHA256", parts: [1: Self.left[0]])
      }
    }
    let error = await #expect(throws: UploadError.self) {
      _ = try await uploader(fake.transport(), Self.one).upload(Self.source.upload, to: key()) { _ in }
    }
    #expect(error?.code == .interrupted, "\(error?.message ?? "")")
    let left = fake.bucket.withLock { $0.uploads.values.map { "\($0.algorithm ?? "") \($0.parts.count)" } }
    #expect(left == ["CRC64NVME 2"])
    isWhole.set()
    let again = fake.transport()
    _ = try await uploader(again, Self.one).upload(Self.source.upload, to: key()) { _ in }
    #expect(try parts(again.calls, of: key()).count == 1)
    #expect(try await uploader(again).readBack(key()) == Self.source.digest)
  }

  @Test("checksums belong to the bytes whose digest was taken with them, and to no others")
  func sumsOfAnotherDigest() throws {
    let (source, other) = (Self.source, TestSource(size: Self.source.bytes.count, seed: 2))
    #expect(source.upload.sums != nil)
    let mixed = UploadSource(
      size: Int64(source.bytes.count), digest: other.digest, contentType: "video/mp4", bytes: source)
    #expect(mixed.sums == nil)
  }

  @Test("a store that is busy when probed is probed again, and no upload is left unfinished")
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

  @Test("an upload left by a probe is not resumed", arguments: [0, 13])
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

  @Test("a store that does not support checksums is used without them")
  func withoutSums() async throws {
    let fake = FakeS3(tellsChecksums: false, checking: .signedIfAny) { sent async throws(HTTPFailure) in
      sent.call.fields[.checksumAlgorithm] == nil ? nil : FakeS3.error(501, "NotImplemented")
    }
    let transport = fake.transport()
    _ = try await uploader(transport).upload(Self.source.upload, to: key()) { _ in }
    #expect(try parts(transport.calls, of: key()).allSatisfy { $0.fields[.checksumCRC64] == nil })
    #expect(fake.bucket.withLock { $0.uploads.isEmpty })
  }

  @Test(
    "where others could change the bytes on the way, everything is signed, even if the store does not require it"
  )
  func plainHTTP() async throws {
    let fake = FakeS3(tellsChecksums: false, checking: .sums)
    let transport = fake.transport()
    let store = try S3Store(bucket: "bucket", prefix: "a/b", endpoint: HTTPAddress(parsing: "http://s3.test"))
    _ = try await uploader(transport, store: store).upload(Self.source.upload, to: key()) { _ in }
    #expect(transport.calls.allSatisfy { $0.call.fields[.contentSHA256] != SignatureV4.unsignedPayload })
    #expect(try parts(transport.calls, of: key()).allSatisfy { $0.fields[.checksumCRC64] != nil })
  }

  private static let one = S3Options(singleLimit: 5 << 20, partSize: 5 << 20, partsAtOnce: 1)

  /// A store whose third part fails until the flag is set.
  private static func breaking(_ checking: FakeS3.Checking) -> (store: FakeS3, isWhole: TestFlag) {
    let isWhole = TestFlag()
    let fake = FakeS3(tellsChecksums: false, checking: checking) { sent async throws(HTTPFailure) in
      if sent.isPart, sent.call.target.contains("partNumber=3"), !isWhole.isSet { throw .broken("a test") }
      return nil
    }
    return (fake, isWhole)
  }

  /// The error that an upload ends with; nil if it succeeds.
  private func failure(of uploader: S3Uploader) async throws -> UploadError? {
    do {
      _ = try await uploader.upload(Self.source.upload, to: key()) { _ in }
      return nil
    } catch let error as UploadError {
      return error
    }
  }

  @Test(
    "an interrupted upload resumes with the parts that the store has", arguments: FakeS3.Checking.allCases)
  func resume(_ checking: FakeS3.Checking) async throws {
    let (fake, isWhole) = Self.breaking(checking)
    let broken = await #expect(throws: UploadError.self) {
      _ = try await uploader(fake.transport(), Self.one).upload(Self.source.upload, to: key()) { _ in }
    }
    #expect(broken?.code == .interrupted)
    isWhole.set()
    // Another process, which knows only the key.
    let again = fake.transport()
    _ = try await uploader(again, Self.one).upload(Self.source.upload, to: key()) { _ in }
    #expect(try parts(again.calls, of: key()).count == 1)
    #expect(try await uploader(again).readBack(key()) == Self.source.digest)
  }

  @Test("damaged parts are not resumed from", arguments: FakeS3.Checking.allCases)
  func damagedParts(_ checking: FakeS3.Checking) async throws {
    let (fake, isWhole) = Self.breaking(checking)
    await #expect(throws: UploadError.self) {
      _ = try await uploader(fake.transport(), Self.one).upload(Self.source.upload, to: key()) { _ in }
    }
    isWhole.set()
    fake.bucket.withLock { bucket in
      for id in bucket.uploads.keys { bucket.uploads[id]?.parts[2]?[5] ^= 1 }
    }
    let again = fake.transport()
    _ = try await uploader(again, Self.one).upload(Self.source.upload, to: key()) { _ in }
    #expect(try parts(again.calls, of: key()).count == 2)
    #expect(try await uploader(again).readBack(key()) == Self.source.digest)
  }
}

@Suite(
  "proof of what a real server holds",
  .enabled(if: SwiftS3Server.isInstalled, SwiftS3Server.absence), .besideSwiftS3, .shortTime, .notQuick)
struct RealProofTests {
  @Test("OpenStack Swift verifies the checksums of parts and needs no signed digest")
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
    // The server may answer racing requests with 503, as in ``RealServerTests``.
    let uploader = RetryingUploader(
      base: S3Uploader(
        store, options: S3Options(singleLimit: 5 << 20, partSize: 5 << 20),
        transport: try CurlTransport.patient(), credentials: credentials))
    let source = TestSource(size: 11 << 20 + 3).summed
    let key = try #require(ObjectKey("abc.mp4"))
    _ = try await uploader.upload(source.upload, to: key) { _ in }
    #expect(try await uploader.readBack(key) == source.digest)
    // The error if other bytes arrive than were read.
    let meddling = MeddlingTransport(base: try CurlTransport.patient()) { call in
      guard call.target.contains("partNumber=2"), call.body.length > 1000 else { return }
      call.body = .bytes([UInt8](repeating: 7, count: 5 << 20))
    }
    let other = S3Uploader(
      store, options: S3Options(singleLimit: 5 << 20, partSize: 5 << 20, partsAtOnce: 1), transport: meddling,
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
  /// Whether this is a part that probes what the store checks.
  fileprivate var isQuestion: Bool { call.target.contains("partNumber=") && body.count < 100 }
  fileprivate var isPart: Bool { call.target.contains("partNumber=") && !isQuestion }
}

/// A flag that can be set once, from any thread.
private final class TestFlag: Sendable {
  private let state = Mutex(false)
  var isSet: Bool { state.withLock { $0 } }
  func set() { state.withLock { $0 = true } }
}
