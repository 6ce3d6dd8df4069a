import HTTPTypes
import ReelCore
import ReelHTTPFakes
import ReelStorage
import ReelTestSupport
import Synchronization
import Testing

@testable import ReelRemoteStorage

/// Objects read in place, whose bytes may be anything.
@Suite(.shortTime) struct S3SourceTests {
  /// Credentials that count how often they are dropped.
  private final class Keys: CredentialSource {
    private let count = Mutex(0)
    var forgotten: Int { count.withLock { $0 } }
    func credentials() async throws(UploadError) -> S3Credentials { SignatureV4Tests.s3Key }
    func forget() async { count.withLock { $0 += 1 } }
  }

  private static func error(_ code: String) -> [UInt8] {
    Array(
      """
      <?xml version="1.0"?><Error><Code>\(code)</Code><Message>m</Message><Region>evil-region-1</Region></Error>
      """.utf8)
  }

  @Test(
    "an object that looks like an error of the store is still an object, whatever the status of the range's reply",
    arguments: [200, 206], [false, true])
  func errorsAsBytes(_ status: Int, _ tellsRange: Bool) async throws {
    for code in [
      "PermanentRedirect", "AuthorizationHeaderMalformed", "IllegalLocationConstraintException",
      "ExpiredToken",
      "TokenRefreshRequired", "RequestTimeTooSkewed", "AccessDenied", "NoSuchKey", "SlowDown",
    ] {
      if status == 206, !tellsRange { continue }
      let bytes = Self.error(code)
      let transport = ScriptedTransport { _ in
        var fields: HTTPFields = [.eTag: "\"e\"", .date: "Sun, 06 Nov 1994 08:49:37 GMT"]
        if tellsRange { fields[.contentRange] = "bytes 0-\(bytes.count - 1)/\(bytes.count)" }
        return HTTPReply(status: .init(code: status), fields: fields, body: bytes)
      }
      let keys = Keys()
      let source = S3Source(
        try #require(FakeS3.store), name: "clip.mp4", transport: transport, credentials: keys,
        clock: StoppedClock())
      let head = try await source.head(for: .probing)
      #expect(head == bytes, "\(code)")
      // It took one request, and the credentials were kept.
      #expect(transport.calls.count == 1 && keys.forgotten == 0)
      // Asked for one byte, the store sends more, which is a separate failure.
      _ = try? await source.head(for: .copying)
      for sent in transport.calls {
        let signature = sent.call.credentials.first { $0.name == .authorization }?.value.revealed ?? ""
        #expect(signature.contains("/us-east-1/s3/") && !signature.contains("evil"), "\(code)")
      }
    }
  }

  /// AWS, "Signature Version 4 for API requests": Host, Content-Type and every `x-amz-…` field. Google's and
  /// Cloudflare's front ends rewrite Accept-Encoding; nginx's caches remove ranges and conditions from a GET.
  @Test("headers that may change on the way are not signed, and mandatory ones are")
  func signed() async throws {
    let bytes = TestSource(size: 300).bytes
    let transport = FakeS3 { sent in
      guard sent.call.fields[.range] != nil else { return nil }
      return HTTPReply(
        status: .partialContent, fields: [.eTag: "\"e\"", .contentRange: "bytes 0-299/300"], body: bytes)
    }.transport()
    let keys = FixedCredentials(
      S3Credentials(keyID: "K", secret: Secret("s"), token: Secret("t")))
    let store = try #require(FakeS3.store)
    let source = S3Source(
      store, name: "clip.mp4", transport: transport, credentials: keys, clock: StoppedClock())
    _ = try await source.head(for: .probing)
    for size in [9, 11 << 20] {
      _ = try await uploader(transport, credentials: keys).upload(
        TestSource(size: size).upload, to: try #require(ObjectKey("\(size).mp4"))
      ) { _ in }
    }
    try await S3Files(store, transport: transport, credentials: keys, clock: StoppedClock()).put(
      [1], as: S3Files.File(name: "x.json", contentType: "application/json", cacheControl: "no-cache"))
    for sent in transport.calls {
      let text = sent.call.credentials.first { $0.name == .authorization }?.value.revealed ?? ""
      let list = text.split(separator: "SignedHeaders=").last?.prefix { $0 != "," } ?? ""
      let signed = Set(list.split(separator: ";").map(String.init))
      let fields = try sent.call.fieldsOnWire().map(\.name.canonicalName).filter { $0 != "authorization" }
      let demanded = Set(fields.filter { $0.hasPrefix("x-amz-") || $0 == "content-type" } + ["host"])
      #expect(signed.isSuperset(of: demanded), "\(list)")
      #expect(signed.subtracting(demanded).isSubset(of: ["if-none-match", "content-md5"]), "\(list)")
      #expect(signed.contains("if-none-match") == fields.contains("if-none-match"))
    }
    #expect(try transport.calls.allSatisfy { try $0.call.fieldsOnWire()[.acceptEncoding] == "identity" })
    #expect(transport.calls.contains { $0.call.fields[.ifNoneMatch] != nil })
  }

