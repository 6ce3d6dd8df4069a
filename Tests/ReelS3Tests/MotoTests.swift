import Foundation
import HTTPTypes
import ReelCore
import ReelHTTPFakes
import ReelStorage
import ReelStorageTesting
import ReelTestServers
import ReelTestSupport
import Synchronization
import Testing

@testable import ReelRemoteStorage

/// A bucket at the suite's moto server.
private struct MotoBucket: Sendable {
  let name = "b\(UUID().uuidString.lowercased())"
  let client: S3Client

  static let options = S3Options(singleLimit: 5 << 20, partSize: 5 << 20)
  static let credentials = FixedCredentials(
    S3Credentials(keyID: MotoServer.key.id, secret: Secret(MotoServer.key.secret)))

  /// Creates a bucket.
  ///
  /// - Parameter isLocked: Whether the bucket has versions and Object Lock.
  init(isLocked: Bool = false) async throws {
    client = S3Client(
      try S3Store(bucket: name, endpoint: HTTPAddress(parsing: try BesideMoto.server().endpoint)),
      transport: try CurlTransport.patient(), credentials: Self.credentials, clock: SystemWallClock())
    try await client.makeBucket(isLocked: isLocked)
  }

  /// Sets a subresource of an object.
  func put(_ query: [(String, String)], of key: ObjectKey, _ body: String) async throws {
    var request = S3Request(.put, key, query: query, task: "set", permission: "s3:*")
    request.body = .bytes(Array(body.utf8))
    _ = try await client.send(request)
  }

  func uploader(_ transport: (any HTTPTransport)? = nil, _ options: S3Options = options) throws
    -> S3Uploader
  {
    S3Uploader(
      client.store, options: options, transport: try transport ?? CurlTransport.patient(),
      credentials: Self.credentials)
  }

  func names(_ element: String, _ query: [(String, String)]) async throws -> [String] {
    let reply = try await client.send(
      S3Request(.get, nil, query: query, task: "list", permission: "s3:ListBucket"))
    return try #require(XMLNode(parsing: reply.body)).all(element).compactMap { $0["Key"] }
  }
}

@Suite(
  "over moto, whose replies differ", .enabled(if: MotoServer.isInstalled, MotoServer.absence),
  .besideMoto, .shortTime, .notQuick)
struct MotoTests {
  private func key() throws -> ObjectKey { try #require(ObjectKey("abc.mp4")) }

  @Test("it keeps every promise", arguments: UploaderContractTest.all)
  func promises(_ promise: UploaderContractTest) async throws {
    let bucket = try await MotoBucket()
    let transport = try CurlTransport.patient()
    try await promise.check(
      StoreUnderTest(largeSize: 11 << 20 + 3) { try bucket.uploader(transport) })
  }

  @Test("a large object arrives at the first attempt, is recognized as ours, and leaves no unfinished upload")
  func large() async throws {
    let bucket = try await MotoBucket()
    let source = TestSource(size: 11 << 20 + 3)
    let object = try await bucket.uploader().upload(source.upload, to: key()) { _ in }
    #expect(object.digest == source.digest && object.size == source.upload.size)
    // moto reports the digest of the parts' digests like a plain one; it is not the object's digest.
    let found = try #require(try await bucket.uploader().find(key()))
    #expect(found.size == source.upload.size && found.digest == nil)
    #expect(try await bucket.uploader().readBack(key()) == source.digest)
    #expect(try await bucket.names("Contents", [("list-type", "2")]) == ["abc.mp4"])
    #expect(try await bucket.names("Upload", [("uploads", "")]) == [])
  }

  @Test("an interrupted upload resumes with the parts that moto has")
  func resume() async throws {
    let bucket = try await MotoBucket()
    let source = TestSource(size: 16 << 20)
    let one = S3Options(singleLimit: 5 << 20, partSize: 5 << 20, partsAtOnce: 1)
    let breaking = WatchedTransport(base: try CurlTransport.patient()) { call throws(HTTPFailure) in
      if call.target.contains("partNumber=3") { throw .broken("a test") }
    }
    let broken = await #expect(throws: UploadError.self) {
      _ = try await bucket.uploader(breaking, one).upload(source.upload, to: try key()) { _ in }
    }
    #expect(broken?.code == .interrupted)
    let sent = Mutex<[String]>([])
    let watched = WatchedTransport(base: try CurlTransport.patient()) { call throws(HTTPFailure) in
      if let number = call.target.firstRange(of: "partNumber=") {
        sent.withLock { $0.append(String(call.target[number.upperBound...].prefix(1))) }
      }
    }
    _ = try await bucket.uploader(watched, one).upload(source.upload, to: key()) { _ in }
    #expect(sent.withLock { $0 } == ["3", "4"])
    #expect(try await bucket.uploader().readBack(key()) == source.digest)
  }

