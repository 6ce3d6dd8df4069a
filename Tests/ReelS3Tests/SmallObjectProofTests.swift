import HTTPTypes
import ReelCore
import ReelHTTPFakes
import ReelStorage
import ReelTestSupport
import Testing

@testable import ReelRemoteStorage

/// Objects sent in one request: the store has to prove that it holds them, whatever its reply says.
@Suite(.shortTime) struct SmallObjectProofTests {
  private let key: ObjectKey
  private let source = TestSource(size: 1000)
  init() throws { key = try #require(ObjectKey("a.mp4")) }

  /// What happens to a PUT.
  struct Put: Sendable, CustomTestStringConvertible {
    let testDescription: String
    /// The bytes that arrive; nil for none.
    var kept: @Sendable ([UInt8]) -> [UInt8]? = { $0 }
    /// The reply, made from the bucket's.
    var told: @Sendable (HTTPReply) -> HTTPReply = { $0 }

    init(
      _ description: String, kept: @escaping @Sendable ([UInt8]) -> [UInt8]? = { $0 },
      told: @escaping @Sendable (HTTPReply) -> HTTPReply = { $0 }
    ) {
      (testDescription, self.kept, self.told) = (description, kept, told)
    }
  }

  /// A transport to a bucket that checks nothing and reports no checksums, with `put` applied.
  private func transport(_ fake: FakeS3, _ put: Put) -> ScriptedTransport {
    ScriptedTransport { sent in
      guard sent.call.method == .put else { return fake.answer(sent) }
      guard let kept = put.kept(sent.body) else { return put.told(HTTPReply(status: .ok)) }
      return put.told(fake.answer(ScriptedTransport.Sent(call: sent.call, body: kept)))
    }
  }

  private static func reply(_ tag: String?, _ body: String = "", checksum: String? = nil) -> HTTPReply {
    var fields = HTTPFields()
    fields[.eTag] = tag
    fields[.checksumSHA256] = checksum
    return HTTPReply(status: .ok, fields: fields, body: Array(body.utf8))
  }

  private static let md5OfOthers = "\"5d41402abc4b2a76b9719d911017c592\""

  static let lost = [
    Put("a page with a weak tag", kept: { _ in nil }) { _ in
      reply("W/\"1f-abc\"", "<html><title>Login</title></html>")
    },
    Put("a page with a tag", kept: { _ in nil }) { _ in reply("\"abc\"", "<html></html>") },
    Put("an error with a tag", kept: { _ in nil }) { _ in
      reply("\"abc\"", "<Error><Code>InternalError</Code></Error>")
    },
    Put("an error with a tag, after white space", kept: { _ in nil }) { _ in
      reply("\"abc\"", "\n<?xml version=\"1.0\"?><Error><Code>InternalError</Code></Error>")
    },
    Put("the MD5 of other bytes", kept: { _ in nil }) { _ in reply(md5OfOthers) },
    Put("nothing", kept: { _ in nil }) { _ in reply(nil) },
  ]

  @Test("an object that was never stored makes no post, whatever the reply", arguments: lost)
  func nothingStored(_ put: Put) async throws {
    let fake = FakeS3(tellsChecksums: false, checking: .nothing)
    let transport = transport(fake, put)
    let error = await #expect(throws: UploadError.self) {
      _ = try await uploader(transport).upload(source.upload, to: key) { _ in }
    }
    #expect(error?.isWorthARetry == true, "\(error?.message ?? "")")
    let files = try files(transport)
    let page = await #expect(throws: UploadError.self) { try await files.put([1, 2, 3], as: Self.page) }
    #expect(page?.isWorthARetry == true && page?.message.contains("x.json") == true)
  }

  static let damaged = [
    Put("cut short, with the tag of that", kept: { Array($0.dropLast(7)) }),
    Put(
      "a bit changed, with the tag of that",
      kept: { bytes in
        bytes.enumerated().map { $0.offset == 1 ? $0.element ^ 1 : $0.element }
      }),
    Put("cut short, with a tag that is no MD5", kept: { Array($0.dropLast(1)) }) { _ in reply("\"abc\"") },
    Put("cut short, without a tag", kept: { Array($0.dropLast(1)) }) { _ in reply(nil) },
    Put("a bit changed, without a tag", kept: { bytes in bytes.map { $0 ^ 1 } }) { _ in reply(nil) },
    Put("a bit changed, with the checksum of that", kept: { bytes in bytes.map { $0 ^ 1 } }) { _ in
      reply("\"abc\"", checksum: FakeS3.checksum([1]))
    },
  ]

