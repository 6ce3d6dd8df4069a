import HTTPTypes
import ReelCore
import ReelFaultCampaign
import ReelHTTPFakes
import ReelStorage
import ReelTestSupport
import Synchronization
import Testing

@testable import ReelRemoteStorage

/// Stores and proxies that deviate from Amazon's replies.
@Suite(.shortTime) struct StoreDialectTests {
  private let key: ObjectKey
  private let large = TestSource(size: 11 << 20).summed.upload
  init() throws { key = try #require(ObjectKey("a.mp4")) }

  private static func page(_ status: Int, _ text: String) -> HTTPReply {
    HTTPReply(status: .init(code: status), fields: [.contentType: "text/html"], body: Array(text.utf8))
  }

  // MARK: Regions

  @Test("a region with capital letters is learned at a custom endpoint", arguments: ["NL", "RegionOne"])
  func region(_ region: String) async throws {
    let fake = FakeS3 { sent in
      let scope = sent.call.credentials.first { $0.name == .authorization }?.value.revealed ?? ""
      return scope.contains("/\(region)/s3/aws4_request")
        ? nil
        : FakeS3.error(400, "AuthorizationHeaderMalformed", more: "<Region>\(region)</Region>")
    }
    let store = try uploader(fake.transport())
    _ = try await store.upload(TestSource(size: 9).upload, to: key) { _ in }
    #expect(store.client.addressing.region == region)
  }

  @Test("an invalid region never becomes part of Amazon's host name", arguments: ["NL", "x/", "a.b"])
  func regionOfAmazon(_ region: String) async throws {
    let transport = ScriptedTransport { _ in
      FakeS3.error(400, "AuthorizationHeaderMalformed", more: "<Region>\(region)</Region>")
    }
    let store = try uploader(transport, store: try S3Store(bucket: "buck"))
    await #expect(throws: UploadError.self) { try await store.prepare() }
    #expect(transport.calls.allSatisfy { $0.call.origin.host == "buck.s3.us-east-1.amazonaws.com" })
  }

  // MARK: 404

  static let pages = [
    page(404, "404 page not found\n"), page(404, "<html><head><title>404 Not Found</title></head></html>"),
    FakeS3.error(404, "RouteNotFound"),
    // Envoy, without a route.
    FakeS3.empty(404, fields: [.contentLength: "0"]),
  ]

  @Test("a proxy's 404 to a removal does not count: the object still exists", arguments: pages)
  func removing(_ page: HTTPReply) async throws {
    let isDown = Mutex(true)
    let fake = FakeS3 { sent in sent.call.method == .delete && isDown.withLock { $0 } ? page : nil }
    let store = try uploader(fake.transport())
    _ = try await store.upload(TestSource(size: 9).upload, to: key) { _ in }
    let error = await #expect(throws: UploadError.self) { try await store.remove(key) }
    #expect(error?.code == .unavailable, "\(error?.message ?? "")")
    isDown.withLock { $0 = false }
    #expect(try await store.remove(key) == .gone)
    #expect(fake.bucket.withLock { $0.objects.isEmpty })
  }

  @Test("a 404 to every request does not count either, whatever existed", arguments: pages)
  func removingBehindNothing(_ page: HTTPReply) async throws {
    let transport = ScriptedTransport { sent in sent.call.method == .head ? FakeS3.empty(404) : page }
    let store = try uploader(transport)
    for ask in [{ _ = try await store.remove(key) }, { _ = try await store.client.readBack(key, size: 9) }] {
      let error = await #expect(throws: UploadError.self) { try await ask() }
      #expect(error?.code == .unavailable, "\(error?.message ?? "")")
    }
  }

  @Test(
    "a store whose 404 has its own wording is trusted if it repeats it and its bucket exists",
    arguments: pages)
  func removed(_ page: HTTPReply) async throws {
    let store = try uploader(
      FakeS3 { sent in
        [.delete, .get].contains(sent.call.method) && !sent.call.target.contains("?") ? page : nil
      }.transport())
    #expect(try await store.remove(key) == .gone)
    #expect(try await store.client.readBack(key, size: 9) == nil)
  }

  @Test("Amazon's own 404 takes one request", arguments: ["NoSuchKey", "NoSuchVersion"])
  func missing(_ code: String) async throws {
    let transport = FakeS3 { sent in
      sent.call.method == .delete ? FakeS3.error(404, code) : nil
    }.transport()
    #expect(try await uploader(transport).client.remove(key) == .gone)
    #expect(transport.calls.count == 1)
  }

  @Test("an object that is still listed is not gone, even if HEAD says so", arguments: pages)
  func listed(_ page: HTTPReply) async throws {
    let fake = FakeS3 { sent in
      switch sent.call.method {
      case .delete: page
      case .head: FakeS3.empty(404)
      default: nil
      }
    }
    fake.bucket.withLock {
      $0.objects["a/b/a.mp4"] = FakeS3.Object(bytes: [1], type: "", tag: FakeS3.tag([1]))
    }
    let error = await #expect(throws: UploadError.self) { try await uploader(fake.transport()).remove(key) }
    #expect(error?.code == .unavailable, "\(error?.message ?? "")")
  }

  @Test(
    "a store whose HEAD finds an object that GET does not is asked only once more",
    arguments: pages)
  func contradiction(_ page: HTTPReply) async throws {
    let transport = ScriptedTransport { sent in sent.call.method == .head ? HTTPReply(status: .ok) : page }
    let error = await #expect(throws: UploadError.self) { _ = try await uploader(transport).find(key) }
    #expect(error?.code == .unavailable, "\(error?.message ?? "")")
    #expect(transport.calls.map(\.call.method) == [.head, .get, .head])
  }

  @Test("an upload is gone, whatever the wording, if the list of uploads agrees", arguments: pages)
  func aborted(_ page: HTTPReply) async throws {
    let fake = FakeS3()
    fake.bucket.withLock { $0.uploads["u"] = FakeS3.Upload(name: "a/b/a.mp4", type: "") }
    let transport = ScriptedTransport { sent in
      let reply = fake.answer(sent)
      return sent.call.method == .delete && sent.call.target.contains("uploadId=") ? page : reply
    }
    #expect(try await uploader(transport).remove(key) == .gone)
    #expect(fake.bucket.withLock { $0.uploads.isEmpty })
  }

  @Test("a proxy's 404 to every list does not mean that the store can't list uploads", arguments: pages)
  func unlistedBehindNothing(_ page: HTTPReply) async throws {
    let fake = FakeS3 { sent in sent.call.method == .get ? page : nil }
    let store = try uploader(fake.transport())
    for ask in [
      { _ = try await store.remove(key) }, { _ = try await store.upload(large, to: key) { _ in } },
    ] {
      let error = await #expect(throws: UploadError.self) { try await ask() }
      #expect(error?.code == .unavailable, "\(error?.message ?? "")")
    }
  }

  @Test("a proxy's 404 does not make existing parts disappear", arguments: pages)
  func aborting(_ page: HTTPReply) async throws {
    let fake = FakeS3 { sent in
      sent.call.method == .delete && sent.call.target.contains("uploadId=") ? page : nil
    }
    fake.bucket.withLock { $0.uploads["u"] = FakeS3.Upload(name: "a/b/a.mp4", type: "") }
    let error = await #expect(throws: UploadError.self) { try await uploader(fake.transport()).remove(key) }
    #expect(error?.code == .unavailable)
  }

  // MARK: What a store checks

  /// How a part is answered whose bytes do not match their digest.
  enum Refusal: CaseIterable { case internalError, slowDown, cut, reset }

  @Test(
    "a store without an error for mismatching bytes still accepts large objects", arguments: Refusal.allCases)
  func noWordForOtherBytes(_ refusal: Refusal) async throws {
    let fake = FakeS3()
    let transport = ScriptedTransport { sent async throws(HTTPFailure) in
      let reply = fake.answer(sent)
      guard sent.call.target.contains("partNumber="), reply.status == .badRequest else { return reply }
      switch refusal {
      case .internalError: return FakeS3.error(500, "InternalError")
      case .slowDown: return FakeS3.error(503, "SlowDown")
      case .cut: throw .broken("a test")
      case .reset: return HTTPReply(status: .badGateway)
      }
    }
    _ = try await uploader(transport).upload(large, to: key) { _ in }
    #expect(try await uploader(transport).readBack(key) == large.digest)
    #expect(fake.bucket.withLock { $0.uploads.isEmpty })
  }

  @Test("a store that is down is not taken for one that checks nothing")
  func down() async throws {
    let isDown = Mutex(true)
    let fake = FakeS3 { sent in
      sent.call.target.contains("partNumber=") && isDown.withLock { $0 }
        ? FakeS3.error(503, "SlowDown") : nil
    }
    let store = try uploader(fake.transport())
    let error = await #expect(throws: UploadError.self) {
      _ = try await store.upload(large, to: key) { _ in }
    }
    #expect(error?.code == .unavailable && store.client.knownChecks == nil)
    isDown.withLock { $0 = false }
    _ = try await store.upload(large, to: key) { _ in }
    #expect(store.client.knownChecks?.signatures == true)
  }

