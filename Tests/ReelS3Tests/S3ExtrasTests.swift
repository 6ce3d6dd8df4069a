import FoundationEssentials
import HTTPTypes
import ReelCore
import ReelCrypto
import ReelHTTPFakes
import ReelStorage
import ReelTestSupport
import Synchronization
import Testing

@testable import ReelRemoteStorage

/// Stores that don't support all of Amazon's headers.
@Suite(.shortTime) struct S3ExtrasTests {
  /// How a store refuses a header that it does not support.
  struct Refusal: Sendable, CustomTestStringConvertible {
    let status: Int
    let code: String?
    var names = false
    var testDescription: String { "\(status) \(code ?? "without a body")\(names ? ", named" : "")" }

    func reply(_ field: String) -> HTTPReply {
      guard let code else { return HTTPReply(status: .init(code: status)) }
      let words = names ? "A header you provided is not implemented: \(field)" : "not implemented"
      return HTTPReply(
        status: .init(code: status),
        body: Array("<Error><Code>\(code)</Code><Message>\(words)</Message></Error>".utf8))
    }
  }

  static let refusals = [
    Refusal(status: 501, code: "NotImplemented", names: true), Refusal(status: 501, code: "NotImplemented"),
    Refusal(status: 501, code: nil), Refusal(status: 400, code: "InvalidArgument"),
    Refusal(status: 400, code: "InvalidRequest", names: true), Refusal(status: 400, code: nil),
    // A non-standard code counts if the message names the header.
    Refusal(status: 400, code: "UnsupportedHeader", names: true),
    Refusal(status: 400, code: "InvalidDigest", names: true),
  ]
  static let fields: [[HTTPField.Name]] = [
    [.ifNoneMatch], S3Extra.checksum.fields, [.ifNoneMatch] + S3Extra.checksum.fields,
  ]

  /// A bucket that refuses each request with one of `fields`.
  private func fake(_ fields: [HTTPField.Name], _ refusal: Refusal) -> FakeS3 {
    FakeS3(tellsChecksums: false) { sent in
      guard let field = fields.first(where: { sent.call.fields[$0] != nil }) else { return nil }
      return refusal.reply(field.canonicalName)
    }
  }

