import FoundationEssentials
import HTTPTypes
import ReelCore
import ReelHTTPFakes
import ReelStorage
import ReelStorageTesting
import ReelTestSupport
import Synchronization
import Testing

@testable import ReelRemoteStorage

/// A clock that stands still.
struct StoppedClock: WallClock {
  var time = Date(timeIntervalSince1970: 1_800_000_000)
  func now() -> Date { time }
}

/// Returns an uploader over a fake, with the smallest permitted parts.
func uploader(
  _ transport: any HTTPTransport, _ options: S3Options? = nil, store: S3Store? = nil,
  credentials: (any CredentialSource)? = nil
) throws -> S3Uploader {
  S3Uploader(
    try store ?? #require(FakeS3.store),
    options: options ?? S3Options(singleLimit: 5 << 20, partSize: 5 << 20, partsAtOnce: 3),
    transport: transport,
    credentials: credentials ?? FixedCredentials(SignatureV4Tests.s3Key), clock: StoppedClock())
}

@Suite("over a bucket in memory", .shortTime)
struct S3UploaderTests {
  /// The kind of replies that a bucket gives.
  enum Replies: CaseIterable { case amazons, withoutChecksums, motos, withVersions }

  private func fake(_ replies: Replies) -> FakeS3 {
    FakeS3(
      tellsChecksums: replies != .withoutChecksums, isLikeMoto: replies == .motos,
      keepsVersions: replies == .withVersions)
  }

  @Test("it keeps every promise", arguments: UploaderContractTest.all, Replies.allCases)
  func promises(_ promise: UploaderContractTest, _ replies: Replies) async throws {
    let fake = fake(replies)
    try await promise.check(StoreUnderTest(largeSize: 11 << 20 + 3) { try uploader(fake.transport()) })
    let left = fake.bucket.withLock { ($0.objects.count, $0.uploads.count) }
    #expect(left.0 == 0 && left.1 == 0)
  }

  private func source(_ size: Int, seed: UInt8 = 1) -> UploadSource {
    TestSource(size: size, seed: seed).upload
  }
  private func key() throws -> ObjectKey { try #require(ObjectKey("abc.mp4")) }

  @Test("a post's addresses are signed again without a request to the store")
  func presigned() async throws {
    let transport = FakeS3().transport()
    let store = try uploader(transport, S3Options(viewing: .presigned(seconds: 60)))
    let stored = try await store.upload(source(10), to: key()) { _ in }
    #expect(stored.url.contains("X-Amz-Expires=60&"))
    let asked = transport.calls.count
    let renewed = try await store.presignedURL(of: key(), seconds: 600)
    #expect(
      renewed.hasPrefix("https://s3.test/bucket/a/b/abc.mp4?") && renewed.contains("X-Amz-Expires=600&"))
    #expect(try await store.presignedURL(of: key(), seconds: .max).contains("X-Amz-Expires=604800&"))
    #expect(try await store.presignedURL(of: key(), seconds: 0).contains("X-Amz-Expires=1&"))
    #expect(transport.calls.count == asked)
  }

  @Test("names, types, checksums and conditions are sent with each PUT")
  func put() async throws {
    let fake = FakeS3()
    let transport = fake.transport()
    let object = try await uploader(transport).upload(source(10), to: key()) { _ in }
    #expect(object.url == "https://s3.test/bucket/a/b/abc.mp4")
    #expect(object.digest == source(10).digest)
    let call = try #require(transport.calls.first?.call)
    #expect(call.fields[.ifNoneMatch] == "*" && call.fields[.contentType] == "video/mp4")
    #expect(call.fields[.contentSHA256] == source(10).digest.hex)
    #expect(call.fields[.checksumSHA256] == Base64.text(source(10).digest.bytes))
    #expect(transport.calls.count == 1, "a small object costs one request")
    #expect(fake.bucket.withLock { $0.objects["a/b/abc.mp4"]?.type } == "video/mp4")
  }

