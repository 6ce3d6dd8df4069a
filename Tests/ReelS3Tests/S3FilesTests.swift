import Foundation
import HTTPTypes
import ReelCore
import ReelCrypto
import ReelHTTPFakes
import ReelStorage
import ReelTestSupport
import Synchronization
import Testing

@testable import ReelRemoteStorage

@Suite("files of fixed names in a bucket", .shortTime)
struct S3FilesTests {
  private func files(
    _ transport: any HTTPTransport, store: S3Store? = nil, attempts: Int = 5
  ) throws -> S3Files {
    S3Files(
      try store ?? #require(FakeS3.store), transport: transport,
      credentials: FixedCredentials(SignatureV4Tests.s3Key), clock: StoppedClock(),
      policy: RetryPolicy(attempts: attempts, firstDelay: .zero, longestDelay: .zero))
  }

  private func file(_ name: String) -> S3Files.File {
    S3Files.File(name: name, contentType: "application/json", cacheControl: "no-cache")
  }

  /// The names of the objects that were put, in order.
  private func put(_ transport: ScriptedTransport) -> [String] {
    transport.calls.filter { $0.call.method == .put }.map {
      String($0.call.target.dropFirst("/bucket/a/b/".count))
    }
  }

  /// Puts a site with the text `text(name)` in each file; returns the counts.
  private func update(
    _ files: S3Files, _ names: [String], width: Int = 4, _ text: @escaping @Sendable (String) -> String
  ) async throws -> (put: Int, bytes: Int64, same: Int) {
    let counts = Mutex((put: 0, bytes: Int64(0), same: 0))
    let stored = try await files.list("")
    try await files.update(names.map { file($0) }, stored: stored, width: width) { file in
      Array(text(file.name).utf8)
    } reporting: { change in
      counts.withLock { counts in
        switch change {
        case .none: counts.same += 1
        case .put(let bytes): counts = (counts.put + 1, counts.bytes + bytes, counts.same)
        }
      }
    }
    return counts.withLock { $0 }
  }

  @Test("files are put with their types, replace earlier ones, and are signed as encoded")
  func put() async throws {
    let fake = FakeS3()
    let transport = fake.transport()
    let store = try S3Store(
      bucket: "bucket", prefix: "a b/ü", endpoint: HTTPAddress(parsing: "https://s3.test"))
    let files = try files(transport, store: store)
    try await files.put([1], as: file("feed/1.json"))
    try await files.put([2], as: file("feed/1.json"))
    let object = fake.bucket.withLock { $0.objects["a%20b/%C3%BC/feed/1.json"] }
    #expect(object?.bytes == [2])
    #expect(object?.type == "application/json" && object?.caching == "no-cache")
    #expect(files.url(of: "feed/1.json") == "https://s3.test/bucket/a%20b/%C3%BC/feed/1.json")

    let call = try #require(transport.calls.last?.call)
    #expect(call.fields[.ifNoneMatch] == nil)
    var fields = ["host": "s3.test"]
    for field in call.fields where field.name != .cacheControl {
      fields[field.name.canonicalName] = field.value
    }
    let signature = SignatureV4(region: "us-east-1").authorization(
      SignatureV4.Request(
        method: "PUT", path: "/bucket/a%20b/%C3%BC/feed/1.json", fields: fields,
        payload: Hexadecimal.text(SHA256.hash(data: [2]))),
      SignatureV4Tests.s3Key, at: StoppedClock().time)
    #expect(call.credentials.last?.value.revealed == signature.revealed)
  }