  @Test(
    "each header is omitted where a store refuses it, and everything is still stored and proved",
    arguments: refusals,
    0..<3)
  func leftOut(_ refusal: Refusal, _ number: Int) async throws {
    let fields = Self.fields[number]
    let fake = fake(fields, refusal)
    let transport = fake.transport()
    let store = try uploader(transport)
    for (name, size) in [("a.mp4", 9), ("b.mp4", 11 << 20 + 3), ("c.mp4", 9)] {
      let source = TestSource(size: size).upload
      let key = try #require(ObjectKey(name))
      let stored = try await store.upload(source, to: key) { _ in }
      #expect(stored.size == source.size && stored.digest == source.digest)
      #expect(try await store.readBack(key) == source.digest)
    }
    // Learned once: after the first refusals nothing is sent twice.
    let refused = transport.calls.filter { sent in fields.contains { sent.call.fields[$0] != nil } }
    #expect(refused.count <= 4, "\(refused.count)")
    let last = transport.calls.last { $0.call.method == .put }
    #expect(fields.allSatisfy { last?.call.fields[$0] == nil })
    // Headers that the store accepts are still sent.
    if !fields.contains(.ifNoneMatch) { #expect(last?.call.fields[.ifNoneMatch] == "*") }
    if !fields.contains(.checksumSHA256) { #expect(last?.call.fields[.checksumSHA256] != nil) }
    #expect(last?.call.fields[.contentSHA256]?.utf8.count == 64)
  }

  @Test("without the condition, an existing object is not overwritten either")
  func taken() async throws {
    let fake = fake([.ifNoneMatch], Self.refusals[0])
    let key = try #require(ObjectKey("a.mp4"))
    let first = try uploader(fake.transport())
    for size in [9, 11 << 20] {
      _ = try? await first.remove(key)
      _ = try await first.upload(TestSource(size: size).upload, to: key) { _ in }
      for store in [first, try uploader(fake.transport())] {
        let error = await #expect(throws: UploadError.self) {
          _ = try await store.upload(TestSource(size: size, seed: 2).upload, to: key) { _ in }
        }
        #expect(error?.code == .alreadyExists)
      }
      #expect(try await first.readBack(key) == TestSource(size: size).digest)
    }
  }

  @Test("settings omit the headers from the start")
  func settings() async throws {
    let transport = FakeS3(tellsChecksums: false).transport()
    var options = S3Options(singleLimit: 5 << 20, partSize: 5 << 20)
    (options.sendsChecksums, options.sendsConditions) = (false, false)
    let store = try uploader(transport, options)
    for (name, size) in [("a.mp4", 9), ("b.mp4", 11 << 20)] {
      _ = try await store.upload(TestSource(size: size).upload, to: try #require(ObjectKey(name))) { _ in }
    }
    for sent in transport.calls {
      #expect(Self.fields[2].allSatisfy { sent.call.fields[$0] == nil }, "\(sent.call.method)")
      #expect(!String(decoding: sent.body, as: UTF8.self).contains("ChecksumSHA256"))
    }
  }

  @Test(
    "AWS's own variable and profile setting do so, too",
    arguments: [
      (nil, nil, nil), ("when_required", nil, false), ("WHEN_SUPPORTED", "when_required", true),
      (nil, "when_required", false),
    ]
      as [(String?, String?, Bool?)])
  func variable(_ variable: String?, _ profile: String?, _ sends: Bool?) async throws {
    let folder = try TemporaryFolder()
    try folder.write("[default]\nrequest_checksum_calculation = \(profile ?? "")\n".utf8, to: "config")
    var environment = ["AWS_CONFIG_FILE": folder.path(of: "config")]
    environment["AWS_REQUEST_CHECKSUM_CALCULATION"] = variable
    #expect(try await LocalCredentials(environment: environment, profile: nil).sendsChecksums() == sends)
  }

  /// Amazon's sentence, and older ones from MinIO and Ceph.
  static let demands = [
    ("InvalidRequest", "Content-MD5 OR x-amz-checksum- HTTP header is required for Put Object requests"),
    (
      "InvalidRequest",
      "Content-MD5 HTTP header is required for Put Part requests with Object Lock parameters"
    ),
    ("MissingContentMD5", "Missing required header for this request: Content-Md5."),
  ]

  @Test(
    "a bucket that requires MD5 gets it from then on", arguments: demands, [false, true])
  func demandsMD5(_ demand: (code: String, words: String), _ isAmazons: Bool) async throws {
    let fake = FakeS3(tellsChecksums: false) { sent in
      guard sent.call.method == .put else { return nil }
      guard let told = sent.call.fields[.contentMD5] else {
        return HTTPReply(
          status: .badRequest,
          body: Array("<Error><Code>\(demand.code)</Code><Message>\(demand.words)</Message></Error>".utf8))
      }
      guard told == Base64.text(Array(Insecure.MD5.hash(data: sent.body))) else {
        return FakeS3.error(400, "BadDigest")
      }
      let signed = sent.call.credentials.first { $0.name == .authorization }?.value.revealed ?? ""
      return signed.contains("content-md5;") ? nil : FakeS3.error(403, "SignatureDoesNotMatch")
    }
    let transport = fake.transport()
    var options = S3Options(singleLimit: 5 << 20, partSize: 5 << 20)
    options.sendsChecksums = false
    let amazons = try S3Store(bucket: "bucket", prefix: "a/b", usesPaths: true)
    let store = try uploader(transport, options, store: isAmazons ? amazons : nil)
    for (name, size) in [("a.mp4", 9), ("b.mp4", 11 << 20 + 3), ("c.mp4", 9)] {
      let source = TestSource(size: size).upload
      let key = try #require(ObjectKey(name))
      _ = try await store.upload(source, to: key) { _ in }
      #expect(try await store.readBack(key) == source.digest)
    }
    let bare = transport.calls.filter { $0.call.method == .put && $0.call.fields[.contentMD5] == nil }
    #expect(bare.count == 1)
  }

  @Test("a store that keeps demanding it is not asked forever")
  func alwaysDemandsMD5() async throws {
    let transport = FakeS3 { sent in
      sent.call.method == .put
        ? HTTPReply(
          status: .badRequest,
          body: Array(
            "<Error><Code>InvalidRequest</Code><Message>Content-MD5 is required</Message></Error>".utf8))
        : nil
    }.transport()
    let error = await #expect(throws: UploadError.self) {
      _ = try await uploader(transport).upload(
        TestSource(size: 9).upload, to: try #require(ObjectKey("a.mp4"))
      ) {
        _ in
      }
    }
    #expect(error?.code == .rejected && error?.message.contains("Content-MD5 is required") == true)
    #expect(transport.calls.filter { $0.call.method == .put }.count <= 6)
  }

  @Test("a refusal for another reason is reported unchanged and costs few requests")
  func somethingElse() async throws {
    let transport = FakeS3 { sent in
      sent.call.method == .put ? FakeS3.error(400, "InvalidArgument") : nil
    }.transport()
    let store = try uploader(transport)
    for name in ["a.mp4", "b.mp4", "c.mp4"] {
      let error = await #expect(throws: UploadError.self) {
        _ = try await store.upload(TestSource(size: 9).upload, to: try #require(ObjectKey(name))) { _ in }
      }
      #expect(error?.code == .rejected && error?.message.contains("InvalidArgument: words") == true)
    }
    #expect(transport.calls.filter { $0.call.method == .put }.count <= 6)
  }

  @Test("a bare refusal of HEAD says nothing about which headers a store supports")
  func refusedHead() async throws {
    let isRefusing = Mutex(true)
    let fake = FakeS3(tellsChecksums: false) { sent in
      if sent.call.method == .head, isRefusing.withLock({ $0 }) { return FakeS3.empty(400) }
      return sent.call.fields[.ifNoneMatch] == nil ? nil : Self.refusals[1].reply("if-none-match")
    }
    let store = try uploader(fake.transport())
    let key = try #require(ObjectKey("a.mp4"))
    let error = await #expect(throws: UploadError.self) { _ = try await store.find(key) }
    #expect(error?.code == .rejected, "\(error?.message ?? "")")
    isRefusing.withLock { $0 = false }
    _ = try await store.upload(TestSource(size: 9).upload, to: key) { _ in }
    #expect(try await store.find(key)?.size == 9)
  }

  @Test("Amazon is sent all headers, whatever it refuses")
  func amazon() async throws {
    let transport = ScriptedTransport { _ in Self.refusals[1].reply("x") }
    let store = try uploader(transport, store: try S3Store(bucket: "bucket"))
    await #expect(throws: UploadError.self) {
      _ = try await store.upload(TestSource(size: 9).upload, to: try #require(ObjectKey("a.mp4"))) { _ in }
    }
    #expect(transport.calls.count == 1)
  }
}

/// Errors for which neither the settings nor the file are to blame.
@Suite(.shortTime) struct S3BlameTests {
  private let key: ObjectKey
  init() throws { key = try #require(ObjectKey("a.mp4")) }

  private static func date(_ offset: Double) -> String {
    HTTPDateText.text(StoppedClock().now().addingTimeInterval(offset))
  }

  @Test(
    "a single request that is said to be too old is signed again if the clocks agree",
    arguments: [0.0, 5, -40])
  func oneTooOld(_ offset: Double) async throws {
    let count = Mutex(0)
    let transport = FakeS3 { sent in
      guard sent.call.method == .put,
        count.withLock({
          $0 += 1; return $0
        }) == 1
      else { return nil }
      return FakeS3.error(403, "RequestTimeTooSkewed", fields: [.date: Self.date(offset)])
    }.transport()
    _ = try await uploader(transport).upload(TestSource(size: 9).upload, to: key) { _ in }
    #expect(transport.calls.filter { $0.call.method == .put }.count == 2)
  }

  @Test("a store that keeps saying so is retried later, unless the clocks differ")
  func always() async throws {
    for (offset, code) in [
      (0.0, UploadError.Code.unavailable), (200, .unavailable), (4000, .storeUnusable),
      (-4000, .storeUnusable),
    ] {
      let transport = FakeS3 { sent in
        sent.call.method == .put
          ? FakeS3.error(403, "RequestTimeTooSkewed", fields: [.date: Self.date(offset)]) : nil
      }.transport()
      let error = await #expect(throws: UploadError.self) {
        _ = try await uploader(transport).upload(TestSource(size: 9).upload, to: key) { _ in }
      }
      #expect(error?.code == code, "\(offset): \(error?.message ?? "")")
      #expect(error?.message.contains("0 seconds") != true || abs(offset) >= 300)
      #expect(error?.message.contains("\(Int(abs(offset))) seconds") == (code == .storeUnusable))
    }
  }