  @Test("a large object is assembled from its parts and keeps its type")
  func parts() async throws {
    let fake = FakeS3()
    let transport = fake.transport()
    _ = try await uploader(transport).upload(source(17 << 20), to: key()) { _ in }
    // Some stores hash the whole object before they answer HEAD.
    let heads = transport.calls.filter { $0.call.method == .head }
    #expect(heads.map(\.call.thinking) == [.zero, .seconds(1)])
    let object = fake.bucket.withLock { $0.objects["a/b/abc.mp4"] }
    #expect(object?.type == "video/mp4")
    #expect(object?.checksum?.hasSuffix("-4") == true)
  }

  @Test(
    "a rate applies to what is sent: bytes that are read twice, for hashing and for sending, count once")
  func rate() async throws {
    let fake = FakeS3()
    let server = try await LoopbackServer.start { fake.answer(received: $0) }
    let time = PassingTime()
    do {
      let endpoint = try HTTPAddress(parsing: "http://127.0.0.1:\(server.port)")
      let uploader = try uploader(
        CurlTransport.patient(limiter: time.limiter(1 << 20)),
        S3Options(singleLimit: 5 << 20, partSize: 5 << 20, partsAtOnce: 1),
        store: S3Store(bucket: "bucket", endpoint: endpoint))
      _ = try await uploader.upload(source(11 << 20), to: key()) { _ in }
      // A completion of some hundred bytes is added; a burst of 50 ms may be sent at once.
      #expect(time.seconds > 10.9 && time.seconds < 11.1, "\(time.seconds) s")
      #expect(fake.bucket.withLock { $0.objects["abc.mp4"]?.bytes.count } == 11 << 20)
    } catch {
      await server.stop()
      throw error
    }
    await server.stop()
  }