  @Test("a part's checksum in another notation does not prove a difference")
  func hexChecksums() async throws {
    let fake = FakeS3()
    let transport = ScriptedTransport { sent in
      let reply = fake.answer(sent)
      guard sent.call.target.contains("partNumber="), reply.isSuccess else { return reply }
      var fields = reply.fields
      fields[.checksumSHA256] = String(repeating: "0f", count: 32)
      return HTTPReply(status: reply.status, fields: fields)
    }
    _ = try await uploader(transport).upload(large, to: key) { _ in }
    #expect(try await uploader(transport).readBack(key) == large.digest)
  }

  // MARK: Unfinished uploads

  static let unknown: [(Int, String?)] = [
    (405, "ERRLakeFSNotSupported"), (405, nil), (501, nil), (404, "NoSuchKey"), (404, nil),
    (400, "InvalidArgument"), (400, "InvalidRequest"), (400, "NotImplemented"), (400, nil),
    (500, "InternalError"),
  ]

  private static func reply(_ answer: (Int, String?)) -> HTTPReply {
    answer.1.map { FakeS3.error(answer.0, $0) } ?? FakeS3.empty(answer.0)
  }

  /// A bucket that gives `answer` to `question` and breaks the connection during an upload's second part.
  private static func fake(
    cutting cuts: CutLines, answering answer: (Int, String?), to question: String
  ) -> FakeS3 {
    FakeS3 { sent async throws(HTTPFailure) in
      if sent.call.method == .get, sent.call.target.contains(question) { return reply(answer) }
      if sent.call.target.contains("partNumber=2"), sent.body.count > 1000, cuts.areCut {
        throw .broken("a test")
      }
      return nil
    }
  }