  @Test(
    "the store's own words are quoted, whatever the code",
    arguments: [
      (403, "AccessDenied", "User x is not authorized to perform: kms:GenerateDataKey", "encryption key"),
      (400, "KMS.DisabledException", "arn:aws:kms:key is disabled", "KMS.DisabledException"),
      (403, "AccessDenied", "explicit deny in a bucket policy", "s3:PutObject"),
      (400, "XMinioAdminBucketQuotaExceeded", "Bucket quota exceeded", "is full"),
      (503, "SlowDown", "Resource requested is unreadable, please reduce your request rate", "busy"),
      (400, "EntityTooLarge", "Your proposed upload exceeds the maximum", "larger"),
      (507, "InsufficientStorage", "the disk sdb1 is full", "free some space"),
    ])
  func words(_ status: Int, _ code: String, _ words: String, _ advice: String) async throws {
    let transport = FakeS3 { sent in
      guard sent.call.method == .put else { return nil }
      return HTTPReply(
        status: .init(code: status),
        body: Array("<Error><Code>\(code)</Code><Message>\(words)</Message></Error>".utf8))
    }.transport()
    let error = await #expect(throws: UploadError.self) {
      _ = try await uploader(transport).upload(TestSource(size: 9).upload, to: key) { _ in }
    }
    let message = error?.message ?? ""
    #expect(message.contains(words) && message.contains(code) && message.contains(advice), "\(message)")
  }