  @Test("an interrupted upload resumes with the parts that the store has", arguments: [true, false])
  func resume(_ tellsChecksums: Bool) async throws {
    let parts = Mutex(0)
    let fake = FakeS3(tellsChecksums: tellsChecksums) { sent async throws(HTTPFailure) in
      let isPart = sent.call.target.contains("partNumber=")
      let number =
        isPart
        ? parts.withLock { parts in
          parts += 1; return parts
        } : 0
      if number == 4 { throw .broken("a test") }
      return nil
    }
    let transport = fake.transport()
    let large = source(30 << 20 + 5)
    let one = S3Options(singleLimit: 5 << 20, partSize: 5 << 20, partsAtOnce: 1)
    let broken = await #expect(throws: UploadError.self) {
      _ = try await uploader(transport, one).upload(large, to: try key()) { _ in }
    }
    #expect(broken?.code == .interrupted)
    #expect(fake.bucket.withLock { $0.uploads.values.first?.parts.count } == 3)
    // Another process, which knows only the key.
    let again = fake.transport()
    let object = try await uploader(again, one).upload(large, to: try key()) { _ in }
    #expect(object.size == large.size)
    let sent = again.calls.filter { $0.call.target.contains("partNumber=") }.reduce(0) { $0 + $1.body.count }
    #expect(sent == 15 << 20 + 5, "\(sent) bytes were sent again")
    #expect(try await uploader(again).readBack(key()) == large.digest)
    #expect(fake.bucket.withLock { $0.uploads.isEmpty && $0.begun == 1 })
  }

  @Test(
    "a store that can't resume an upload gets a new one, and the error is reported if it refuses that, too"
  )
  func partsThatCannotBeSentAgain() async throws {
    // The ID of the upload that broke. It refuses the same part from then on, as `rclone serve s3` does after it has
    // received some bytes of one.
    let broken = Mutex<String?>(nil)
    let refusesAll = Mutex(false)
    let fake = FakeS3 { sent async throws(HTTPFailure) in
      let target = sent.call.target
      guard target.contains("partNumber=2") else { return nil }
      let isFirst = broken.withLock { id in
        defer { id = id ?? target }
        return id == nil
      }
      if isFirst { throw .broken("a test") }
      let isRefused = refusesAll.withLock { $0 } || broken.withLock { $0 } == target
      return isRefused ? FakeS3.error(501, "NotImplemented") : nil
    }
    let one = S3Options(singleLimit: 5 << 20, partSize: 5 << 20, partsAtOnce: 1)
    let large = source(11 << 20)
    func upload(_ name: String = "abc.mp4") async -> UploadError? {
      do {
        _ = try await uploader(fake.transport(), one).upload(large, to: try #require(ObjectKey(name))) { _ in
        }
        return nil
      } catch { return error as? UploadError }
    }
    #expect(await upload()?.code == .interrupted)
    #expect(fake.bucket.withLock { $0.uploads.count } == 1)
    let again = await upload()
    #expect(again?.code == .interrupted)
    // The store's own words are included.
    #expect(again?.message.contains("NotImplemented") == true, "\(again?.message ?? "")")
    #expect(fake.bucket.withLock { $0.uploads.isEmpty })
    #expect(await upload() == nil)
    #expect(try await uploader(fake.transport()).readBack(key()) == large.digest)
    refusesAll.withLock { $0 = true }
    #expect(await upload("other.mp4")?.code == .rejected)
  }

  @Test("parts with other content are not taken for ours")
  func foreignParts() async throws {
    let fake = FakeS3()
    let one = S3Options(singleLimit: 5 << 20, partSize: 5 << 20, partsAtOnce: 1)
    let other = source(11 << 20, seed: 7)
    let failing = FakeS3 { sent async throws(HTTPFailure) in
      if sent.call.target.contains("partNumber=3") { throw .broken("a test") }
      return nil
    }
    await #expect(throws: UploadError.self) {
      _ = try await uploader(failing.transport(), one).upload(other, to: try key()) { _ in }
    }
    let left = failing.bucket.withLock { $0 }
    fake.bucket.withLock { $0 = left }
    let ours = source(11 << 20)
    _ = try await uploader(fake.transport(), one).upload(ours, to: try key()) { _ in }
    #expect(try await uploader(fake.transport()).readBack(key()) == ours.digest)
  }

  @Test(
    "a source that changed leaves no parts behind; a broken connection does", arguments: [true, false])
  func leftovers(_ changes: Bool) async throws {
    let fake = FakeS3 { sent async throws(HTTPFailure) in
      if !changes, sent.call.target.contains("partNumber=2") { throw .broken("a test") }
      return nil
    }
    let honest = TestSource(size: 11 << 20)
    let changed = TestSource(size: 11 << 20, seed: 2, claiming: honest.digest)
    await #expect(throws: UploadError.self) {
      _ = try await uploader(fake.transport()).upload((changes ? changed : honest).upload, to: try key()) {
        _ in
      }
    }
    #expect(fake.bucket.withLock { $0.uploads.isEmpty } == changes)
  }

  @Test(
    "where unfinished uploads can't be listed, the parts of a failed upload are removed: nothing could find them again",
    arguments: ["denied", "not implemented", "another answer"])
  func unlisted(_ kind: String) async throws {
    let breaks = Mutex(true)
    let fake = FakeS3 { sent async throws(HTTPFailure) in
      if sent.call.method == .get, sent.call.target.contains("uploads=") {
        switch kind {
        case "denied": return FakeS3.error(403, "AccessDenied")
        case "not implemented": return FakeS3.error(501, "NotImplemented")
        default: return FakeS3.xml("<ListBucketResult></ListBucketResult>")
        }
      }
      if sent.call.target.contains("partNumber=2"), breaks.withLock({ $0 }) { throw .broken("a test") }
      return nil
    }
    let error = await #expect(throws: UploadError.self) {
      _ = try await uploader(fake.transport()).upload(source(11 << 20), to: try key()) { _ in }
    }
    #expect(error?.code == .interrupted)
    #expect(fake.bucket.withLock { $0.uploads.isEmpty && $0.begun == 1 })
    breaks.withLock { $0 = false }
    _ = try await uploader(fake.transport()).upload(source(11 << 20), to: try key()) { _ in }
    #expect(try await uploader(fake.transport()).readBack(key()) == source(11 << 20).digest)
    #expect(fake.bucket.withLock { $0.uploads.isEmpty && $0.begun == 2 })
  }

  @Test("a bucket that answers NoSuchUpload to the list has no unfinished uploads")
  func noneYet() async throws {
    let breaks = Mutex(true)
    let fake = FakeS3()
    let transport = ScriptedTransport { sent async throws(HTTPFailure) in
      if sent.call.target.contains("uploads="), sent.call.method == .get,
        fake.bucket.withLock({ $0.begun == 0 })
      {
        return FakeS3.error(404, "NoSuchUpload")
      }
      if sent.call.target.contains("partNumber=2"), breaks.withLock({ $0 }) { throw .broken("a test") }
      return fake.answer(sent)
    }
    let error = await #expect(throws: UploadError.self) {
      _ = try await uploader(transport).upload(source(11 << 20), to: try key()) { _ in }
    }
    #expect(error?.code == .interrupted)
    breaks.withLock { $0 = false }
    _ = try await uploader(transport).upload(source(11 << 20), to: key()) { _ in }
    #expect(fake.bucket.withLock { $0.uploads.isEmpty && $0.objects.count == 1 && $0.begun == 1 })
  }

  @Test("a truncated read-back is not a digest, which would prove that the object differs")
  func shortReadBack() async throws {
    let fake = FakeS3(tellsChecksums: false)
    _ = try await uploader(fake.transport()).upload(source(10), to: key()) { _ in }
    let transport = ScriptedTransport { sent async throws(HTTPFailure) in
      let answer = fake.answer(sent)
      guard sent.call.method == .get else { return answer }
      return HTTPReply(status: answer.status, fields: answer.fields, body: answer.body.dropLast())
    }
    let error = await #expect(throws: UploadError.self) {
      _ = try await uploader(transport).readBack(try key())
    }
    #expect(error?.code == .interrupted)
  }

  @Test(
    "where parts can't be listed, an interrupted upload starts over and leaves nothing",
    arguments: [403, 501])
  func unlistedParts(_ status: Int) async throws {
    let breaks = Mutex(true)
    let fake = FakeS3 { sent async throws(HTTPFailure) in
      if sent.call.method == .get, sent.call.target.contains("uploadId=") {
        return FakeS3.error(status, status == 403 ? "AccessDenied" : "NotImplemented")
      }
      if sent.call.target.contains("partNumber=2"), breaks.withLock({ $0 }) { throw .broken("a test") }
      return nil
    }
    for begun in 1...2 {
      let error = await #expect(throws: UploadError.self) {
        _ = try await uploader(fake.transport()).upload(source(11 << 20), to: try key()) { _ in }
      }
      #expect(error?.code == .interrupted)
      // The first attempt has not listed yet: its upload is removed with the next.
      #expect(fake.bucket.withLock { $0.uploads.count } == (begun == 1 ? 1 : 0))
      #expect(fake.bucket.withLock { $0.begun } == begun)
    }
    breaks.withLock { $0 = false }
    _ = try await uploader(fake.transport()).upload(source(11 << 20), to: try key()) { _ in }
    #expect(try await uploader(fake.transport()).readBack(key()) == source(11 << 20).digest)
    #expect(fake.bucket.withLock { $0.uploads.isEmpty && $0.begun == 3 })
  }

  @Test("removing an object aborts its unfinished uploads and no others")
  func removing() async throws {
    let fake = FakeS3()
    for name in ["a/b/abc.mp4", "a/b/abc.mp4x", "abc.mp4"] {
      fake.bucket.withLock { $0.uploads[name] = FakeS3.Upload(name: name, type: "") }
    }
    try await uploader(fake.transport()).remove(key())
    #expect(fake.bucket.withLock { Set($0.uploads.keys) } == ["a/b/abc.mp4x", "abc.mp4"])
  }

  private func removal(_ fake: FakeS3) async throws -> ObjectRemoval {
    try await uploader(fake.transport()).remove(key())
  }

  @Test("what a bucket keeps of a removed object is reported: versions, delete marker and retention")
  func removingVersions() async throws {
    let fake = FakeS3(keepsVersions: true)
    let store = try uploader(fake.transport())
    // Objects with similar names are not among its versions.
    for name in ["abc.mp4", "abc.mp4x"] {
      _ = try await store.upload(source(10), to: #require(ObjectKey(name))) { _ in }
    }
    let removed = try await removal(fake)
    #expect(removed.versions == [KeptVersion(id: "v1")] && removed.deleteMarker == "m3")
    let words = try #require(removed.remains)
    #expect(
      words.hasPrefix("abc.mp4 is removed, but s3+https://s3.test/bucket/a/b keeps its version v1 behind"),
      "\(words)")
    #expect(words.contains("the delete marker m3: remove each there by its id"), "\(words)")
    #expect(try await store.find(key()) == nil)

    // Restored and removed again, both versions stay; that is reported as long as anything is kept.
    _ = try await store.upload(source(11), to: key()) { _ in }
    fake.bucket.withLock { bucket in
      bucket.versions[0].keptUntil = "2099-01-02T03:04:05Z"
      bucket.versions[3].keptUntil = "2020-01-01T00:00:00.000Z"
      bucket.versions[3].isHeld = true
    }
    let again = try await removal(fake)
    let end = try #require(ISOTime.date("2099-01-02T03:04:05Z"))
    #expect(again.versions == [KeptVersion(id: "v4", isHeld: true), KeptVersion(id: "v1", keptUntil: end)])
    let locked = try #require(again.remains)
    #expect(
      locked.contains("versions v4 (under a legal hold), v1 (locked until 2099-01-02 03:04:05 UTC) behind"),
      "\(locked)")
    #expect(locked.contains("a locked version stays"), "\(locked)")
  }

  @Test(
    "versions that can't be listed are reported as kept, and a transient error is retried")
  func removingUnlistedVersions() async throws {
    for (status, code) in [(403, "AccessDenied"), (501, "NotImplemented")] {
      let fake = FakeS3(keepsVersions: true) { sent async throws(HTTPFailure) in
        sent.call.target.contains("versions=") ? FakeS3.error(status, code) : nil
      }
      let removed = try await removal(fake)
      #expect(removed.deleteMarker == "m1" && removed.versions.isEmpty)
      #expect(removed.remains?.contains("s3:ListBucketVersions") == true, "\(removed)")
    }
    let busy = FakeS3(keepsVersions: true) { sent async throws(HTTPFailure) in
      sent.call.target.contains("versions=") ? FakeS3.error(503, "SlowDown") : nil
    }
    let error = await #expect(throws: UploadError.self) { _ = try await removal(busy) }
    #expect(error?.code == .unavailable)
  }

  @Test("a delete marker that hides nothing does not count as kept")
  func removingNothingWithVersions() async throws {
    #expect(try await removal(FakeS3(keepsVersions: true)) == .gone)
    #expect(try await removal(FakeS3()) == .gone)
  }

  @Test("an error in a reply with status 200 is an error")
  func errorIn200() async throws {
    let fake = FakeS3 { sent async throws(HTTPFailure) in
      sent.call.method == .post && sent.call.target.contains("uploadId=")
        ? FakeS3.error(200, "InternalError") : nil
    }
    let error = await #expect(throws: UploadError.self) {
      _ = try await uploader(fake.transport()).upload(source(11 << 20), to: try key()) { _ in }
    }
    #expect(error?.code == .unavailable)
    #expect(fake.bucket.withLock { $0.objects.isEmpty && $0.uploads.count == 1 })
  }

  @Test("a wrong checksum of a small object is detected")
  func wrongChecksum() async throws {
    let wrong = FakeS3.checksum([1])
    let fake = FakeS3(tellsChecksums: false, checking: .nothing)
    let transport = ScriptedTransport { sent in
      guard sent.call.method == .put else { return fake.answer(sent) }
      _ = fake.answer(ScriptedTransport.Sent(call: sent.call, body: [UInt8](repeating: 1, count: 10)))
      return HTTPReply(status: .ok, fields: [.eTag: "x", .checksumSHA256: wrong])
    }
    let error = await #expect(throws: UploadError.self) {
      _ = try await uploader(transport).upload(source(10), to: try key()) { _ in }
    }
    #expect(error?.code == .verificationFailed)
  }

  // MARK: Replies to a completion

  /// A transport to `fake`. A request that `isAsked` selects takes effect, but gets another reply.
  private func transport(
    _ fake: FakeS3, replying reply: HTTPReply, when isAsked: @escaping @Sendable (HTTPCall) -> Bool
  ) -> ScriptedTransport {
    ScriptedTransport { sent async throws(HTTPFailure) in
      let answer = fake.answer(sent)
      return isAsked(sent.call) && answer.isSuccess ? reply : answer
    }
  }

  private static func isCompletion(_ call: HTTPCall) -> Bool {
    call.method == .post && call.target.contains("uploadId=")
  }

  private func reads(_ transport: ScriptedTransport) -> Int {
    transport.calls.count { $0.call.method == .get && !$0.call.target.contains("?") }
  }

  @Test(
    "whatever a 200 other than Error says, the store is asked what it holds",
    arguments: [
      "<CompleteMultipartUploadResponse><Key>abc.mp4</Key></CompleteMultipartUploadResponse>",
      "<CompleteMultipartUploadResult><ChecksumSHA256>AAAA-3</ChecksumSHA256></CompleteMultipartUploadResult>",
      "<!DOCTYPE html><html><title>Please log in</title></html>", "{}", "",
    ], Replies.allCases)
  func anyReply(_ words: String, _ replies: Replies) async throws {
    let fake = fake(replies)
    let transport = transport(fake, replying: FakeS3.xml(words), when: Self.isCompletion)
    let object = try await uploader(transport).upload(source(11 << 20), to: key()) { _ in }
    #expect(object.digest == source(11 << 20).digest)
    #expect(fake.bucket.withLock { $0.objects.count == 1 && $0.uploads.isEmpty })
    #expect(reads(transport) == 0, "checksums of parts settle it")
  }

  @Test(
    "a completion that never happened is reported as such, whatever its reply", arguments: Replies.allCases)
  func nobodyCompleted(_ replies: Replies) async throws {
    let fake = fake(replies)
    let transport = ScriptedTransport { sent async throws(HTTPFailure) in
      Self.isCompletion(sent.call) ? FakeS3.xml("<CompleteMultipartUploadResult/>") : fake.answer(sent)
    }
    let error = await #expect(throws: UploadError.self) {
      _ = try await uploader(transport).upload(source(11 << 20), to: try key()) { _ in }
    }
    #expect(error?.code == .interrupted)
    #expect(fake.bucket.withLock { $0.objects.isEmpty && $0.uploads.count == 1 }, "the parts stay")
  }

  @Test(
    "unknown checksums settle nothing: the bytes do", arguments: [true, false],
    Replies.allCases)
  func unknownChecksums(_ isDamaged: Bool, _ replies: Replies) async throws {
    let fake = fake(replies)
    let size = 11 << 20
    let transport = ScriptedTransport { sent async throws(HTTPFailure) in
      let answer = fake.answer(sent)
      if Self.isCompletion(sent.call), isDamaged {
        fake.bucket.withLock { $0.objects["a/b/abc.mp4"]?.bytes[7] ^= 1 }
      }
      guard sent.call.method == .head, answer.isSuccess else { return answer }
      return HTTPReply(
        status: .ok,
        fields: [.contentLength: "\(size)", .eTag: "\"abc\"", .checksumSHA256: FakeS3.checksum([1])])
    }
    var error: UploadError?
    do {
      _ = try await uploader(transport).upload(source(size), to: key()) { _ in }
    } catch let thrown as UploadError {
      error = thrown
    }
    #expect(error?.code == (isDamaged ? .verificationFailed : nil), "\(error?.message ?? "")")
    #expect(reads(transport) == 1)
    #expect(fake.bucket.withLock { $0.objects.isEmpty } == isDamaged, "what is proved to be damaged goes")
  }

  @Test("an object of another length is not ours and is removed", arguments: Replies.allCases)
  func otherLength(_ replies: Replies) async throws {
    let fake = fake(replies)
    let transport = ScriptedTransport { sent async throws(HTTPFailure) in
      let answer = fake.answer(sent)
      if Self.isCompletion(sent.call) {
        fake.bucket.withLock { _ = $0.objects["a/b/abc.mp4"]?.bytes.popLast() }
      }
      return answer
    }
    let error = await #expect(throws: UploadError.self) {
      _ = try await uploader(transport).upload(source(11 << 20), to: try key()) { _ in }
    }
    #expect(error?.code == .verificationFailed)
    #expect(fake.bucket.withLock { $0.objects.isEmpty })
  }

  @Test("a tag that is the MD5 of the whole is as good as that of the parts", arguments: [true, false])
  func tagOfWhole(_ isDamaged: Bool) async throws {
    let fake = FakeS3(tellsChecksums: false)
    let transport = ScriptedTransport { sent async throws(HTTPFailure) in
      let answer = fake.answer(sent)
      if Self.isCompletion(sent.call), isDamaged {
        fake.bucket.withLock { $0.objects["a/b/abc.mp4"]?.bytes[7] ^= 1 }
      }
      guard sent.call.method == .head, answer.isSuccess else { return answer }
      let bytes = fake.bucket.withLock { $0.objects["a/b/abc.mp4"]?.bytes ?? [] }
      return HTTPReply(
        status: .ok, fields: [.contentLength: "\(bytes.count)", .eTag: FakeS3.tag(bytes).uppercased()])
    }
    var error: UploadError?
    do {
      _ = try await uploader(transport).upload(source(11 << 20), to: key()) { _ in }
    } catch let thrown as UploadError {
      error = thrown
    }
    #expect(error?.code == (isDamaged ? .verificationFailed : nil), "\(error?.message ?? "")")
    #expect(reads(transport) == (isDamaged ? 1 : 0), "only the bytes prove a difference")
  }

  /// How a proxy answers instead of the store.
  enum Impostor: CaseIterable { case pageForHead, shortBody, nothingToRead }

  @Test(
    "an intact object is not removed because of a reply that did not come from the store",
    arguments: Impostor.allCases)
  func impostor(_ what: Impostor) async throws {
    let fake = fake(.amazons)
    let size = 11 << 20
    let transport = ScriptedTransport { sent async throws(HTTPFailure) in
      let answer = fake.answer(sent)
      guard answer.isSuccess, fake.bucket.withLock({ !$0.objects.isEmpty }) else { return answer }
      switch (sent.call.method, what) {
      case (.head, .pageForHead), (.get, .pageForHead):
        return HTTPReply(status: .ok, fields: [.contentLength: "17"])
      case (.head, _):
        return HTTPReply(status: .ok, fields: [.contentLength: "\(size)", .eTag: "\"abc\""])
      case (.get, .shortBody): return HTTPReply(status: .ok, body: [1, 2, 3])
      case (.get, .nothingToRead): return HTTPReply(status: .notFound)
      default: return answer
      }
    }
    let error = await #expect(throws: UploadError.self) {
      _ = try await uploader(transport).upload(source(size), to: try key()) { _ in }
    }
    #expect(
      error?.code == (what == .nothingToRead ? .unavailable : .interrupted), "\(error?.message ?? "")")
    #expect(fake.bucket.withLock { $0.objects.count } == 1)
  }

  @Test(
    "a completion whose reply is lost is recognized as ours, and nothing is sent twice",
    arguments: Replies.allCases)
  func lostCompletion(_ replies: Replies) async throws {
    let fake = fake(replies)
    let transport = ScriptedTransport { sent async throws(HTTPFailure) in
      let answer = fake.answer(sent)
      if Self.isCompletion(sent.call) { throw .broken("a test") }
      return answer
    }
    let retrying = RetryingUploader(
      base: try uploader(transport), policy: RetryPolicy(firstDelay: .zero, longestDelay: .zero))
    let object = try await retrying.upload(source(11 << 20), to: key()) { _ in }
    #expect(object.digest == source(11 << 20).digest)
    #expect(fake.bucket.withLock { $0.objects.count == 1 && $0.begun == 1 })
  }

  @Test("a duplicate upload is aborted again if the first request is lost")
  func lostRemoval() async throws {
    let fake = fake(.amazons)
    let isLost = Mutex(false)
    let transport = ScriptedTransport { sent async throws(HTTPFailure) in
      if Self.isCompletion(sent.call) {
        // As if a proxy had sent the request twice.
        fake.bucket.withLock { bucket in
          if let own = bucket.uploads.values.first { bucket.uploads["another"] = own }
        }
      }
      let isFirst = isLost.withLock { isLost in
        defer { isLost = isLost || sent.call.target.contains("uploadId=another") }
        return !isLost
      }
      if isFirst, sent.call.target.contains("uploadId=another") { throw .broken("a test") }
      return fake.answer(sent)
    }
    _ = try await uploader(transport).upload(source(11 << 20), to: try key()) { _ in }
    #expect(isLost.withLock { $0 } && fake.bucket.withLock { $0.objects.count == 1 && $0.uploads.isEmpty })
  }

  // MARK: Bytes that change

  @Test(
    "bytes that change while every timestamp stays the same never become an object",
    arguments: [
      (1000, ChangingBytes.Moment.atOnce), (11 << 20, .atOnce), (11 << 20, .whenSent),
    ])
  func changing(_ size: Int, _ moment: ChangingBytes.Moment) async throws {
    // A store that accepts any bytes: only Reel can notice.
    let fake = fake(.motos)
    let bytes = ChangingBytes(size: size, at: moment)
    let error = await #expect(throws: UploadError.self) {
      _ = try await uploader(fake.transport()).upload(bytes.upload, to: try key()) { _ in }
    }
    #expect(error?.code == .sourceChanged)
    #expect(fake.bucket.withLock { $0.objects.isEmpty && $0.uploads.isEmpty })
  }

  @Test("bytes that change between two attempts are not combined with those sent before")
  func changingBetweenAttempts() async throws {
    let fake = fake(.motos)
    let (honest, other) = (TestSource(size: 11 << 20), TestSource(size: 11 << 20, seed: 2))
    let failing = ScriptedTransport { sent async throws(HTTPFailure) in
      if sent.call.target.contains("partNumber=3") { throw .broken("a test") }
      return fake.answer(sent)
    }
    let one = S3Options(singleLimit: 5 << 20, partSize: 5 << 20, partsAtOnce: 1)
    await #expect(throws: UploadError.self) {
      _ = try await uploader(failing, one).upload(honest.upload, to: try key()) { _ in }
    }
    try #require(fake.bucket.withLock { $0.uploads.count } == 1)
    // The file has other content by now and shows no sign of it.
    let changed = UploadSource(
      size: honest.upload.size, digest: honest.digest, contentType: "video/mp4",
      bytes: ChangingBytes(first: other, then: other))
    let error = await #expect(throws: UploadError.self) {
      _ = try await uploader(fake.transport(), one).upload(changed, to: try key()) { _ in }
    }
    #expect(error?.code == .sourceChanged)
    #expect(fake.bucket.withLock { $0.objects.isEmpty && $0.uploads.isEmpty })
  }
}