  private final class CutLines: Sendable {
    private let state = Mutex(true)
    var areCut: Bool { state.withLock { $0 } }
    func mend() { state.withLock { $0 = false } }
  }

  @Test("large objects can be stored and removed where unfinished uploads can't be listed", arguments: 0..<10)
  func unlistedUploads(_ number: Int) async throws {
    let lines = CutLines()
    let fake = Self.fake(cutting: lines, answering: Self.unknown[number], to: "uploads=")
    let store = RetryingUploader(base: try uploader(fake.transport()), clock: HurriedClock())
    await #expect(throws: UploadError.self) { _ = try await store.upload(large, to: key) { _ in } }
    #expect(fake.bucket.withLock { $0.uploads.isEmpty }, "nobody would find them again")
    lines.mend()
    _ = try await store.upload(large, to: key) { _ in }
    #expect(try await store.remove(key) == .gone)
    #expect(fake.bucket.withLock { $0.objects.isEmpty && $0.uploads.isEmpty })
  }

  @Test("an upload starts over and leaves nothing where parts can't be listed", arguments: 0..<10)
  func unlistedParts(_ number: Int) async throws {
    let lines = CutLines()
    let fake = Self.fake(cutting: lines, answering: Self.unknown[number], to: "uploadId=")
    let store = RetryingUploader(base: try uploader(fake.transport()), clock: HurriedClock())
    await #expect(throws: UploadError.self) { _ = try await store.upload(large, to: key) { _ in } }
    lines.mend()
    _ = try await store.upload(large, to: key) { _ in }
    #expect(try await store.readBack(key) == large.digest)
    #expect(fake.bucket.withLock { $0.uploads.isEmpty })
  }

