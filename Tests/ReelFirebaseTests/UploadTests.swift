import Foundation
import HTTPTypes
import ReelCore
import ReelFakeGoogle
import ReelHTTPFakes
import ReelStorage
import ReelTestSupport
import Synchronization
import Testing

@testable import ReelRemoteStorage

/// Uploads to Cloud Storage: requests, failures, and how they resume.
@Suite(.shortTime) struct FirebaseUploadTests {
  private let key: ObjectKey
  private static let large = TestContent(5 << 18 + 17)
  private var content: TestContent { Self.large }

  init() throws { key = try #require(ObjectKey("k.mp4")) }

  private func retrying(_ base: any Uploader, attempts: Int = 4) -> any Uploader {
    RetryingUploader(
      base: base, policy: RetryPolicy(attempts: attempts, firstDelay: .zero, longestDelay: .zero))
  }

  @Test("an object has its type, its digest and a token for viewers, and is found with them")
  func object() async throws {
    let fake = try await FakeGoogle.start()
    let uploader = try await fake.uploader()
    let stored = try await uploader.upload(content.source, to: key) { _ in }
    let object = try #require(fake.object(key))
    #expect(object.bytes == content.bytes && object.contentType == "video/mp4")
    #expect(object.metadata["sha256"] == content.digest.hex)
    #expect(object.metadata["firebaseStorageDownloadTokens"]?.isEmpty == false)
    #expect(stored.digest == content.digest && stored.size == Int64(content.bytes.count))
    #expect(try await uploader.find(key) == stored)
    #expect(try await uploader.readBack(key) == content.digest)
    #expect(stored.url == "\(fake.origin)/storage/v1/b/\(FakeGoogle.bucket)/o/videos%2Fk.mp4?alt=media")
  }

  @Test(
    "a rate applies to what is sent: bytes that are read twice, for hashing and for sending, count once",
    arguments: [1 << 18, 1 << 22])
  func rate(_ partSize: Int) async throws {
    let fake = try await FakeGoogle.start()
    let time = PassingTime()
    let uploader = try await fake.uploader(partSize: partSize, limiter: time.limiter(1 << 18))
    _ = try await uploader.upload(content.source, to: key) { _ in }
    // The requests for the token and for the new upload are added; a burst of 50 ms may be sent at once.
    #expect(time.seconds > 4.9 && time.seconds < 5.1, "\(time.seconds) s")
    #expect(fake.object(key)?.bytes == content.bytes)
  }

  @Test("an object that another program stored, or that was damaged, has no digest until it is read")
  func unprovenDigest() async throws {
    let fake = try await FakeGoogle.start()
    let uploader = try await fake.uploader()
    _ = try await uploader.upload(content.source, to: key) { _ in }
    fake.state.withLock { $0.objects["videos/k.mp4"]?.bytes[9] ^= 1 }
    #expect(try await uploader.find(key)?.digest == nil)
    #expect(try await uploader.readBack(key) != content.digest)
    fake.state.withLock { $0.objects["videos/k.mp4"]?.metadata = [:] }
    #expect(try await uploader.find(key)?.digest == nil)
  }

  @Test("a truncated read-back is not taken for a damaged object")
  func partOfAnObject() async throws {
    let fake = try await FakeGoogle.start()
    let uploader = try await fake.uploader()
    _ = try await uploader.upload(content.source, to: key) { _ in }
    fake.state.withLock { state in
      state.objects["videos/k.mp4"]?.told = (length: content.bytes.count, crc32c: nil)
      state.objects["videos/k.mp4"]?.bytes.removeLast()
    }
    let error = await #expect(throws: UploadError.self) { try await uploader.readBack(key) }
    #expect(error?.code == .interrupted)
  }

  @Test("viewers get the right addresses")
  func addresses() throws {
    let bucket = try StorageBucket("my-app.appspot.com", prefix: "/a b/é//")
    #expect(bucket.destination.name == "firebase://my-app.appspot.com/a b/é")
    let encoded = "a%20b%2F%C3%A9%2Fk.mp4"
    let own = FirebaseAddresses(bucket: bucket, publicBaseURL: nil)
    let base = "https://firebasestorage.googleapis.com/v0/b/my-app.appspot.com/o/\(encoded)?alt=media"
    #expect(own.url(of: key, token: nil) == base)
    #expect(own.url(of: key, token: "a-b") == base + "&token=a-b")
    let named = FirebaseAddresses(bucket: bucket, publicBaseURL: "https://cdn.example/v/")
    #expect(named.url(of: key, token: "a-b") == "https://cdn.example/v/k.mp4")
  }

  @Test(
    "invalid names of buckets and prefixes are rejected",
    arguments: ["", "ab", "My-App", "a/b", "a b", "a\u{7}bc", "é-app"])
  func noBucket(_ name: String) {
    #expect(throws: StorageBucketError.self) { try StorageBucket(name) }
    #expect(throws: StorageBucketError.self) { try StorageBucket("my-app", prefix: "a/../b") }
    #expect(throws: StorageBucketError.self) { try StorageBucket("my-app", prefix: "a\u{1}") }
  }

  @Test("an upload's address is accepted only at the store's own origin")
  func sessions() throws {
    let origin = HTTPOrigin(isSecure: true, host: "storage.googleapis.com")
    let good = [
      "https://storage.googleapis.com/upload?x=1", "https://STORAGE.googleapis.com:443/upload?x=1",
      "/upload?x=1",
    ]
    for location in good {
      let session = try #require(
        StorageSession(location: location, at: origin, crc32c: "4waSgw=="), "\(location)")
      #expect(session.target == "/upload?x=1")
      #expect(StorageSession(session.text) == session)
    }
    for location in [
      "http://storage.googleapis.com/upload", "https://evil.example/upload", "//evil.example/upload",
      "https://storage.googleapis.com:444/upload", "https://storage.googleapis.com@evil.example/upload",
      "https://storage.googleapis.com", "upload", "", "/a b", "/a#b", "ftp://storage.googleapis.com/x",
    ] {
      #expect(StorageSession(location: location, at: origin, crc32c: "4waSgw==") == nil, "\(location)")
    }
    for text in [
      "", "gcs1", "gcs1 4waSgw== upload", "gcs2 4waSgw== /upload", "gcs1 4waSgw== /a b",
      "gcs1 4waSgw== /\u{1}",
      "gcs1 /upload", "gcs1 4waS /upload",
    ] {
      #expect(StorageSession(text) == nil, "\(text)")
    }
  }

