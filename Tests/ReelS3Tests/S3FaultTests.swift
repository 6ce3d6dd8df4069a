import Foundation
import HTTPTypes
import ReelCore
import ReelCrypto
import ReelFaultCampaign
import ReelHTTPFakes
import ReelLibrary
import ReelTestServers
import ReelTestSupport
import Testing

@testable import ReelRemoteStorage

@Suite("one object and one post survive every fault", .serialized, .shortTime, .notQuick)
struct S3FaultTests {
  @Test("over a fake", arguments: StoreSize.allCases)
  func fake(_ size: StoreSize) async throws {
    let campaign = FaultCampaign(
      "S3 fake, \(size)", size: size.bytes, kinds: FaultKind.common + FaultKind.s3,
      leaving: keepsWhatWasAsked
    ) { try await FakeBehindProxy.start() }
    try await campaign.run()
  }

  @Test("over a fake, with a poster")
  func withPoster() async throws {
    let campaign = FaultCampaign(
      "S3 fake, with a poster", size: StoreSize.allCases[0].bytes, kinds: FaultKind.common + FaultKind.s3,
      hasPoster: true, oneKindIn: 3
    ) { try await FakeBehindProxy.start() }
    try await campaign.run()
  }
}

@Suite(
  "one object and one post survive every fault, over a real server",
  .enabled(if: SwiftS3Server.isInstalled, SwiftS3Server.absence), .besideSwiftS3, .serialized,
  .shortTime, .notQuick)
struct RealS3FaultTests {
  @Test(arguments: StoreSize.allCases)
  func swift(_ size: StoreSize) async throws {
    let port = try BesideSwiftS3.server().port
    let campaign = FaultCampaign(
      "OpenStack Swift, \(size)", size: size.bytes, kinds: FaultKind.common + FaultKind.s3, oneKindIn: 4,
      leaving: keepsWhatWasAsked
    ) { try await ServerBehindProxy.make(port: port) }
    try await campaign.run()
  }
}

@Suite(
  "one object and one post survive every fault, over moto",
  .enabled(if: MotoServer.isInstalled, MotoServer.absence), .besideMoto, .serialized,
  .shortTime, .notQuick)
struct MotoFaultTests {
  @Test(arguments: StoreSize.allCases)
  func moto(_ size: StoreSize) async throws {
    let port = try BesideMoto.server().port
    // moto does not check the signed digest, so bytes changed on the wire go unnoticed.
    let campaign = FaultCampaign(
      "moto, \(size)", size: size.bytes, kinds: FaultKind.common + FaultKind.s3, oneKindIn: 4,
      sparing: { kind, _ in kind.isSilentDamage }, leaving: keepsWhatWasAsked
    ) { try await ServerBehindProxy.make(port: port) }
    try await campaign.run()
  }
}

/// Whether the fault leaves a probe's upload behind: a store that refuses every DELETE of it, or only pretends to
/// obey, keeps it until the bucket's own lifecycle rule removes it (docs/s3.md, "When something fails").
private let keepsWhatWasAsked: @Sendable (Fault, String) -> Bool = { fault, shape in
  fault.reach == .alike && shape == "DELETE uploadId"
}

/// How an object is sent.
enum StoreSize: String, CaseIterable, Sendable, CustomTestStringConvertible {
  case inOne, inParts

  static let options: S3Options = {
    var options = S3Options(singleLimit: 1 << 20, partSize: 5 << 20, partsAtOnce: 1)
    options.completionSilence = .zero
    return options
  }()

  /// The smallest size that has two parts.
  var bytes: Int { self == .inOne ? 70_001 : 5 << 20 + 70_001 }
  var testDescription: String { rawValue }
}

private enum Keys {
  static let credentials = FixedCredentials(
    S3Credentials(keyID: SwiftS3Server.key.id, secret: Secret(SwiftS3Server.key.secret)))
}

/// An in-memory bucket on a port of 127.0.0.1.
private struct FakeBehindProxy: StoreBehindProxy {
  let fake: FakeS3
  let server: LoopbackServer

  static func start() async throws -> FakeBehindProxy {
    let fake = FakeS3()
    return FakeBehindProxy(
      fake: fake, server: try await LoopbackServer.start { fake.answer(received: $0) })
  }

  var port: Int { server.port }
  var secrets: [String] { [SwiftS3Server.key.secret] }