  @Test(
    "a store whose lists fail temporarily keeps its parts", arguments: ["uploads=", "uploadId="])
  func failingLists(_ question: String) async throws {
    let lines = CutLines()
    let left = Mutex(2)
    let fake = FakeS3 { sent async throws(HTTPFailure) in
      if sent.call.target.contains("partNumber=2"), sent.body.count > 1000, lines.areCut {
        throw .broken("a test")
      }
      guard !lines.areCut, sent.call.method == .get, sent.call.target.contains(question) else { return nil }
      let fails = left.withLock { left in
        left -= 1
        return left >= 0
      }
      return fails ? FakeS3.error(500, "InternalError") : nil
    }
    let store = try retrying(fake.transport())
    await #expect(throws: UploadError.self) { _ = try await store.upload(large, to: key) { _ in } }
    lines.mend()
    _ = try await store.upload(large, to: key) { _ in }
    // One of the uploads was the probe.
    #expect(fake.bucket.withLock { $0.objects.count == 1 && $0.uploads.isEmpty && $0.begun == 2 })
  }

  @Test("a refused list of parts leaves no parts behind")
  func refusedParts() async throws {
    let fake = FakeS3 { sent in
      sent.call.method == .get && sent.call.target.contains("uploadId=")
        ? FakeS3.error(400, "SomethingNew") : nil
    }
    fake.bucket.withLock { $0.uploads["u"] = FakeS3.Upload(name: "a/b/a.mp4", type: "") }
    let error = await #expect(throws: UploadError.self) {
      _ = try await uploader(fake.transport()).upload(large, to: key) { _ in }
    }
    #expect(error?.code == .rejected && fake.bucket.withLock { $0.uploads.isEmpty })
  }

  /// Backblaze binds each upload to a storage location, which may be full.
  @Test("an upload that its store can't continue is replaced by another")
  func boundUpload() async throws {
    let bound = Mutex<String?>(nil)
    let fake = FakeS3 { sent in
      guard sent.call.target.contains("partNumber="), sent.body.count > 1000 else { return nil }
      let id = sent.call.target.split(separator: "uploadId=").last.map(String.init)
      let isFull = bound.withLock { bound in
        bound = bound ?? id
        return bound == id
      }
      return isFull && !sent.call.target.contains("partNumber=1&")
        ? FakeS3.error(503, "ServiceUnavailable") : nil
    }
    _ = try await retrying(fake.transport()).upload(large, to: key) { _ in }
    #expect(fake.bucket.withLock { $0.objects.count == 1 && $0.uploads.isEmpty })
  }

  @Test("a store that is busy for every upload keeps the parts that it has")
  func busy() async throws {
    let taking = Mutex(1)
    let fake = FakeS3 { sent in
      guard sent.call.target.contains("partNumber="), sent.body.count > 1000 else { return nil }
      return taking.withLock { taking in
        taking -= 1
        return taking < 0 ? FakeS3.error(503, "SlowDown") : nil
      }
    }
    await #expect(throws: UploadError.self) {
      _ = try await retrying(fake.transport(), partsAtOnce: 1).upload(large, to: key) { _ in }
    }
    #expect(fake.bucket.withLock { $0.uploads.values.map(\.parts.count) } == [1])
    taking.withLock { $0 = .max }
    _ = try await retrying(fake.transport()).upload(large, to: key) { _ in }
    #expect(fake.bucket.withLock { $0.objects.count == 1 && $0.uploads.isEmpty && $0.begun > 1 })
  }

  @Test("each part has its own attempts at a store that refuses some by design", arguments: 1...2)
  func someParts(_ times: Int) async throws {
    let refused = Mutex<[String: Int]>([:])
    let fake = FakeS3 { sent in
      guard sent.call.target.contains("partNumber="), sent.body.count > 1000 else { return nil }
      let number = String(sent.call.target.split(separator: "&")[0])
      return refused.withLock { refused in
        refused[number, default: 0] += 1
        return refused[number, default: 0] <= times ? FakeS3.error(503, "ServiceUnavailable") : nil
      }
    }
    let transport = fake.transport()
    let source = TestSource(size: 41 << 20).summed.upload
    _ = try await retrying(transport, partsAtOnce: 1).upload(source, to: key) { _ in }
    #expect(transport.calls.count { $0.body.count == 5 << 20 } == 8 * (times + 1))
    // One of the uploads was the probe.
    #expect(fake.bucket.withLock { $0.objects.count == 1 && $0.uploads.isEmpty && $0.begun == 2 })
  }

  // MARK: Delayed visibility

  /// `rclone serve s3` shows an object some seconds after it has accepted it, but with If-None-Match already knows of
  /// it.
  @Test(
    "an object that a store shows late is sent once, and one that it never shows twice",
    arguments: [1000, 11 << 20],
    [true, false])
  func late(_ size: Int, _ isShown: Bool) async throws {
    let asked = Mutex(0)
    let fake = FakeS3(tellsChecksums: false)
    let transport = ScriptedTransport { sent in
      let reply = fake.answer(sent)
      if sent.call.method == .put, !sent.call.target.contains("?"), reply.isSuccess {
        return HTTPReply(status: .ok, fields: [.eTag: "\"abc\""])
      }
      guard sent.call.method == .head, reply.isSuccess else { return reply }
      return asked.withLock { asked in
        asked += 1
        return asked > 3 && isShown ? reply : FakeS3.empty(404)
      }
    }
    let (store, source) = (try retrying(transport), TestSource(size: size).upload)
    do throws(UploadError) {
      _ = try await store.upload(source, to: key) { _ in }
      #expect(isShown)
    } catch {
      #expect(!isShown && error.code == .unavailable, "\(error.message)")
    }
    let ends = transport.calls.count { sent in
      size == 1000
        ? sent.call.method == .put
        : sent.call.method == .post && sent.call.target.contains("uploadId=")
          && sent.body.count > 100
    }
    #expect(ends == (isShown ? 1 : 2), "\(ends)")
    #expect(fake.bucket.withLock { $0.objects.count } == 1)
  }

  @Test("a tag that a proxy has made weak still belongs to the part")
  func weakTags() async throws {
    let fake = FakeS3()
    let transport = ScriptedTransport { sent in
      let reply = fake.answer(sent)
      guard sent.call.target.contains("partNumber="), let tag = reply.fields[.eTag] else { return reply }
      var fields = reply.fields
      fields[.eTag] = "W/" + tag
      return HTTPReply(status: reply.status, fields: fields)
    }
    _ = try await uploader(transport).upload(large, to: key) { _ in }
    #expect(fake.bucket.withLock { $0.objects.count } == 1)
  }

  @Test("parts that a store does not find at completion are sent once more, then its words are reported")
  func invalidPart() async throws {
    let fake = FakeS3 { sent in
      sent.call.method == .post && sent.call.target.contains("uploadId=") && sent.body.count > 100
        ? FakeS3.error(400, "InvalidPart") : nil
    }
    let transport = fake.transport()
    let error = await #expect(throws: UploadError.self) {
      _ = try await retrying(transport).upload(large, to: key) { _ in }
    }
    #expect(error?.code == .interrupted && error?.message.contains("InvalidPart: words") == true)
    #expect(transport.calls.count { $0.call.target.contains("partNumber=1&") && $0.body.count > 1000 } == 2)
    #expect(fake.bucket.withLock { $0.objects.isEmpty && $0.uploads.isEmpty })
  }

  private func retrying(_ transport: any HTTPTransport, partsAtOnce: Int = 3) throws -> RetryingUploader {
    let options = S3Options(singleLimit: 5 << 20, partSize: 5 << 20, partsAtOnce: partsAtOnce)
    return RetryingUploader(base: try uploader(transport, options), clock: HurriedClock())
  }

  @Test("a missing bucket is not taken for a store that can't list uploads")
  func noBucket() async throws {
    let fake = FakeS3 { sent in
      sent.call.target.contains("uploads=") ? FakeS3.error(404, "NoSuchBucket") : nil
    }
    let error = await #expect(throws: UploadError.self) { try await uploader(fake.transport()).remove(key) }
    #expect(error?.code == .storeUnusable)
  }

  @Test(
    "an unfinished upload is found on any page, and an endless list ends",
    arguments: [true, false])
  func pagesOfUploads(_ heedsMarkers: Bool) async throws {
    let fake = FakeS3 { sent in
      guard sent.call.method == .get, sent.call.target.contains("uploads=") else { return nil }
      let isSecond = sent.call.target.contains("key-marker=other") && heedsMarkers
      let upload = isSecond ? "<Upload><Key>a/b/a.mp4</Key><UploadId>u</UploadId></Upload>" : ""
      return FakeS3.xml(
        "<ListMultipartUploadsResult>\(upload)<IsTruncated>\(!isSecond)</IsTruncated>"
          + "<NextKeyMarker>other/9</NextKeyMarker><NextUploadIdMarker>o9</NextUploadIdMarker>"
          + "</ListMultipartUploadsResult>")
    }
    fake.bucket.withLock { $0.uploads["u"] = FakeS3.Upload(name: "a/b/a.mp4", type: "") }
    let transport = fake.transport()
    try await uploader(transport).remove(key)
    #expect(fake.bucket.withLock { $0.uploads.isEmpty } == heedsMarkers)
    #expect(transport.calls.count { $0.call.target.contains("uploads=") } == 2)
  }

  // MARK: Time

  @Test("a completion may take minutes without a sign of life")
  func slowCompletion() async throws {
    let transport = FakeS3().transport()
    _ = try await uploader(transport).upload(large, to: key) { _ in }
    let call = transport.calls.first { $0.call.method == .post && $0.call.target.contains("uploadId=") }
    #expect(call?.call.thinking == .seconds(600))
    #expect(call.map { HTTPTimeouts().limit(for: $0.call, at: nil) > .seconds(900) } == true)
  }

  @Test(
    "lists, removals and new uploads have twice the time, but less than the longest silence allowed to a store"
  )
  func slowAnswers() async throws {
    let transport = FakeS3().transport()
    let store = try uploader(transport)
    try await store.prepare()
    _ = try await store.upload(large, to: key) { _ in }
    try await store.remove(key)
    for sent in transport.calls {
      let isLong =
        sent.call.method == .delete || sent.call.target.contains("uploads=")
        || sent.call.target.contains("list-type=")
      guard let limit = HTTPTimeouts().answerLimit(for: sent.call) else { continue }
      let isOfUpload = sent.call.method == .get && sent.call.target.contains("uploadId=")
      #expect(isOfUpload || limit == .seconds(isLong ? 40 : 20), "\(sent.call.method) \(sent.call.target)")
      let silence = max(limit, HTTPTimeouts().idleLimit(for: sent.call))
      #expect(isOfUpload || silence < RetryPolicy().longestSilence, "one that is lost is sent once more")
    }
  }

  @Test("a slow completion is reported", arguments: [true, false])
  func toldCompletion(isSlow: Bool) async throws {
    let (notices, telling) = AsyncStream.makeStream(of: String.self)
    let fake = FakeS3()
    let transport = ScriptedTransport { sent throws(HTTPFailure) in
      if isSlow, sent.call.method == .post, sent.call.target.contains("uploadId=") {
        for await _ in notices { break }
      }
      return fake.answer(sent)
    }
    var options = S3Options(singleLimit: 5 << 20, partSize: 5 << 20, partsAtOnce: 3)
    options.completionSilence = isSlow ? .milliseconds(10) : .seconds(600)
    let told = Mutex<[String]>([])
    _ = try await S3Uploader(
      try #require(FakeS3.store), options: options, transport: transport,
      credentials: FixedCredentials(SignatureV4Tests.s3Key), clock: StoppedClock()
    ) { notice in
      told.withLock { $0.append(notice) }
      telling.yield(notice)
    }.upload(large, to: key) { _ in }
    #expect(told.withLock { $0.map { $0.contains("put \(key) together") } } == (isSlow ? [true] : []))
  }
}
