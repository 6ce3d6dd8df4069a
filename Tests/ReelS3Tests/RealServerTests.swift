import Foundation
import HTTPTypes
import ReelCore
import ReelHTTPFakes
import ReelStorage
import ReelStorageTesting
import ReelTestServers
import ReelTestSupport
import Testing

@testable import ReelRemoteStorage

@Suite(
  "over a real server", .enabled(if: SwiftS3Server.isInstalled, SwiftS3Server.absence), .besideSwiftS3,
  .shortTime, .notQuick)
struct RealServerTests {
  private static let options = S3Options(singleLimit: 5 << 20, partSize: 5 << 20)

  private static func credentials(_ key: (id: String, secret: String)) -> FixedCredentials {
    FixedCredentials(S3Credentials(keyID: key.id, secret: Secret(key.secret)))
  }

  private func uploader(
    bucket: String, key: (id: String, secret: String) = SwiftS3Server.key, region: String = "us-east-1",
    options: S3Options = options
  ) throws -> S3Uploader {
    let endpoint = try HTTPAddress(parsing: try BesideSwiftS3.server().endpoint)
    return S3Uploader(
      try S3Store(bucket: bucket, prefix: "videos", endpoint: endpoint, region: region), options: options,
      transport: try CurlTransport.patient(), credentials: Self.credentials(key))
  }

  /// A new, empty bucket.
  private func bucket() async throws -> String {
    let name = "b\(SystemRandomness().name(length: 20).lowercased())"
    let endpoint = try HTTPAddress(parsing: try BesideSwiftS3.server().endpoint)
    let client = S3Client(
      try S3Store(bucket: name, endpoint: endpoint), transport: try CurlTransport.patient(),
      credentials: Self.credentials(SwiftS3Server.key), clock: SystemWallClock())
    try await client.makeBucket()
    return name
  }

  private func key() throws -> ObjectKey { try #require(ObjectKey("abc.mp4")) }

  /// With the retries that Reel uses: the server may answer racing requests for one object with 503.
  @Test("it keeps every promise", arguments: UploaderContractTest.all)
  func promises(_ promise: UploaderContractTest) async throws {
    let bucket = try await bucket()
    let transport = try CurlTransport.patient()
    let endpoint = try HTTPAddress(parsing: try BesideSwiftS3.server().endpoint)
    try await promise.check(
      StoreUnderTest(largeSize: 11 << 20 + 3) {
        RetryingUploader(
          base: S3Uploader(
            try S3Store(bucket: bucket, prefix: "videos", endpoint: endpoint), options: Self.options,
            transport: transport, credentials: Self.credentials(SwiftS3Server.key)))
      })
  }

  private func refusal(_ uploader: S3Uploader) async -> UploadError? {
    await #expect(throws: UploadError.self) { try await uploader.prepare() }
  }

  @Test(
    "a wrong secret, an unknown key, a missing bucket and a missing permission each have one sentence"
  )
  func mistakes() async throws {
    let bucket = try await bucket()
    for (made, words) in [
      (
        try uploader(bucket: bucket, key: (SwiftS3Server.key.id, "wrong")),
        "the secret of the access key test:tester is wrong"
      ),
      (try uploader(bucket: "none-of-that-name"), "there is no bucket named none-of-that-name"),
      (try uploader(bucket: bucket, key: SwiftS3Server.guest), "test:guest may not list the objects"),
    ] {
      let error = try #require(await refusal(made))
      #expect(error.code == .storeUnusable)
      #expect(error.message.contains(words), "\(error.message)")
      #expect(!error.message.contains("wrong\"") && !error.message.contains("Signature="))
    }
  }

  @Test("a wrong region is corrected from the server's reply, at the same host")
  func region() async throws {
    let uploader = try uploader(bucket: try await bucket(), region: "eu-west-9")
    try await uploader.prepare()
    _ = try await uploader.upload(TestSource(size: 10).upload, to: key()) { _ in }
  }

  @Test("the server refuses a signature with one wrong digit")
  func brokenSignature() async throws {
    let bucket = try await bucket()
    let transport = MeddlingTransport(base: try CurlTransport.patient()) { call in
      guard let last = call.credentials.popLast() else { return }
      let text = last.value.revealed
      let other = text.hasSuffix("0") ? "1" : "0"
      call.credentials.append(HTTPCredential(last.name, Secret(text.dropLast() + other), for: last.origin))
    }
    let endpoint = try HTTPAddress(parsing: try BesideSwiftS3.server().endpoint)
    let uploader = S3Uploader(
      try S3Store(bucket: bucket, endpoint: endpoint), transport: transport,
      credentials: Self.credentials(SwiftS3Server.key))
    #expect(await refusal(uploader)?.message.contains("SignatureDoesNotMatch") == true)
  }

  @Test("the server refuses bytes that differ from those signed, and stores nothing")
  func otherBytes() async throws {
    let bucket = try await bucket()
    let (honest, other) = (TestSource(size: 1000), TestSource(size: 1000, seed: 9))
    let transport = MeddlingTransport(base: try CurlTransport.patient()) { call in
      if case .source = call.body { call.body = .bytes(other.bytes) }
    }
    let endpoint = try HTTPAddress(parsing: try BesideSwiftS3.server().endpoint)
    let uploader = S3Uploader(
      try S3Store(bucket: bucket, endpoint: endpoint), transport: transport,
      credentials: Self.credentials(SwiftS3Server.key))
    let error = await #expect(throws: UploadError.self) {
      _ = try await uploader.upload(honest.upload, to: try key()) { _ in }
    }
    #expect(error?.code == .interrupted, "\(error?.message ?? "")")
    #expect(try await uploader.find(key()) == nil)
  }