  @Test("bytes read back of an object are never taken for an error of the store, either")
  func readBack() async throws {
    let bytes = Self.error("ExpiredToken")
    let transport = ScriptedTransport { _ in
      HTTPReply(status: .ok, fields: [.eTag: "\"e\""], body: bytes)
    }
    let keys = Keys()
    let client = S3Client(
      try #require(FakeS3.store), transport: transport, credentials: keys, clock: StoppedClock())
    let digest = try await client.readBack(try #require(ObjectKey("a.mp4")), size: Int64(bytes.count))
    #expect(digest != nil && keys.forgotten == 0 && transport.calls.count == 1)
  }

  @Test("an error body counts with status 200 only where errors may come late, and always with a refusal")
  func lateErrors() {
    let reply = HTTPReply(status: .ok, body: Self.error("InternalError"))
    #expect(S3Failure(reply, to: .lateWord)?.code == "InternalError")
    #expect(S3Failure(reply, to: .word) == nil && S3Failure(reply, to: .object) == nil)
    let refusal = HTTPReply(status: .forbidden, body: Self.error("AccessDenied"))
    for answer in [S3Request.Answer.word, .lateWord, .object] {
      #expect(S3Failure(refusal, to: answer)?.code == "AccessDenied")
    }
  }

  // MARK: Tags

  /// The forms of a tag in a listing and in a reply.
  static let tags = [
    ("\"abc\"", "\"abc\""), ("abc", "abc"), ("abc", "\"abc\""), ("\"abc\"", "abc"),
    ("W/\"abc\"", "W/\"abc\""),
    ("W/\"abc\"", "\"abc\""), ("\"abc\"", "W/\"abc\""), ("", "\"abc\""), ("\"abc\"", nil), ("", nil),
  ]

  /// A bucket with one object, whose store compares a condition with its own tag, character by character.
  /// - Parameter later: the tag in every listing but the first.
  private func bucket(
    _ listed: String, _ told: String?, _ bytes: [UInt8], knowsConditions: Bool = true, later: String? = nil
  ) -> ScriptedTransport {
    let lists = Mutex(0)
    return ScriptedTransport { sent in
      guard sent.call.fields[.range] != nil else {
        let isFirst = lists.withLock { count in
          count += 1
          return count == 1
        }
        let listed = isFirst ? listed : later ?? listed
        return FakeS3.xml(
          "<ListBucketResult><Contents><Key>a/b/clip.mp4</Key><Size>\(bytes.count)</Size><ETag>\(xmlEscaped(listed))</ETag>"
            + "</Contents></ListBucketResult>")
      }
      if let condition = sent.call.fields[.ifMatch] {
        if !knowsConditions { return FakeS3.error(501, "NotImplemented") }
        if let told, condition != told { return FakeS3.empty(412) }
      }
      var fields: HTTPFields = [.contentRange: "bytes 0-\(bytes.count - 1)/\(bytes.count)"]
      fields[.eTag] = told
      return HTTPReply(status: .partialContent, fields: fields, body: bytes)
    }
  }

  private func head(_ transport: ScriptedTransport) async throws -> [UInt8] {
    let source = S3Source(
      try #require(FakeS3.store), name: "a/b/", transport: transport, credentials: Keys(),
      clock: StoppedClock(),
      policy: RetryPolicy(attempts: 1))
    return try await threads.run { () throws -> [UInt8] in
      let page = try source.page(after: nil, cancellation: CancellationFlag())
      return try source.open(page.files.first, for: .probing, cancellation: CancellationFlag()).handle.head(
        1000)
    }
  }

  @Test("a listed object is read, however its tag is written", arguments: 0..<10, [true, false])
  func tags(_ number: Int, _ knowsConditions: Bool) async throws {
    let (listed, told) = Self.tags[number]
    let bytes = TestSource(size: 300).bytes
    let transport = bucket(listed, told, bytes, knowsConditions: knowsConditions)
    #expect(try await head(transport) == bytes)
    if listed == told, knowsConditions { #expect(transport.calls.count <= (listed == "abc" ? 3 : 2)) }
  }

  @Test(
    "an object that has changed is reported as changed, however its tags are written",
    arguments: ["\"new\"", "new", "W/\"new\""])
  func otherTags(_ told: String) async throws {
    for listed in ["\"old\"", "old", "W/\"old\""] {
      let transport = bucket(listed, told, TestSource(size: 300).bytes, later: told)
      let error = await #expect(throws: SourceError.self) { _ = try await head(transport) }
      #expect(error?.code == .sourceChanged, "\(listed)")
    }
  }

  /// OpenStack Swift, for a segmented object.
  @Test(
    "an object whose tag always differs in the listing is the same object and stays so",
    arguments: [true, false])
  func tagsOfTheirOwn(_ knowsConditions: Bool) async throws {
    let bytes = TestSource(size: 300).bytes
    let transport = bucket("\"list\"", "\"reply\"", bytes, knowsConditions: knowsConditions)
    #expect(try await head(transport) == bytes)
    let source = S3Source(
      try #require(FakeS3.store), name: "a/b/", transport: transport, credentials: Keys(),
      clock: StoppedClock(), policy: RetryPolicy(attempts: 1))
    let pieces = try await threads.run { () throws -> [UInt8] in
      let listed = try #require(try source.page(after: nil, cancellation: CancellationFlag()).files.first)
      let file = try source.open(listed, for: .copying, cancellation: CancellationFlag())
      #expect(file.identity == listed.identity)
      let origin = (file.handle as? any RemoteHandle)?.origin
      #expect(origin?.tag == "\"reply\"")
      return try file.handle.head(1000)
    }
    #expect(pieces == bytes)
  }

  /// SeaweedFS 3.97 does not accept its own tag (#7274).
  @Test(
    "a store that does not recognize its own tag is read while the tag stays the same",
    arguments: [(false, 4), (true, 3)])
  func refusedTags(_ changes: Bool, _ requests: Int) async throws {
    let bytes = TestSource(size: 3 << 20).bytes
    let transport = ScriptedTransport { sent in
      if sent.call.fields[.ifMatch] != nil { return FakeS3.empty(412) }
      let range = (sent.call.fields[.range] ?? "").dropFirst("bytes=".count).split(separator: "-").compactMap
      {
        Int($0)
      }
      let (first, last) = (range.first ?? 0, min(range.last ?? 0, bytes.count - 1))
      return HTTPReply(
        status: .partialContent,
        fields: [
          .contentRange: "bytes \(first)-\(last)/\(bytes.count)",
          .eTag: changes && first > 0 ? "\"new\"" : "\"e\"",
        ], body: Array(bytes[first...last]))
    }
    let source = S3Source(
      try #require(FakeS3.store), name: "clip.mp4", transport: transport, credentials: Keys(),
      clock: StoppedClock(), policy: RetryPolicy(attempts: 1))
    let read = await threads.run { () -> [UInt8]? in
      guard let file = try? source.open(nil, for: .probing, cancellation: CancellationFlag()) else {
        return nil
      }
      var found: [UInt8] = []
      for offset in [1 << 20, 2 << 20 + 1 << 19] {
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 64, alignment: 8)
        defer { buffer.deallocate() }
        guard let count = try? file.handle.read(into: buffer, at: Int64(offset)) else { return nil }
        found += buffer.prefix(count)
      }
      return found
    }
    #expect(
      read
        == (changes
          ? nil : Array(bytes[1 << 20..<1 << 20 + 64] + bytes[2 << 20 + 1 << 19..<2 << 20 + 1 << 19 + 64])))
    #expect(transport.calls.count == requests, "\(transport.calls.count)")
  }

  @Test(
    "a small object is read where a range beyond its end is refused or echoed as requested",
    arguments: [true, false])
  func behindTheEnd(_ isRefused: Bool) async throws {
    let bytes = TestSource(size: 300).bytes
    let transport = ScriptedTransport { sent in
      let isShort = sent.call.fields[.range] == "bytes=0-299"
      if isRefused, !isShort {
        return HTTPReply(
          status: .rangeNotSatisfiable, fields: [.contentRange: "bytes */300"],
          body: Array("<Error><Code>InvalidRange</Code></Error>".utf8))
      }
      let range = (sent.call.fields[.range] ?? "").dropFirst("bytes=".count)
      return HTTPReply(
        status: .partialContent, fields: [.contentRange: "bytes \(range)/300", .eTag: "\"e\""], body: bytes)
    }
    let source = S3Source(
      try #require(FakeS3.store), name: "clip.mp4", transport: transport, credentials: Keys(),
      clock: StoppedClock())
    #expect(try await source.head(for: .probing) == bytes)
  }

  @Test("a store that claims a shorter object with each request is not asked again and again")
  func shorterAndShorter() async throws {
    let transport = ScriptedTransport { sent in
      let last = (sent.call.fields[.range] ?? "").split(separator: "-").last.flatMap { Int($0) } ?? 0
      return HTTPReply(status: .rangeNotSatisfiable, fields: [.contentRange: "bytes */\(last)"])
    }
    let source = S3Source(
      try #require(FakeS3.store), name: "clip.mp4", transport: transport, credentials: Keys(),
      clock: StoppedClock())
    await #expect(throws: SourceError.self) { _ = try await source.head(for: .probing) }
    #expect(transport.calls.count == 2, "\(transport.calls.count)")
  }

  @Test("an object whose store must not be read from has the error of that, and is not asked for again")
  func notPermitted() async throws {
    let refusal = SourceError(.outsideRoot, "not from there")
    let transport = ScriptedTransport { _ throws(HTTPFailure) in throw .source(UploadError.refusing(refusal))
    }
    let source = S3Source(
      try #require(FakeS3.store), name: "clip.mp4", transport: transport, credentials: Keys(),
      clock: StoppedClock())
    await #expect(throws: refusal) { _ = try await source.head(for: .copying) }
    #expect(transport.calls.count == 1)
  }

  @Test("a store that serves a large object only as a whole is reported as such")
  func noRanges() async throws {
    let bytes = TestSource(size: 2 << 20).bytes
    let transport = ScriptedTransport { _ in HTTPReply(status: .ok, fields: [.eTag: "\"e\""], body: bytes) }
    let source = S3Source(
      try #require(FakeS3.store), name: "clip.mp4", transport: transport, credentials: Keys(),
      clock: StoppedClock())
    let error = await #expect(throws: SourceError.self) { _ = try await source.head(for: .probing) }
    #expect(error?.message.contains("only as a whole, not by range") == true, "\(error?.message ?? "")")
    #expect(transport.calls.count == 1)
  }

  @Test(
    "a proxy's 404 does not make an existing object missing", arguments: ["404 page not found\n", ""])
  func proxysMissing(_ words: String) async throws {
    let transport = FakeS3 { sent in
      sent.call.fields[.range] != nil ? HTTPReply(status: .notFound, body: Array(words.utf8)) : nil
    }.transport()
    _ = try await uploader(transport).upload(
      TestSource(size: 300).upload, to: try #require(ObjectKey("clip.mp4"))
    ) { _ in }
    for (name, code) in [("clip.mp4", SourceError.Code.unreadable), ("other.mp4", .notFound)] {
      let source = S3Source(
        try #require(FakeS3.store), name: name, transport: transport, credentials: Keys(),
        clock: StoppedClock(),
        policy: RetryPolicy(attempts: 1))
      let error = await #expect(throws: SourceError.self) { _ = try await source.head(for: .probing) }
      #expect(error?.code == code, "\(error?.message ?? "")")
    }
  }

  @Test("a length that a store claims buys it no time and ends no process", arguments: Extremes.texts)
  func claims(_ text: String) async throws {
    let limit = Duration.seconds(600)
    func check(_ transport: ScriptedTransport) {
      for sent in transport.calls {
        #expect(
          HTTPTimeouts().limit(for: sent.call, at: nil, received: 0) <= limit, "\(sent.call.method) \(text)")
      }
    }
    let transport = ScriptedTransport { sent in
      var fields: HTTPFields = [.eTag: "\"e\"", .contentLength: text, .lastModified: text]
      if sent.call.fields[.range] != nil { fields[.contentRange] = "bytes 0-0/\(text)" }
      return HTTPReply(
        status: .init(code: sent.call.fields[.range] == nil ? 200 : 206), fields: fields, body: [1])
    }
    let store = try #require(FakeS3.store)
    let source = S3Source(
      store, name: "clip.mp4", transport: transport, credentials: Keys(), clock: StoppedClock(),
      policy: RetryPolicy(attempts: 1))
    for use in [RemoteUse.probing, .copying, .finding] {
      await source.readEverywhere(for: use)
    }
    let uploader = try uploader(transport)
    let key = try #require(ObjectKey("a.mp4"))
    if let found = try? await uploader.find(key) { #expect(found.size >= 0) }
    _ = try? await uploader.readBack(key)
    check(transport)
  }

  @Test("no listing of parts or objects traps")
  func lists() async throws {
    let source = TestSource(size: 5 << 20 + 1).upload
    for text in Extremes.texts {
      let text = xmlEscaped(text)
      let fake = FakeS3 { sent in
        guard sent.call.method == .get else { return nil }
        let target = sent.call.target
        if target.contains("uploads=") {
          let name = "a/b/abc.mp4"
          return HTTPReply(
            status: .ok,
            body: Array(
              "<ListMultipartUploadsResult><Upload><Key>\(name)</Key><UploadId>1</UploadId></Upload></ListMultipartUploadsResult>"
                .utf8))
        }
        guard target.contains("uploadId") else { return nil }
        let part = "<Part><PartNumber>\(text)</PartNumber><Size>\(text)</Size><ETag>e</ETag></Part>"
        return HTTPReply(status: .ok, body: Array("<ListPartsResult>\(part)\(part)</ListPartsResult>".utf8))
      }
      _ = try? await uploader(fake.transport()).upload(
        source, to: try #require(ObjectKey("abc.mp4"))
      ) { _ in }
    }
  }
}

/// A queue for sources, which block their threads; tests have few others.
private let threads = BlockingQueue(label: "s3-source-tests", width: 4)

extension S3Source {
  /// The first bytes of the object.
  func head(for use: RemoteUse) async throws -> [UInt8] {
    try await threads.run { () throws -> [UInt8] in
      try open(nil, for: use, cancellation: CancellationFlag()).handle.head(1000)
    }
  }

  /// Reads at every offset that could be a corner case.
  func readEverywhere(for use: RemoteUse) async {
    await threads.run {
      let file = try? open(nil, for: use, cancellation: CancellationFlag())
      let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 64, alignment: 8)
      defer { buffer.deallocate() }
      for offset in Extremes.integers { _ = try? file?.handle.read(into: buffer, at: offset) }
    }
  }
}
