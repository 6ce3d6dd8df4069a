import FoundationEssentials
import HTTPTypes
import ReelCore
import ReelHTTPFakes
import ReelTestSupport
import Synchronization
import Testing

@testable import ReelRemoteStorage

@Suite("errors that a store replies with", .shortTime)
struct S3ErrorTests {
  private func failure(_ reply: HTTPReply) async throws -> UploadError? {
    let fake = FakeS3 { _ in reply }
    return await #expect(throws: UploadError.self) {
      _ = try await uploader(fake.transport()).upload(
        TestSource(size: 5).upload, to: try #require(ObjectKey("a.mp4"))
      ) { _ in }
    }
  }

  @Test(
    "each error has its code and a sentence with advice",
    arguments: [
      (404, "NoSuchBucket", .storeUnusable, "no bucket named bucket"),
      (403, "AccessDenied", .denied, "s3:PutObject"),
      (403, "InvalidAccessKeyId", .storeUnusable, "does not know the access key"),
      (403, "SignatureDoesNotMatch", .storeUnusable, "secret of the access key"),
      (400, "ExpiredToken", .storeUnusable, "get new credentials"),
      (400, "EntityTooLarge", .tooLarge, "larger"),
      (412, "PreconditionFailed", .alreadyExists, "already"),
      (409, "ConditionalRequestConflict", .unavailable, "again"),
      (503, "SlowDown", .unavailable, "busy"), (500, "InternalError", .unavailable, "busy"),
      (400, "RequestTimeout", .interrupted, "waited too long"),
      (400, "XAmzContentSHA256Mismatch", .interrupted, "other bytes"),
      (400, "BadDigest", .interrupted, "other bytes"),
      (507, "InsufficientStorage", .storeFull, "free some space"),
      (403, "InvalidAccessKeyId", .storeUnusable, "InvalidAccessKeyId: words"),
      (403, "SignatureDoesNotMatch", .storeUnusable, "SignatureDoesNotMatch: words"),
      (403, "SignatureDoesNotMatch", .storeUnusable, "the region us-east-1 (`region`)"),
      (403, "SecondLevelDomainForbidden", .storeUnusable, "use `noPathStyle`"),
      (403, "PathStyleDomainForbidden", .storeUnusable, "use `noPathStyle`"),
      (403, "StorageLimitExceeded", .storeFull, "takes no more"),
      (403, "BandwidthLimitExceeded", .storeFull, "takes no more"),
      (503, "RequestLimitExceeded", .unavailable, "busy"),
      (503, "UploadTrafficRateLimitExceeded", .unavailable, "try again later"),
      (429, "QpsLimitExceeded", .unavailable, "try again later"),
      (409, "FileImmutable", .rejected, "until its retention is over"),
      (400, "SomethingNew", .rejected, "SomethingNew: words"),
    ] as [(Int, String, UploadError.Code, String)])
  func sentences(_ status: Int, _ code: String, _ expected: UploadError.Code, _ words: String) async throws {
    let error = try #require(try await failure(FakeS3.error(status, code)))
    #expect(error.code == expected)
    #expect(error.message.contains(words), "\(error.message)")
    #expect(!error.message.contains(SignatureV4Tests.s3Key.secret.revealed))
    #expect(!error.message.contains("\n"))
  }

  @Test("a refusal without a body names the permission that the key needs")
  func refusedLook() async throws {
    let fake = FakeS3 { sent in sent.call.method == .head ? FakeS3.empty(403) : nil }
    let error = await #expect(throws: UploadError.self) {
      _ = try await uploader(fake.transport()).find(try #require(ObjectKey("a.mp4")))
    }
    #expect(error?.code == .denied)
    let message = error?.message ?? ""
    #expect(message.contains(SignatureV4Tests.s3Key.keyID) && message.contains("s3:ListBucket"), "\(message)")
    #expect(!message.contains("--"))
  }

  @Test(
    "a store's own reason comes first",
    arguments: [
      "Object is WORM protected and cannot be overwritten",
      "Cannot upload files, storage cap exceeded. See the Caps & Alerts page to increase your cap.",
    ])
  func why(_ words: String) async throws {
    let body = "<Error><Code>AccessDenied</Code><Message>\(xmlEscaped(words))</Message></Error>"
    let error = try await failure(HTTPReply(status: .forbidden, body: Array(body.utf8)))
    let message = error?.message ?? ""
    let place = message.firstRange(of: words)?.lowerBound
    let advice = message.firstRange(of: "s3:PutObject")?.lowerBound
    #expect(error?.code == .denied)
    #expect(place.flatMap { place in advice.map { place < $0 } } == true, "\(message)")
    #expect(!message.contains("--no-conditional-puts"))
  }

  @Test("Google's reason comes after its message")
  func details() async throws {
    let body =
      "<Error><Code>AccessDenied</Code><Message>Access denied.</Message>"
      + "<Details>a@b does not have storage.objects.create access to the bucket.</Details></Error>"
    let message = try await failure(HTTPReply(status: .forbidden, body: Array(body.utf8)))?.message ?? ""
    #expect(message.contains("Access denied. a@b does not have storage.objects.create"), "\(message)")
    #expect(!message.contains("--no-conditional-puts"))
  }

  @Test(
    "an error that may be due to an unsupported header says how to omit it",
    arguments: [
      (405, "MethodNotAllowed"), (304, nil), (403, "AccessDenied"), (403, "SignatureDoesNotMatch"),
      (400, "InvalidHeader"), (400, "InvalidRequest"),
    ] as [(Int, String?)])
  func unclear(_ status: Int, _ code: String?) async throws {
    let fake = FakeS3 { sent in
      guard sent.call.method == .put else { return nil }
      return code.map { FakeS3.error(status, $0) } ?? FakeS3.empty(status)
    }
    let key = try #require(ObjectKey("a.mp4"))
    func message(_ options: S3Options, _ store: S3Store? = nil) async throws -> String {
      let error = await #expect(throws: UploadError.self) {
        _ = try await uploader(fake.transport(), options, store: store).upload(
          TestSource(size: 5).upload, to: key
        ) { _ in }
      }
      return error?.message ?? ""
    }
    var options = S3Options()
    let all = try await message(options)
    #expect(
      all.contains("--no-conditional-puts") && all.contains("--request-checksums when_required"), "\(all)")
    #expect(!all.contains("redirects"))
    (options.sendsConditions, options.sendsChecksums) = (false, false)
    #expect(!(try await message(options)).contains("--"))
    // Amazon supports these headers.
    let amazons = try S3Store(bucket: "bucket", prefix: "a/b", usesPaths: true)
    #expect(!(try await message(S3Options(), amazons)).contains("--"))
  }

  @Test("a name that is said to exist and then does not is blamed on the condition", arguments: [5, 6 << 20])
  func takenAndNot(_ size: Int) async throws {
    let fake = FakeS3 { sent in
      sent.call.fields[.ifNoneMatch] == nil ? nil : FakeS3.error(412, "PreconditionFailed")
    }
    let key = try #require(ObjectKey("a.mp4"))
    let error = await #expect(throws: UploadError.self) {
      _ = try await uploader(fake.transport()).upload(TestSource(size: size).upload, to: key) { _ in }
    }
    #expect(error?.code == .unavailable && error?.message.contains("--no-conditional-puts") == true)
    var options = S3Options()
    options.sendsConditions = false
    _ = try await uploader(fake.transport(), options).upload(TestSource(size: size).upload, to: key) { _ in }
  }

  @Test(
    "a redirect names its target",
    arguments: [
      (307, "us-east-1", "<Endpoint>bucket.s3-eu.example</Endpoint>", nil, "https://s3-eu.example"),
      (301, "eu-9", "<Endpoint>s3-eu.example:9000</Endpoint>", nil, "https://s3-eu.example:9000"),
      (307, "us-east-1", "", "http://bucket.s3-eu.example/x?secret=1", "http://s3-eu.example"),
      (301, nil, "", "https://minio.example/bucket?secret=1", "to https://minio.example,"),
      (301, nil, "", nil, "elsewhere"),
    ] as [(Int, String?, String, String?, String)])
  func elsewhere(
    _ status: Int, _ region: String?, _ more: String, _ location: String?, _ expected: String
  ) async throws {
    var fields = HTTPFields()
    fields[.bucketRegion] = region
    fields[.location] = location
    let error = try #require(
      try await failure(FakeS3.error(status, "PermanentRedirect", fields: fields, more: more)))
    #expect(error.message.contains(expected), "\(error.message)")
    #expect(error.message.contains("endpoint") == (region != nil), "\(error.message)")
    #expect(!error.message.contains("secret"))
    // Only if it differs from the configured region.
    #expect(error.message.contains("(`region`)") == (region == "eu-9"), "\(error.message)")
  }

  @Test(
    "a bucket name can't precede an IP address", arguments: ["http://127.0.0.1:9000", "http://[::1]:9000"])
  func hostsThatAreAddresses(_ endpoint: String) throws {
    let address = try HTTPAddress(parsing: endpoint)
    let error = #expect(throws: S3StoreError.self) {
      _ = try S3Store(bucket: "bucket", endpoint: address, usesPaths: false)
    }
    #expect(error?.message.contains("no bucket's name can stand") == true)
    #expect(try S3Store(bucket: "bucket", endpoint: address).usesPaths)
  }

  @Test("a store's Retry-After is honored")
  func retryAfter() async throws {
    let error = try await failure(FakeS3.error(503, "SlowDown", fields: [.retryAfter: "7"]))
    #expect(error?.retryAfter == 7)
  }

  @Test("replies without a body or with one that is not XML are understood")
  func withoutWords() async throws {
    #expect(try await failure(FakeS3.empty(403))?.code == .denied)
    #expect(try await failure(FakeS3.empty(503))?.code == .unavailable)
    #expect(
      try await failure(HTTPReply(status: .badGateway, body: Array("<html><p>".utf8)))?.code == .unavailable)
  }

  @Test(
    "a wrong clock is corrected from the store's once, whatever the error code",
    arguments: [(403, "RequestTimeTooSkewed"), (400, "AccessDenied"), (403, "SignatureDoesNotMatch")])
  func skew(_ status: Int, _ code: String) async throws {
    let ahead = StoppedClock().now().addingTimeInterval(3600)
    let date = HTTPDateText.text(ahead)
    let isFixed = Mutex(false)
    let fake = FakeS3 { sent in
      let isRight = sent.call.fields[.amzDate] == SignatureV4.stamp(ahead)
      isFixed.withLock { $0 = $0 || isRight }
      return isRight ? nil : FakeS3.error(status, code, fields: [.date: date])
    }
    let transport = fake.transport()
    let uploader = try uploader(transport)
    _ = try await uploader.upload(TestSource(size: 5).upload, to: try #require(ObjectKey("a.mp4"))) { _ in }
    #expect(transport.calls.count == 2 && isFixed.withLock { $0 })
    // The correction is kept.
    _ = try await uploader.upload(TestSource(size: 5).upload, to: try #require(ObjectKey("b.mp4"))) { _ in }
    #expect(transport.calls.count == 3)
  }

  @Test("concurrent requests all benefit from the correction that the first one learned")
  func skewOfTwo() async throws {
    let ahead = StoppedClock().now().addingTimeInterval(3600)
    let date = HTTPDateText.text(ahead)
    let meeting = Meeting(of: 2)
    let fake = FakeS3 { sent async in
      if sent.call.fields[.amzDate] == SignatureV4.stamp(ahead) { return nil }
      await meeting.arrive()
      return FakeS3.error(403, "RequestTimeTooSkewed", fields: [.date: date])
    }
    let transport = fake.transport()
    let uploader = try uploader(transport)
    try await withThrowingTaskGroup { group in
      for name in ["a.mp4", "b.mp4"] {
        let key = try #require(ObjectKey(name))
        group.addTask { _ = try await uploader.upload(TestSource(size: 5).upload, to: key) { _ in } }
      }
      try await group.waitForAll()
    }
    #expect(transport.calls.count == 4)
  }

  @Test("a refusal by a store whose clock agrees is final")
  func noSkew() async throws {
    let date = HTTPDateText.text(StoppedClock().now().addingTimeInterval(200))
    let fake = FakeS3 { _ in FakeS3.error(403, "AccessDenied", fields: [.date: date]) }
    let transport = fake.transport()
    let error = await #expect(throws: UploadError.self) { try await uploader(transport).prepare() }
    #expect(transport.calls.count == 1 && error?.message.contains("AccessDenied") == true)
  }

  @Test("a store that never accepts the time is not asked forever")
  func skewForEver() async throws {
    let date = HTTPDateText.text(StoppedClock().now().addingTimeInterval(3600))
    let fake = FakeS3 { _ in FakeS3.error(403, "RequestTimeTooSkewed", fields: [.date: date]) }
    let transport = fake.transport()
    let error = await #expect(throws: UploadError.self) { try await uploader(transport).prepare() }
    #expect(transport.calls.count == 2)
    #expect(error?.message.contains("3600 seconds behind the store's") == true, "\(error?.message ?? "")")
  }

  @Test("a region that Amazon names is followed within Amazon, at a host that Reel derives itself")
  func regionOfAmazon() async throws {
    let store = try S3Store(bucket: "bucket")
    let fake = FakeS3 { sent in
      sent.call.origin.host == "bucket.s3.eu-west-3.amazonaws.com"
        ? FakeS3.xml("<ListBucketResult/>")
        : FakeS3.empty(
          301, fields: [.bucketRegion: "eu-west-3", .location: "https://evil.example/"])
    }
    let transport = fake.transport()
    try await uploader(transport, store: store).prepare()
    #expect(
      transport.calls.map(\.call.origin.host) == [
        "bucket.s3.us-east-1.amazonaws.com", "bucket.s3.eu-west-3.amazonaws.com",
      ])
    #expect(
      transport.calls.last?.call.credentials.allSatisfy {
        $0.origin.host == "bucket.s3.eu-west-3.amazonaws.com"
      } == true)
  }

  @Test("at a custom endpoint only the signature changes, never the host")
  func regionElsewhere() async throws {
    let fake = FakeS3 { sent in
      sent.call.credentials.contains { $0.value.revealed.contains("/garage/s3/") }
        ? FakeS3.xml("<ListBucketResult/>")
        : FakeS3.error(400, "AuthorizationHeaderMalformed", more: "<Region>garage</Region>")
    }
    let transport = fake.transport()
    try await uploader(transport).prepare()
    #expect(transport.calls.map(\.call.origin.host) == ["s3.test", "s3.test"])
  }

  @Test(
    "an invalid region is ignored",
    arguments: ["evil.example/", "", "eu west", "a@b", "-", String(repeating: "a", count: 100)])
  func badRegion(_ region: String) async throws {
    let fake = FakeS3 { _ in
      FakeS3.error(
        301, "PermanentRedirect", more: "<Region>\(region)</Region><Endpoint>evil.example</Endpoint>")
    }
    let transport = fake.transport()
    await #expect(throws: UploadError.self) {
      try await uploader(transport, store: try S3Store(bucket: "bucket")).prepare()
    }
    #expect(transport.calls.count == 1)
    #expect(transport.calls.allSatisfy { $0.call.origin.host == "bucket.s3.us-east-1.amazonaws.com" })
  }

  @Test("an expired token is looked up again, once")
  func expired() async throws {
    let looks = Mutex(0)
    let source = RememberedCredentials(clock: StoppedClock()) { () async throws(UploadError) in
      let number = looks.withLock { looks in
        looks += 1; return looks
      }
      return S3Credentials(keyID: "K", secret: Secret("s"), token: Secret("token-\(number)"))
    }
    let fake = FakeS3 { sent in
      sent.call.credentials.contains { $0.value.revealed == "token-1" }
        ? FakeS3.error(400, "ExpiredToken") : nil
    }
    try await uploader(fake.transport(), credentials: source).prepare()
    #expect(looks.withLock { $0 } == 2)
  }

  /// Credentials from a profile that is rewritten before each lookup.
  private func rotated() -> RememberedCredentials {
    let looks = Mutex(0)
    return RememberedCredentials(clock: StoppedClock()) { () async throws(UploadError) in
      let number = looks.withLock { looks in
        looks += 1; return looks
      }
      return S3Credentials(keyID: "K", secret: Secret("s"), token: Secret("token-\(number)"))
    }
  }

  /// Amazon with "token-1" expired: a reply without a body carries nothing but status 400.
  private func ended(naming region: String?) -> ScriptedTransport {
    FakeS3 { sent in
      guard sent.call.credentials.contains(where: { $0.value.revealed == "token-1" }) else { return nil }
      guard sent.call.method == .head || sent.call.endsAtHead else {
        return FakeS3.error(400, "ExpiredToken")
      }
      var fields = HTTPFields()
      fields[.bucketRegion] = region
      return FakeS3.empty(400, fields: fields)
    }.transport()
  }

  @Test(
    "an expired token is looked up again even where HEAD gets no error code", arguments: [nil, "us-east-1"],
    [true, false])
  func expiredAtHead(_ region: String?, _ isAmazon: Bool) async throws {
    let key = try #require(ObjectKey("a.mp4"))
    let source = TestSource(size: 11 << 20).upload
    let amazons = try S3Store(bucket: "bucket", prefix: "a/b", usesPaths: true)
    let transport = ended(naming: region)
    let store = try uploader(transport, store: isAmazon ? amazons : nil, credentials: rotated())
    // `find` sends HEAD first.
    _ = try await store.upload(source, to: key) { _ in }
    #expect(try await store.readBack(key) == source.digest)
    let refused = transport.calls.filter { sent in
      sent.call.credentials.contains { $0.value.revealed == "token-1" }
    }
    #expect(refused.map(\.call.method) == [.head])
  }

  @Test(
    "if no other token can be found, the message says that it may have expired; without a token it does not",
    arguments: [true, false])
  func expiredForGood(_ hasToken: Bool) async throws {
    let key = try #require(ObjectKey("a.mp4"))
    let keys = FixedCredentials(
      S3Credentials(keyID: "K", secret: Secret("s"), token: hasToken ? Secret("token-1") : nil))
    for region in [nil, "us-east-1"] as [String?] {
      var fields = HTTPFields()
      fields[.bucketRegion] = region
      let reply = FakeS3.empty(400, fields: fields)
      let transport = ScriptedTransport { _ in reply }
      let error = await #expect(throws: UploadError.self) {
        _ = try await uploader(transport, credentials: keys).find(key)
      }
      let message = error?.message ?? ""
      #expect(message.contains("session token") == hasToken, "\(message)")
      let isElsewhere = message.contains("redirects elsewhere")
      if hasToken { #expect(error?.code == .rejected && !isElsewhere, "\(message)") }
    }
  }

  @Test("a refusal names the key that was refused, even if there are no credentials any more")
  func refusedKey() async throws {
    let looks = Mutex(0)
    let source = RememberedCredentials(clock: StoppedClock()) { () async throws(UploadError) in
      let number = looks.withLock { looks in
        looks += 1; return looks
      }
      if number > 1 { throw UploadError(.unavailable, "no credentials") }
      return S3Credentials(keyID: "K1", secret: Secret("s"))
    }
    let fake = FakeS3 { _ in
      // Simulates an ExpiredToken for another request.
      await source.forget()
      return FakeS3.error(403, "AccessDenied")
    }
    let error = await #expect(throws: UploadError.self) {
      _ = try await uploader(fake.transport(), credentials: source).find(
        try #require(ObjectKey("a.mp4")))
    }
    #expect(error?.code == .denied)
    #expect(error?.message.contains("the access key K1 may not") == true, "\(error?.message ?? "")")
    #expect(looks.withLock { $0 } == 1)
  }

  @Test("credentials that will expire soon are looked up again")
  func renewal() async throws {
    let looks = Mutex(0)
    let source = RememberedCredentials(clock: StoppedClock()) { () async throws(UploadError) in
      let number = looks.withLock { looks in
        looks += 1; return looks
      }
      let left = number == 1 ? 299.0 : 3600
      return S3Credentials(
        keyID: "K", secret: Secret("s"), token: nil, expires: StoppedClock().now().addingTimeInterval(left))
    }
    for _ in 0..<3 { _ = try await source.credentials() }
    #expect(looks.withLock { $0 } == 2)
  }

  @Test(
    "an endpoint that answers 200 without a listing is not a bucket",
    arguments: ["", "<html><title>Please log in</title></html>", "<!DOCTYPE html><p>Console", "{}"])
  func prepareElsewhere(_ body: String) async throws {
    let fake = FakeS3 { _ in FakeS3.xml(body) }
    let error = await #expect(throws: UploadError.self) { try await uploader(fake.transport()).prepare() }
    #expect(error?.code == .storeUnusable)
    #expect(error?.message.contains("did not list its objects: check its address") == true)
  }

  @Test func aListThatIsCompressedUnaskedIsToldAsThat() async throws {
    let fake = FakeS3 { _ in
      HTTPReply(status: .ok, fields: [.contentEncoding: "gzip"], body: [0x1F, 0x8B, 8, 0])
    }
    let error = await #expect(throws: UploadError.self) { try await uploader(fake.transport()).prepare() }
    #expect(error?.message.contains("its answer is compressed") == true, "\(error?.message ?? "")")
  }

  @Test("a store that can't be listed can't be used")
  func prepareDenied() async throws {
    let fake = FakeS3 { _ in FakeS3.error(403, "AccessDenied") }
    let error = await #expect(throws: UploadError.self) { try await uploader(fake.transport()).prepare() }
    #expect(error?.code == .storeUnusable)
    #expect(error?.message.contains("s3:ListBucket") == true)
  }
}

/// Formats dates for HTTP.
enum HTTPDateText {
  static func text(_ date: Date) -> String {
    var calendar = Calendar(identifier: .gregorian)
    calendar.timeZone = .gmt
    let parts = calendar.dateComponents([.year, .month, .day, .hour, .minute, .second, .weekday], from: date)
    let days = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]
    let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
    func two(_ number: Int?) -> String { (number ?? 0) < 10 ? "0\(number ?? 0)" : "\(number ?? 0)" }
    return
      "\(days[(parts.weekday ?? 1) - 1]), \(two(parts.day)) \(months[(parts.month ?? 1) - 1]) \(parts.year ?? 0) "
      + "\(two(parts.hour)):\(two(parts.minute)):\(two(parts.second)) GMT"
  }
}

/// A barrier for a fixed number of tasks.
private actor Meeting {
  private var missing: Int
  private var waiting: [CheckedContinuation<Void, Never>] = []

  init(of count: Int) { missing = count }

  func arrive() async {
    missing -= 1
    if missing > 0 { return await withCheckedContinuation { waiting.append($0) } }
    for one in waiting { one.resume() }
    waiting = []
  }
}