  // MARK: Failures

  /// Faults of a request, and whether a retry overcomes each.
  static let faults: [(FakeGoogle.Fault, Bool)] = {
    var all: [(FakeGoogle.Fault, Bool)] = []
    for nth in [1, 3, 6] {
      let effects: [FakeGoogle.Fault.Effect] = [.reset, .swallow, .cut(0), .cut(150_000), .corrupt]
      all += effects.map { (.init(words: "PUT", nth: nth, effect: $0), true) }
      all += [400, 404, 410, 429, 500, 502, 503, 504].map {
        (.init(words: "PUT", nth: nth, effect: .status($0, "")), true)
      }
      all += [403, 413, 507].map { (.init(words: "PUT", nth: nth, effect: .status($0, "{}")), false) }
    }
    for (words, permanent) in [
      ("POST /upload", [400, 403]), ("GET /storage", [400, 403]), ("POST /token", [400, 401]),
    ] {
      all += [.reset, .swallow].map { (.init(words: words, effect: $0), true) }
      all += [429, 500, 503].map { (.init(words: words, effect: .status($0, "no JSON")), true) }
      all += permanent.map {
        (.init(words: words, effect: .status($0, #"{"error":"invalid_grant"}"#)), false)
      }
    }
    return all
  }()

  @Test(
    "after every fault there is finally one complete object or a clear error", arguments: faults.indices)
  func fault(_ index: Int) async throws {
    let (fault, mends) = Self.faults[index]
    let fake = try await FakeGoogle.start()
    let checkpoints = MemoryCheckpoints()
    fake.break_(fault)
    do throws(UploadError) {
      let object = try await upload(fake, checkpoints)
      #expect(object.digest == content.digest, "\(fault)")
    } catch {
      #expect(!mends, "\(fault): \(error.message)")
      #expect(!error.message.contains("s3cret") && !error.message.contains("ya29"), "\(error.message)")
      #expect(fake.objectNames.isEmpty, "\(fault)")
      // The same command again.
      _ = try await upload(fake, checkpoints)
    }
    #expect(fake.state.withLock { $0.faults.isEmpty }, "\(fault) did not happen")
    #expect(fake.object(key)?.bytes == content.bytes, "\(fault)")
    #expect(fake.objectNames == ["videos/k.mp4"])
    let kept = fake.state.withLock { $0.bytesKept }
    let isBegunAnew = if case .corrupt = fault.effect { true } else { kept > content.bytes.count }
    #expect(kept <= content.bytes.count * (isBegunAnew ? 2 : 1), "\(fault): \(kept) bytes")
  }

  private func upload(
    _ fake: FakeGoogle, _ checkpoints: MemoryCheckpoints
  ) async throws(UploadError) -> StoredObject {
    let uploader: FirebaseUploader
    do { uploader = try await fake.uploader(checkpoints) } catch {
      throw UploadError(.rejected, "\(error)")
    }
    return try await retrying(uploader).upload(content.source, to: key) { _ in }
  }

  @Test("another process resumes where the last one died")
  func goesOn() async throws {
    let fake = try await FakeGoogle.start()
    let checkpoints = MemoryCheckpoints()
    fake.break_(.init(words: "PUT", nth: 4, effect: .cut(150_000)))
    let first = try await fake.uploader(checkpoints)
    await #expect(throws: UploadError.self) { try await first.upload(content.source, to: key) { _ in } }
    let kept = 3 << 18 + 2 * FakeGoogle.kept
    #expect(fake.state.withLock { $0.bytesKept } == kept && fake.objectNames.isEmpty)
    #expect(try await fake.uploader(checkpoints).find(key) == nil)

    let reported = Mutex<Int64?>(nil)
    let object = try await fake.uploader(checkpoints).upload(content.source, to: key) { progress in
      reported.withLock { $0 = $0 ?? progress.sent }
    }
    #expect(object.digest == content.digest && reported.withLock { $0 } == Int64(kept))
    #expect(fake.state.withLock { $0.bytesKept } == content.bytes.count)
    #expect(fake.state.withLock { $0.sessions.count } == 1)
    #expect(try await checkpoints.checkpoint(of: key, in: first.destination) == nil)
  }

  @Test("an upload that was started with other bytes is refused by the store and starts over")
  func otherBytes() async throws {
    let fake = try await FakeGoogle.start()
    let checkpoints = MemoryCheckpoints()
    var bytes = content.bytes
    bytes[7] ^= 0xFF
    fake.break_(.init(words: "PUT", nth: 3, effect: .reset))
    let uploader = try await fake.uploader(checkpoints)
    let changing = TestContent(bytes, claiming: content.digest)
    await #expect(throws: UploadError.self) { try await uploader.upload(changing.source, to: key) { _ in } }
    let object = try await retrying(uploader).upload(content.source, to: key) { _ in }
    #expect(object.digest == content.digest && fake.object(key)?.bytes == content.bytes)
  }

  @Test("an upload is not cancelled by a process with another file under the name")
  func anotherSize() async throws {
    let fake = try await FakeGoogle.start()
    let checkpoints = MemoryCheckpoints()
    let uploader = try await fake.uploader(checkpoints)
    fake.break_(.init(words: "PUT", nth: 2, effect: .reset))
    await #expect(throws: UploadError.self) { try await uploader.upload(content.source, to: key) { _ in } }
    let other = TestContent(1 << 18, seed: 9)
    await #expect(throws: UploadError.self) { try await uploader.upload(other.source, to: key) { _ in } }
    #expect(fake.objectNames.isEmpty && fake.openSessions == 1)
  }

  @Test("a source that changes leaves nothing, not even an open session")
  func changed() async throws {
    let fake = try await FakeGoogle.start()
    let checkpoints = MemoryCheckpoints()
    let uploader = try await fake.uploader(checkpoints)
    for content in [TestContent(content.bytes, claiming: TestContent(1).digest)] {
      let error = await #expect(throws: UploadError.self) {
        try await uploader.upload(content.source, to: key) { _ in }
      }
      #expect(error?.code == .sourceChanged)
      #expect(fake.openSessions == 0 && fake.objectNames.isEmpty)
      #expect(try await checkpoints.keys(in: uploader.destination, after: nil, limit: 9) == [])
    }
  }

  @Test("another video under the same name is turned away and cancels only its own upload")
  func rival() async throws {
    let fake = try await FakeGoogle.start()
    let checkpoints = MemoryCheckpoints()
    fake.break_(.init(words: "PUT", nth: 2, effect: .reset))
    let uploader = try await fake.uploader(checkpoints)
    await #expect(throws: UploadError.self) { try await uploader.upload(content.source, to: key) { _ in } }
    let error = await #expect(throws: UploadError.self) {
      try await uploader.upload(TestContent(10).source, to: key) { _ in }
    }
    #expect(error?.code == .alreadyExists)
    _ = try await uploader.upload(content.source, to: key) { _ in }
    #expect(fake.object(key)?.bytes == content.bytes && fake.state.withLock { $0.sessions.count } == 1)
  }

  @Test("the first of two racing uploads wins: its object stays, and no session is left open")
  func slower() async throws {
    let fake = try await FakeGoogle.start()
    let theirs = TestContent(10)
    fake.break_(
      .init(
        words: "PUT",
        effect: .after { state in
          state.objects["videos/k.mp4"] = .init(
            bytes: theirs.bytes, contentType: "x", metadata: [:], generation: state.tick())
        }))
    let uploader = try await fake.uploader()
    let error = await #expect(throws: UploadError.self) {
      try await uploader.upload(content.source, to: key) { _ in }
    }
    #expect(error?.code == .alreadyExists)
    #expect(fake.object(key)?.bytes == theirs.bytes && fake.openSessions == 0)
  }