  @Test("a bucket with versions and a lock keeps a removed object, reports it, and accepts the object again")
  func versions() async throws {
    let bucket = try await MotoBucket(isLocked: true)
    let store = try bucket.uploader()
    let (source, key) = (TestSource(size: 100), try key())
    _ = try await store.upload(source.upload, to: key) { _ in }
    let end = "2099-01-02T03:04:05Z"
    try await bucket.put(
      [("retention", "")], of: key,
      "<Retention><Mode>GOVERNANCE</Mode><RetainUntilDate>\(end)</RetainUntilDate></Retention>")
    let removed = try await store.remove(key)
    #expect(
      removed.versions.map(\.keptUntil) == [ISOTime.date(end)] && removed.deleteMarker != nil, "\(removed)")
    #expect(removed.remains?.contains("locked until 2099-01-02 03:04:05 UTC") == true, "\(removed)")
    #expect(try await store.find(key) == nil)
    _ = try await store.upload(source.upload, to: key) { _ in }
    #expect(try await store.readBack(key) == source.digest)
    #expect(try await store.remove(key).versions.count == 2)
  }

  @Test("moto copies but reports no SHA-256 for a part, so the object is sent after all")
  func copied() async throws {
    let bucket = try await MotoBucket()
    let source = TestSource(size: 11 << 20 + 3)
    let whole = S3Options(singleLimit: 16 << 20)
    _ = try await bucket.uploader(nil, whole).upload(
      source.upload, to: #require(ObjectKey("in.mp4"))
    ) { _ in }
    var again = source.upload
    again.origin = ObjectOrigin(
      service: bucket.client.store.service, bucket: bucket.name, name: "in.mp4",
      tag: FakeS3.tag(source.bytes))
    let parts = Mutex<[Bool]>([])
    let watched = WatchedTransport(base: try CurlTransport.patient()) { call throws(HTTPFailure) in
      guard call.target.contains("partNumber=") else { return }
      if case .none = call.body {
        parts.withLock { $0.append(true) }
      } else {
        parts.withLock { $0.append(false) }
      }
    }
    let object = try await bucket.uploader(watched).upload(again, to: key()) { _ in }
    let isCopied = parts.withLock { $0 }
    #expect(isCopied.first == true && isCopied.count { !$0 } == 3, "\(isCopied)")
    #expect(object.digest == source.digest)
    #expect(try await bucket.uploader().readBack(key()) == source.digest)
  }
}

/// A transport that sees each call before it is sent and may make it fail.
private struct WatchedTransport: HTTPTransport {
  let base: any HTTPTransport
  let see: @Sendable (HTTPCall) throws(HTTPFailure) -> Void

  func send(_ call: HTTPCall) async throws(HTTPFailure) -> HTTPReply {
    try see(call)
    return try await base.send(call)
  }

  func fetch<Value: Sendable>(
    _ call: HTTPCall, into initial: Value,
    _ update: @escaping @Sendable (inout Value, UnsafeRawBufferPointer) -> Void
  ) async throws(HTTPFailure) -> (reply: HTTPReply, value: Value) {
    try await base.fetch(call, into: initial, update)
  }
}