  @Test("a presigned address opens the object without credentials; an altered one does not")
  func presigned() async throws {
    let uploader = try uploader(
      bucket: try await bucket(), options: S3Options(viewing: .presigned(seconds: 600)))
    let source = TestSource(size: 1000)
    let url = try await uploader.upload(source.upload, to: key()) { _ in }.url
    let (data, _) = try await URLReader.get(url)
    #expect(Array(data) == source.bytes)
    let (_, status) = try await URLReader.get(url.replacing("X-Amz-Expires=600", with: "X-Amz-Expires=601"))
    #expect(status == 403)
    let (_, plain) = try await URLReader.get(String(url.prefix { $0 != "?" }))
    // Swift takes an unsigned request for one in its own protocol and can't parse it.
    #expect([400, 403].contains(plain))
  }

  @Test("files are put, overwritten, listed and removed, whatever the prefix")
  func files() async throws {
    let endpoint = try HTTPAddress(parsing: try BesideSwiftS3.server().endpoint)
    let store = try S3Store(bucket: try await bucket(), prefix: "a b+c/ü&'(*)~", endpoint: endpoint)
    let files = S3Files(
      store, transport: try CurlTransport.patient(), credentials: Self.credentials(SwiftS3Server.key))
    let page = S3Files.File(name: "feed/1.json", contentType: "application/json", cacheControl: "no-cache")
    for text in ["one", "", "another"] {
      try await files.put(Array(text.utf8), as: page)
      #expect(try await files.list("feed/").mapValues { $0.holds(Array(text.utf8)) } == ["feed/1.json": true])
    }
    try await files.put([1], as: .init(name: "feed/2.json", contentType: "a/b", cacheControl: "no-cache"))
    #expect(try await files.list("", most: 1).keys.sorted() == ["feed/1.json"])
    for _ in 0..<2 { try await files.remove("feed/1.json") }
    #expect(try await files.list("").keys.sorted() == ["feed/2.json"])
  }

  @Test("many small objects and several large ones sent at once are all intact")
  func manyAtOnce() async throws {
    // A server that is busy answers with 503.
    let uploader = RetryingUploader(base: try uploader(bucket: try await bucket()))
    try await withThrowingTaskGroup(of: Bool.self) { group in
      for number in 0..<44 {
        let source = TestSource(size: number < 4 ? 11 << 20 : 5000 + number, seed: UInt8(number))
        let key = try #require(ObjectKey("object-\(number).mp4"))
        group.addTask {
          _ = try await uploader.upload(source.upload, to: key) { _ in }
          return try await uploader.readBack(key) == source.digest
        }
      }
      for try await isWhole in group { #expect(isWhole) }
    }
  }
}

/// A transport that changes calls after they are signed.
struct MeddlingTransport: HTTPTransport {
  let base: any HTTPTransport
  let meddle: @Sendable (inout HTTPCall) -> Void

  func send(_ call: HTTPCall) async throws(HTTPFailure) -> HTTPReply {
    var call = call
    meddle(&call)
    return try await base.send(call)
  }

  func fetch<Value: Sendable>(
    _ call: HTTPCall, into initial: Value,
    _ update: @escaping @Sendable (inout Value, UnsafeRawBufferPointer) -> Void
  ) async throws(HTTPFailure) -> (reply: HTTPReply, value: Value) {
    try await base.fetch(call, into: initial, update)
  }
}

/// A viewer with an address and no credentials.
enum URLReader {
  static func get(_ url: String) async throws -> (body: [UInt8], status: Int) {
    let start = try #require(url.range(of: "://")?.upperBound)
    let slash = try #require(url[start...].firstIndex(of: "/"))
    let origin = try HTTPAddress(parsing: String(url[..<slash])).origin
    var call = HTTPCall(.get, origin, String(url[slash...]))
    call.replyLimit = 1 << 24
    let reply = try await CurlTransport.patient().send(call)
    return (reply.body, reply.status.code)
  }
}