  @Test("files go out once: the second time only changed ones are put")
  func again() async throws {
    let transport = FakeS3(pageSize: 7).transport()
    let files = try files(transport)
    let names = (0..<200).map { "feed/\($0).json" }
    let first = try await update(files, names) { $0 }
    #expect(
      first.put == 200 && first.same == 0 && first.bytes == names.reduce(0) { $0 + Int64($1.utf8.count) })
    let nothing = try await update(files, names) { $0 }
    #expect(nothing == (0, 0, 200))
    // One of the same length, one of another, an empty one, and a new one.
    let changed = ["feed/3.json": "feed/X.json", "feed/70.json": "longer than before", "feed/199.json": ""]
    let before = put(transport).count
    let third = try await update(files, names + ["feed/new.json"]) { changed[$0] ?? $0 }
    #expect(third == (4, 11 + 18 + 0 + 13, 197))
    #expect(Set(put(transport).dropFirst(before)) == Set(changed.keys).union(["feed/new.json"]))
    #expect(try await update(files, names + ["feed/new.json"]) { changed[$0] ?? $0 } == (0, 0, 201))
  }

  @Test("files are put again where the store's tags are no MD5, as with SSE-KMS", arguments: ["0", "f"])
  func otherTags(digit: String) async throws {
    let fake = FakeS3()
    let files = try files(fake.transport())
    _ = try await update(files, ["a", "b"]) { $0 }
    for tag in [String(repeating: digit, count: 32), "0123-2", ""] {
      fake.bucket.withLock { $0.objects["a/b/a"]?.tag = "\"\(tag)\"" }
      #expect(try await update(files, ["a", "b"]) { $0 } == (1, 1, 1), "\(tag)")
    }
  }

  @Test(
    "an interrupted upload is completed by the same command; the error names the file and the store")
  func broken() async throws {
    let puts = Mutex(0)
    let fake = FakeS3 { sent in
      guard sent.call.method == .put,
        puts.withLock({
          $0 += 1; return $0
        }) > 10
      else { return nil }
      return FakeS3.error(403, "AccessDenied")
    }
    let names = (0..<30).map { "feed/\($0).json" }
    let error = await #expect(throws: UploadError.self) {
      _ = try await update(try files(fake.transport()), names, width: 1) { $0 }
    }
    #expect(error?.code == .denied)
    let words =
      "may not store feed/10.json in s3+https://s3.test/bucket/a/b (403 AccessDenied): give it the permission "
    #expect(error?.message.contains(words + "s3:PutObject") == true, "\(error?.message ?? "")")
    puts.withLock { $0 = -100 }
    let rest = fake.transport()
    #expect(try await update(try files(rest), names) { $0 }.put == 20)
    #expect(Set(put(rest)) == Set(names.dropFirst(10)))
  }

  @Test("puts are retried after transient errors, and each error names the file")
  func retries() async throws {
    let failures = Mutex(0)
    let fake = FakeS3 { sent async throws(HTTPFailure) in
      switch failures.withLock({
        $0 += 1; return $0
      }) {
      case 1: return FakeS3.error(503, "SlowDown")
      case 2: throw .broken("a test")
      // A page from a proxy.
      case 3: return HTTPReply(status: .ok, body: Array("<html></html>".utf8))
      default: return nil
      }
    }
    try await files(fake.transport()).put([1], as: file("index.html"))
    // After such a page, the store is asked what it has.
    #expect(failures.withLock { $0 } == 5)
    #expect(fake.bucket.withLock { $0.objects["a/b/index.html"]?.bytes } == [1])
    for number in [0, 1, 2] {
      failures.withLock { $0 = number }
      let error = await #expect(throws: UploadError.self) {
        try await files(fake.transport(), attempts: 1).put([1], as: file("feed/7.js"))
      }
      #expect(error?.message.contains("feed/7.js") == true, "\(error?.message ?? "")")
      #expect(error?.message.contains("s3+https://s3.test/bucket/a/b") == true, "\(error?.message ?? "")")
    }
  }

  @Test(
    "files are listed over several pages, without those under other prefixes", arguments: [1, 2, 5, 1000])
  func list(pageSize: Int) async throws {
    let fake = FakeS3(pageSize: pageSize)
    let transport = fake.transport()
    let files = try files(transport)
    let names = ["feed/1.json", "feed/a&b<c>\"", "feed/ü", "feed/10.js", "other/1"]
    for name in names { try await files.put(Array(name.utf8), as: file(name)) }
    fake.bucket.withLock {
      $0.objects = $0.objects.reduce(into: [:]) { objects, object in
        // The fake keeps names as they arrived.
        objects[object.key.removingPercentEncoding ?? ""] = object.value
        objects["a/bc/feed/1.json"] = object.value
      }
    }
    let found = try await files.list("feed/")
    #expect(found.keys.sorted() == names.dropLast().sorted())
    for (name, stored) in found { #expect(stored.holds(Array(name.utf8)) && !stored.holds([1])) }
    #expect(transport.calls.filter { $0.call.method == .get }.count == (4 + pageSize - 1) / pageSize)
    #expect(try await files.list("feed/1", most: 1).keys.sorted() == ["feed/1.json"])
    #expect(transport.calls.last?.call.target.contains("max-keys=1") == true)
    #expect(try await files.list("none").isEmpty)
  }

  @Test(
    "a listing without tokens continues after the last name",
    arguments: [FakeS3.Listing.byName, .byMarker], [1, 2, 5])
  func listsWithoutTokens(_ listing: FakeS3.Listing, _ pageSize: Int) async throws {
    let fake = FakeS3(pageSize: pageSize, listing: listing)
    let names = (1...5).map { "feed/\($0)" }
    fake.bucket.withLock { bucket in
      for name in names { bucket.objects["a/b/" + name] = .init(bytes: [1], type: "", tag: "\"e\"") }
    }
    #expect(try await files(fake.transport()).list("feed/").keys.sorted() == names)
    let uploader = try uploader(fake.transport())
    #expect(try await uploader.names().sorted() == names)
  }

  @Test("a store whose listing never advances is abandoned and reported")
  func stuckList() async throws {
    let fake = FakeS3(pageSize: 2, listing: .notAtAll)
    fake.bucket.withLock { bucket in
      for number in 1...5 { bucket.objects["a/b/\(number)"] = .init(bytes: [1], type: "", tag: "\"e\"") }
    }
    let transport = fake.transport()
    for list in [
      { _ = try await files(transport).list("") }, { _ = try await uploader(transport).names() },
    ] as [@Sendable () async throws -> Void] {
      let error = await #expect(throws: UploadError.self) { try await list() }
      #expect(error?.code == .rejected && error?.message.contains("start-after") == true)
    }
    #expect(transport.calls.count == 4)
  }

  @Test(
    "files do not count as gone when the answer is not a complete listing",
    arguments: [
      "", "<html></html>", "<Other/>", "<ListBucketResult><IsTruncated>true</IsTruncated></ListBucketResult>",
      "<ListBucketResult><IsTruncated>true</IsTruncated><NextContinuationToken>x</NextContinuationToken></ListBucketResult>",
    ])
  func noList(body: String) async throws {
    let transport = ScriptedTransport { _ in HTTPReply(status: .ok, body: Array(body.utf8)) }
    let error = await #expect(throws: UploadError.self) { _ = try await files(transport).list("feed/") }
    #expect(error?.message.contains("s3+https://s3.test/bucket/a/b") == true)
    #expect(transport.calls.count <= 5)
  }

  @Test("files are removed; one that is already gone counts as removed")
  func remove() async throws {
    let fake = FakeS3 { sent in
      sent.call.method == .delete && sent.call.target.hasSuffix("gone") ? FakeS3.error(404, "NoSuchKey") : nil
    }
    let files = try files(fake.transport())
    try await files.put([1], as: file("feed/9.js"))
    try await files.remove("feed/9.js")
    try await files.remove("feed/gone")
    #expect(fake.bucket.withLock { $0.objects.isEmpty })
  }

  @Test("files do not count as removed when a proxy's page answers for the store")
  func removedElsewhere() async throws {
    let fake = FakeS3 { sent in sent.call.method == .delete ? FakeS3.xml("<html></html>") : nil }
    let error = try await #require(throws: UploadError.self) {
      try await files(fake.transport()).remove("feed/9.js")
    }
    #expect(error.code == .interrupted && error.message.contains("remove feed/9.js"), "\(error.message)")
  }
}