/// Bytes that claim to show any change, and change unnoticed.
final class ChangingBytes: ByteSource {
  enum Moment: Sendable {
    /// After the digest was taken.
    case atOnce
    /// When they are read for the second time, after each was hashed.
    case whenSent
  }
  let descriptor: Int32? = nil
  let isPrivate = true
  private let first: TestSource
  private let then: TestSource
  private let end = Mutex<Int64>(0)

  init(first: TestSource, then: TestSource) { (self.first, self.then) = (first, then) }

  convenience init(size: Int, at moment: Moment) {
    let (honest, other) = (TestSource(size: size), TestSource(size: size, seed: 2))
    self.init(first: moment == .atOnce ? other : honest, then: other)
  }

  /// A source with these bytes and the digest of the original ones.
  var upload: UploadSource {
    let honest = TestSource(size: first.bytes.count)
    return UploadSource(
      size: honest.upload.size, digest: honest.digest, contentType: "video/mp4", bytes: self)
  }

  func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws(SourceError) -> Int {
    let isNew = end.withLock { end in
      defer { end = max(end, offset + Int64(buffer.count)) }
      return offset >= end
    }
    return try (isNew ? first : then).read(into: buffer, at: offset)
  }

  func checkUnchanged() throws(SourceError) {}
}