  @Test("an archived object is reported as such, not as a problem of credentials")
  func archived() async throws {
    let transport = ScriptedTransport { _ in
      HTTPReply(
        status: .forbidden,
        body: Array(
          "<Error><Code>InvalidObjectState</Code><Message>not valid for the object's storage class</Message></Error>"
            .utf8))
    }
    let source = S3Source(
      try #require(FakeS3.store), name: "a.mp4", transport: transport,
      credentials: FixedCredentials(SignatureV4Tests.s3Key), clock: StoppedClock())
    let error = await #expect(throws: SourceError.self) { _ = try await source.head(for: .probing) }
    #expect(error?.code == .unreadable && error?.message.contains("restore it") == true)
    #expect(
      error?.message.contains("storage class") == true && error?.message.contains("credentials") != true)
  }

  @Test("a refusal by a proxy is attributed to the proxy", arguments: [407, 511])
  func proxy(_ status: Int) async throws {
    let transport = ScriptedTransport { _ in HTTPReply(status: .init(code: status)) }
    let error = await #expect(throws: UploadError.self) {
      _ = try await uploader(transport).upload(TestSource(size: 9).upload, to: key) { _ in }
    }
    #expect(error?.code == .storeUnusable && error?.message.contains("on the way to the store") == true)
    #expect(error?.message.contains("credentials") != true)
  }

  @Test(
    "an object's Content-Encoding says nothing about its bytes",
    arguments: ["gzip", "base64", "utf-8", "none", "aws-chunked", "identity", "br, gzip", ""])
  func encodings(_ encoding: String) async throws {
    let bytes = TestSource(size: 300).bytes
    let transport = ScriptedTransport { _ in
      HTTPReply(
        status: .partialContent,
        fields: [
          .eTag: "\"e\"", .contentEncoding: encoding, .contentRange: "bytes 0-299/300",
        ], body: bytes)
    }
    let source = S3Source(
      try #require(FakeS3.store), name: "a.mp4", transport: transport,
      credentials: FixedCredentials(SignatureV4Tests.s3Key), clock: StoppedClock())
    let head = try await source.head(for: .probing)
    #expect(head == bytes)
  }

  @Test(
    "where a proxy accepts no large requests, smaller ones are sent",
    arguments: [9 << 20, 17 << 20 + 3])
  func narrow(_ size: Int) async throws {
    let most = 6 << 20
    let fake = FakeS3 { sent in
      sent.body.count > most ? HTTPReply(status: .contentTooLarge, body: Array("<html>nginx".utf8)) : nil
    }
    let transport = fake.transport()
    let store = try uploader(transport, S3Options())
    let source = TestSource(size: size).upload
    _ = try await store.upload(source, to: key) { _ in }
    #expect(try await store.readBack(key) == source.digest)
    let large = transport.calls.filter { $0.body.count > most }.count
    // The limit is not probed again.
    _ = try await store.upload(source, to: try #require(ObjectKey("b.mp4"))) { _ in }
    #expect(transport.calls.filter { $0.body.count > most }.count == large && large <= 4)
    #expect(fake.bucket.withLock { $0.uploads.isEmpty })
  }

  @Test("if even the smallest is too large, the message names the proxy's limit instead of blaming the file")
  func tooNarrow() async throws {
    let transport = FakeS3 { sent in
      sent.body.count > 1 << 20 ? HTTPReply(status: .contentTooLarge) : nil
    }.transport()
    let error = await #expect(throws: UploadError.self) {
      _ = try await uploader(transport, S3Options()).upload(TestSource(size: 9 << 20).upload, to: key) { _ in
      }
    }
    #expect(error?.code == .tooLarge && error?.isOfTheFile == false)
    #expect(error?.message.contains("in front of it") == true, "\(error?.message ?? "")")
  }
}