  @Test(
    "a store that holds something other than what was sent is reported and does not keep it",
    arguments: ["crc32c", "md5Hash", "size"])
  func lies(_ what: String) async throws {
    let fake = try await FakeGoogle.start()
    let uploader = try await fake.uploader()
    let transport = LyingTransport(base: try CurlTransport.patient(), field: what)
    let lied = FirebaseUploader(
      try StorageBucket(FakeGoogle.bucket, prefix: "videos", emulator: fake.origin),
      transport: transport,
      tokens: try await fake.tokens(try CurlTransport.patient()), checkpoints: MemoryCheckpoints())
    let error = await #expect(throws: UploadError.self) {
      try await lied.upload(TestContent(1000).source, to: key) { _ in }
    }
    #expect(error?.code == .verificationFailed && error?.message.contains("removed") == true)
    #expect(try await uploader.find(key) == nil)
  }

  @Test("removing cancels unfinished uploads, and objects are listed page by page")
  func removing() async throws {
    let fake = try await FakeGoogle.start()
    let checkpoints = MemoryCheckpoints()
    let uploader = try await fake.uploader(checkpoints)
    fake.break_(.init(words: "PUT", nth: 2, effect: .reset))
    await #expect(throws: UploadError.self) { try await uploader.upload(content.source, to: key) { _ in } }
    #expect(fake.openSessions == 1)
    try await uploader.remove(key)
    #expect(fake.openSessions == 0)
    for index in 0..<8 {
      let key = try #require(ObjectKey("n\(index).mp4"))
      _ = try await uploader.upload(TestContent(10).source, to: key) { _ in }
    }
    fake.state.withLock { $0.objects["elsewhere.mp4"] = $0.objects["videos/n0.mp4"] }
    fake.state.withLock { $0.objects["videos/below/n9.mp4"] = $0.objects["videos/n0.mp4"] }
    #expect(try await uploader.names() == (0..<8).map { "n\($0).mp4" })
  }

  @Test("a page of a listing may carry everything that is known about a thousand objects")
  func longPage() async throws {
    let rest = String(repeating: "x", count: 1500)
    let items = (0..<1000).map { "{\"name\":\"videos/n\($0).mp4\",\"mediaLink\":\"\(rest)\"}" }
    let page = HTTPReply(status: .ok, body: Array("{\"items\":[\(items.joined(separator: ","))]}".utf8))
    let uploader = FirebaseUploader(
      try StorageBucket(FakeGoogle.bucket, prefix: "videos"), transport: ScriptedTransport { _ in page },
      tokens: EmulatorToken(), checkpoints: MemoryCheckpoints())
    #expect(try await uploader.names().count == 1000)
  }

  @Test(
    "a proxy's 404 to a removal does not count: the object still exists",
    arguments: ["", "404 page not found"])
  func removingBehindAProxy(_ words: String) async throws {
    let fake = try await FakeGoogle.start()
    let uploader = try await fake.uploader()
    _ = try await uploader.upload(content.source, to: key) { _ in }
    fake.break_(.init(words: "DELETE", effect: .status(404, words)))
    let error = await #expect(throws: UploadError.self) { try await uploader.remove(key) }
    #expect(error?.code == .unavailable, "\(error?.message ?? "")")
    #expect(try await uploader.find(key) != nil)
  }

  @Test("what a bucket keeps of a removed object is reported, and an object under a hold is not removed")
  func removingWhatIsKept() async throws {
    let fake = try await FakeGoogle.start()
    let uploader = try await fake.uploader()
    #expect(try await uploader.remove(key) == .gone)
    _ = try await uploader.upload(content.source, to: key) { _ in }
    let held =
      #"{"error":{"code":403,"message":"it is under a hold","errors":[{"reason":"objectUnderActiveHold"}]}}"#
    fake.break_(.init(words: "DELETE", effect: .status(403, held)))
    let error = await #expect(throws: UploadError.self) { try await uploader.remove(key) }
    #expect(error?.code == .rejected && error?.message.hasSuffix("see it: it is under a hold") == true)
    #expect(try await uploader.find(key) != nil)

    fake.state.withLock { $0.kept = [] }
    let generation = try #require(fake.object(key)?.generation)
    for _ in 0..<2 {
      let removal = try await uploader.remove(key)
      let end = try #require(ISOTime.date(FakeGoogle.hardDeleteTime))
      #expect(removal.versions == [KeptVersion(id: "\(generation)", keptUntil: end)])
      #expect(
        removal.remains?.contains("the generation \(generation) until 2099-01-02 03:04:05 UTC") == true,
        "\(removal)")
    }
    // The name can be used again.
    _ = try await uploader.upload(content.source, to: key) { _ in }
  }

  @Test("a missing bucket and a missing role are each reported in one sentence")
  func refusals() async throws {
    let fake = try await FakeGoogle.start()
    let missing = await #expect(throws: UploadError.self) {
      try await fake.uploader(bucket: "no-such-bucket").prepare()
    }
    #expect(
      missing?.code == .storeUnusable && missing?.message.contains("no bucket named no-such-bucket") == true
    )
    fake.break_(
      .init(
        words: "GET",
        effect: .status(403, #"{"error":{"code":403,"message":"reel@x does not have access"}}"#)))
    let denied = await #expect(throws: UploadError.self) { try await fake.uploader().prepare() }
    #expect(denied?.code == .storeUnusable)
    #expect(denied?.message.contains("roles/storage.objectUser") == true, "\(denied?.message ?? "")")
  }
}

/// Reports another value for a field of an object than the store does.
private struct LyingTransport: HTTPTransport {
  let base: CurlTransport
  let field: String

  func send(_ call: HTTPCall) async throws(HTTPFailure) -> HTTPReply {
    let reply = try await base.send(call)
    guard call.method == .put, reply.isSuccess,
      var object = (try? JSONSerialization.jsonObject(with: Data(reply.body))) as? [String: Any]
    else { return reply }
    object[field] = field == "size" ? "7" : "AAAAAA=="
    let body = (try? JSONSerialization.data(withJSONObject: object)) ?? Data()
    return HTTPReply(status: reply.status, fields: reply.fields, body: Array(body))
  }

  func fetch<Value: Sendable>(
    _ call: HTTPCall, into initial: Value,
    _ update: @escaping @Sendable (inout Value, UnsafeRawBufferPointer) -> Void
  ) async throws(HTTPFailure) -> (reply: HTTPReply, value: Value) {
    try await base.fetch(call, into: initial, update)
  }
}