  func services(through port: Int, _ transport: any HTTPTransport, _ catalog: SQLiteCatalog) throws
    -> (any Uploader, (any PostRecorder)?)
  {
    let store = try S3Store(
      bucket: "bucket", prefix: "a/b", endpoint: HTTPAddress(parsing: "http://127.0.0.1:\(port)"))
    return (
      S3Uploader(
        store, options: StoreSize.options, transport: transport, credentials: Keys.credentials), nil
    )
  }

  func contents() async throws -> StoreContents {
    let bucket = fake.bucket.withLock { $0 }
    return StoreContents(
      objects: bucket.objects.map {
        ($0.key.replacing("a/b/", with: ""), ContentDigest(sha256: SHA256.hash(data: $0.value.bytes)))
      },
      unfinished: bucket.uploads.values.map { $0.name.replacing("a/b/", with: "") })
  }

  func stop() async { await server.stop() }
}

extension FakeS3 {
  /// Answers for the bucket.
  func answer(received: ReceivedRequest) -> ServerAction {
    var fields = HTTPFields()
    for (name, value) in received.headers {
      if let name = HTTPField.Name(name) { fields[name] = value }
    }
    guard let method = HTTPRequest.Method(received.method) else { return .close }
    let call = HTTPCall(
      method, HTTPOrigin(isSecure: false, host: "127.0.0.1"), received.target, fields: fields,
      body: .bytes(received.body))
    let reply = answer(ScriptedTransport.Sent(call: call, body: received.body))
    return .reply(
      reply.status.code, headers: reply.fields.map { ($0.name.rawName, $0.value) }, body: reply.body)
  }
}

/// A bucket of a real server, inspected by the test's own requests.
///
/// Each scenario has its own bucket: Swift answers with an outdated list while others hold the bucket's list for 0.1 s
/// (`stale_reads_ok` in its container server), as many scenarios in one bucket do on a busy machine.
private struct ServerBehindProxy: StoreBehindProxy {
  let port: Int
  let bucket: String
  let prefix: String
  let client: S3Client

  static func make(port: Int) async throws -> ServerBehindProxy {
    let bucket = "b\(UUID().uuidString.lowercased())"
    let client = S3Client(
      try S3Store(bucket: bucket, endpoint: HTTPAddress(parsing: "http://127.0.0.1:\(port)")),
      transport: try CurlTransport.patient(), credentials: Keys.credentials, clock: SystemWallClock())
    try await client.makeBucket()
    return ServerBehindProxy(port: port, bucket: bucket, prefix: "a/b", client: client)
  }

  var secrets: [String] { [SwiftS3Server.key.secret] }

  func services(through port: Int, _ transport: any HTTPTransport, _ catalog: SQLiteCatalog) throws
    -> (any Uploader, (any PostRecorder)?)
  {
    let store = try S3Store(
      bucket: bucket, prefix: prefix, endpoint: HTTPAddress(parsing: "http://127.0.0.1:\(port)"))
    return (
      S3Uploader(
        store, options: StoreSize.options, transport: transport, credentials: Keys.credentials), nil
    )
  }

  func contents() async throws -> StoreContents {
    var objects: [(name: String, digest: ContentDigest?)] = []
    for name in try await names("Contents", [("list-type", "2")]) {
      let key = try #require(ObjectKey(name))
      let store = try S3Store(bucket: bucket, prefix: prefix, endpoint: client.store.endpoint)
      let reader = S3Client(
        store, transport: try CurlTransport.patient(), credentials: Keys.credentials,
        clock: SystemWallClock())
      let (_, hash) = try await reader.fetch(
        S3Request(.get, key, task: "read", permission: "s3:GetObject"), into: SHA256()
      ) { $0.update(bufferPointer: $1) }
      objects.append((name, ContentDigest(sha256: hash.finalize())))
    }
    // A list may be outdated for a moment. What is really left behind stays in it.
    var unfinished = try await names("Upload", [("uploads", "")])
    for _ in 0..<300 where !unfinished.isEmpty {
      try await Task.sleep(for: .milliseconds(100))
      unfinished = try await names("Upload", [("uploads", "")])
    }
    return StoreContents(objects: objects, unfinished: unfinished)
  }

  private func names(_ element: String, _ query: [(String, String)]) async throws -> [String] {
    let reply = try await client.send(
      S3Request(
        .get, nil, query: query + [("prefix", prefix + "/")], task: "list", permission: "s3:ListBucket"))
    let names = try #require(XMLNode(parsing: reply.body)).all(element).compactMap { $0["Key"] }
    return names.map { String($0.dropFirst(prefix.count + 1)) }
  }

  func stop() async {}
}