  @Test("an object that a store without checks has damaged is detected and removed", arguments: damaged)
  func otherBytes(_ put: Put) async throws {
    let fake = FakeS3(tellsChecksums: false, checking: .nothing)
    let transport = transport(fake, put)
    let error = await #expect(throws: UploadError.self) {
      _ = try await uploader(transport).upload(source.upload, to: key) { _ in }
    }
    #expect(error?.code == .verificationFailed, "\(error?.message ?? "")")
    #expect(fake.bucket.withLock { $0.objects.isEmpty })
    let files = try files(transport)
    let page = await #expect(throws: UploadError.self) { try await files.put([1, 2, 3], as: Self.page) }
    #expect(page?.code == .interrupted)
  }

  /// Cases with the requests that each takes.
  static let whole: [(put: Put, requests: Int)] = [
    (Put("its MD5"), 1),
    (Put("its MD5 in upper case", told: { reply($0.fields[.eTag]?.uppercased()) }), 1),
    (Put("its MD5 without quotation marks", told: { reply($0.fields[.eTag]?.trimmingQuotes()) }), 1),
    (Put("its MD5 in a weak tag", told: { reply($0.fields[.eTag].map { "W/" + $0 }) }), 1),
    (Put("a tag that is no MD5", told: { _ in reply("\"abc\"") }), 2),
    (Put("no tag", told: { _ in reply(nil) }), 2),
    (Put("the MD5 of something else", told: { _ in reply(md5OfOthers) }), 2),
    (Put("a checksum written otherwise", told: { reply($0.fields[.eTag], checksum: "00ff") }), 1),
    (Put("a checksum written otherwise, and no MD5", told: { _ in reply("\"abc\"", checksum: "00ff") }), 3),
  ]

  @Test("an intact object is never taken for a damaged one", arguments: 0..<9)
  func isWhole(_ number: Int) async throws {
    let (put, requests) = Self.whole[number]
    let fake = FakeS3(tellsChecksums: false, checking: .nothing)
    let transport = transport(fake, put)
    _ = try await uploader(transport).upload(source.upload, to: key) { _ in }
    #expect(transport.calls.count == requests, "\(put.testDescription)")
    try await files(transport).put([1, 2, 3], as: Self.page)
    #expect(fake.bucket.withLock { $0.objects.count } == 2)
  }

  @Test(
    "a checksum in the reply needs no further request and no MD5", arguments: [nil, "\"abc\"", md5OfOthers])
  func checksum(_ tag: String?) async throws {
    let fake = FakeS3()
    let put = Put("", told: { Self.reply(tag, checksum: $0.fields[.checksumSHA256]) })
    let transport = transport(fake, put)
    _ = try await uploader(transport).upload(source.upload, to: key) { _ in }
    #expect(transport.calls.count == 1)
  }

  @Test(
    "tags that are never an MD5 make the object be read back, once",
    arguments: [md5OfOthers, "\"\(String(repeating: "f", count: 32))\""])
  func encrypted(_ tag: String) async throws {
    let fake = FakeS3(tellsChecksums: false, checking: .nothing)
    let transport = ScriptedTransport { sent in
      let reply = fake.answer(sent)
      var fields = reply.fields
      if fields[.eTag] != nil { fields[.eTag] = tag }
      return HTTPReply(status: reply.status, fields: fields, body: reply.body)
    }
    _ = try await uploader(transport).upload(source.upload, to: key) { _ in }
    #expect(transport.calls.map(\.call.method) == [.put, .head, .get])
    try await files(transport).put([1, 2, 3], as: Self.page)
  }

  @Test("an empty object is stored, too")
  func empty() async throws {
    for tells in [true, false] {
      let transport = FakeS3(tellsChecksums: tells).transport()
      _ = try await uploader(transport).upload(TestSource(size: 0).upload, to: key) { _ in }
      #expect(transport.calls.count == 1)
    }
  }

  // MARK: Replies to HEAD that leave something out

  @Test(
    "what HEAD omits is taken from GET: the length, the tag, or both",
    arguments: ["content-length", "etag", "both"],
    [false, true])
  func silentHead(_ missing: String, _ givesRanges: Bool) async throws {
    let fake = FakeS3(tellsChecksums: false)
    let transport = ScriptedTransport { sent in
      let reply = fake.answer(sent)
      var fields = reply.fields
      let isLook = sent.call.endsAtHead
      if sent.call.method == .head, reply.isSuccess {
        if missing != "etag" { fields[.contentLength] = nil }
        if missing != "content-length" { fields[.eTag] = nil }
      } else if isLook, reply.isSuccess, givesRanges {
        fields[.contentRange] = "bytes 0-0/\(reply.body.count)"
        fields[.contentLength] = "1"
      }
      return HTTPReply(status: reply.status, fields: fields, body: isLook ? [] : reply.body)
    }
    let store = try uploader(transport)
    for size in [1000, 11 << 20] {
      let name = try #require(ObjectKey("\(size).mp4"))
      let source = TestSource(size: size).upload
      _ = try await store.upload(source, to: name) { _ in }
      #expect(try await store.find(name)?.size == Int64(size))
      #expect(try await store.readBack(name) == source.digest)
    }
  }

  @Test(
    "a length that only HEAD reports does not prove that the object differs", arguments: ["0", "7"],
    [1000, 11 << 20])
  func wrongHead(_ length: String, _ size: Int) async throws {
    let fake = FakeS3(tellsChecksums: false)
    let transport = ScriptedTransport { sent in
      let reply = fake.answer(sent)
      guard reply.isSuccess else { return reply }
      var fields = reply.fields
      if sent.call.method == .head { fields[.contentLength] = length }
      if sent.call.method == .put, !sent.call.target.contains("?") { fields[.eTag] = "\"abc\"" }
      return HTTPReply(status: reply.status, fields: fields, body: sent.call.endsAtHead ? [] : reply.body)
    }
    let (store, source) = (try uploader(transport), TestSource(size: size).upload)
    _ = try await store.upload(source, to: key) { _ in }
    #expect(fake.bucket.withLock { $0.objects.count } == 1)
    if length == "0" {
      #expect(try await store.find(key)?.size == source.size)
      #expect(try await store.readBack(key) == source.digest)
    }
  }

  @Test(
    "the length of an object's first byte is not taken for the object's, which is kept",
    arguments: [(206, "bytes 0-0/*"), (206, nil), (200, "bytes 0-0/*")] as [(Int, String?)])
  func lengthOfAByte(_ status: Int, _ range: String?) async throws {
    let fake = FakeS3(tellsChecksums: false)
    let transport = ScriptedTransport { sent in
      let (reply, isLook) = (fake.answer(sent), sent.call.endsAtHead)
      guard reply.isSuccess, isLook || sent.call.method == .head else { return reply }
      var fields = reply.fields
      fields[.contentLength] = isLook ? "1" : nil
      if isLook { fields[.contentRange] = range }
      return HTTPReply(status: .init(code: isLook ? status : 200), fields: fields)
    }
    let store = try uploader(transport)
    let large = await #expect(throws: UploadError.self) {
      _ = try await store.upload(TestSource(size: 11 << 20).upload, to: key) { _ in }
    }
    #expect(large?.code == .interrupted, "\(large?.message ?? "")")
    #expect(fake.bucket.withLock { $0.objects.count } == 1)
    let found = await #expect(throws: UploadError.self) { _ = try await store.find(key) }
    #expect(found?.code == .interrupted, "\(found?.message ?? "")")
  }

  @Test("without any tags, the object is read back")
  func noTags() async throws {
    let fake = FakeS3(tellsChecksums: false)
    let transport = ScriptedTransport { sent in
      let reply = fake.answer(sent)
      var fields = reply.fields
      if !sent.call.target.contains("partNumber=") { fields[.eTag] = nil }
      if sent.call.endsAtHead, reply.isSuccess { fields[.contentRange] = "bytes 0-0/\(reply.body.count)" }
      return HTTPReply(status: reply.status, fields: fields, body: sent.call.endsAtHead ? [] : reply.body)
    }
    for size in [1000, 11 << 20] {
      let name = try #require(ObjectKey("\(size).mp4"))
      _ = try await uploader(transport).upload(TestSource(size: size).upload, to: name) { _ in }
    }
    let reads = transport.calls.filter {
      $0.call.method == .get && !$0.call.endsAtHead && !$0.call.target.contains("?")
    }
    #expect(reads.count == 2)
  }

  @Test("a login page is not taken for the object, whatever its length")
  func loginPage() async throws {
    let transport = ScriptedTransport { _ in
      HTTPReply(status: .ok, fields: [.contentLength: "1000"], body: Array("<html></html>".utf8))
    }
    let error = await #expect(throws: UploadError.self) { _ = try await uploader(transport).find(key) }
    #expect(error?.code == .interrupted)
  }

  private static let page = S3Files.File(
    name: "x.json", contentType: "application/json", cacheControl: "no-cache")

  private func files(_ transport: any HTTPTransport) throws -> S3Files {
    S3Files(
      try #require(FakeS3.store), transport: transport,
      credentials: FixedCredentials(SignatureV4Tests.s3Key), clock: StoppedClock(),
      policy: RetryPolicy(attempts: 1))
  }
}
