#if HTTP
  import Crypto
  import Foundation
  import HTTPTypes
  import ReelCatalog
  import ReelFaultCampaign
  import ReelHTTP
  import ReelHTTPDoubles
  import ReelModel
  import ReelTestServers
  import Testing

  @testable import ReelS3

  @Suite("one object and one post through every fault", .serialized, .timeLimit(.minutes(30)))
  struct S3FaultTests {
    @Test("over a double", arguments: StoreSize.allCases)
    func double(_ size: StoreSize) async throws {
      let campaign = FaultCampaign(
        "S3 double, \(size)", size: size.bytes, kinds: FaultKind.common + FaultKind.s3
      ) { try await DoubleBehindProxy.start() }
      #expect(try await campaign.run() == [])
    }
  }

  @Suite(
    "one object and one post through every fault, over a real server",
    .enabled(if: SwiftS3Server.isInstalled, SwiftS3Server.absence), .besideSwiftS3, .serialized,
    .timeLimit(.minutes(60)))
  struct RealS3FaultTests {
    @Test(arguments: StoreSize.allCases)
    func swift(_ size: StoreSize) async throws {
      let campaign = FaultCampaign(
        "OpenStack Swift, \(size)", size: size.bytes, kinds: FaultKind.common + FaultKind.s3, samples: 1
      ) { try await SwiftBehindProxy.make() }
      #expect(try await campaign.run() == [])
    }
  }

  /// How an object is sent.
  enum StoreSize: String, CaseIterable, Sendable, CustomTestStringConvertible {
    case inOne, inParts

    static let options = S3Options(singleLimit: 1 << 20, partSize: 5 << 20, partsAtOnce: 1)

    /// The smallest that there can be of two parts.
    var bytes: Int { self == .inOne ? 70_001 : 5 << 20 + 70_001 }
    var testDescription: String { rawValue }
  }

  private struct Keys {
    static let id = "test:tester"
    static let secret = "testing"
  }

  /// A bucket in memory, on a port of 127.0.0.1.
  private struct DoubleBehindProxy: StoreBehindProxy {
    let double: S3Double
    let server: LoopbackServer

    static func start() async throws -> DoubleBehindProxy {
      let double = S3Double()
      return DoubleBehindProxy(
        double: double, server: try await LoopbackServer.start { double.answer(received: $0) })
    }

    var port: Int { server.port }
    var secrets: [String] { [Keys.secret] }

    func uploader(through port: Int, _ transport: any HTTPTransport, _ catalog: SQLiteCatalog) throws
      -> any Uploader
    {
      S3Uploader(
        try S3Store(
          bucket: "bucket", prefix: "a/b", endpoint: HTTPAddress(parsing: "http://127.0.0.1:\(port)")),
        options: StoreSize.options, transport: transport,
        credentials: FixedCredentials(S3Credentials(keyID: Keys.id, secret: Secret(Keys.secret))))
    }

    func contents() async throws -> StoreContents {
      let bucket = double.bucket.withLock { $0 }
      return StoreContents(
        objects: bucket.objects.map {
          ($0.key.replacing("a/b/", with: ""), ContentDigest(sha256: SHA256.hash(data: $0.value.bytes)))
        },
        unfinished: bucket.uploads.values.map { $0.name.replacing("a/b/", with: "") })
    }

    func stop() async { await server.stop() }
  }

  extension S3Double {
    /// Plays the bucket on the wire.
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

  /// A prefix of its own in a bucket of OpenStack Swift, read with Swift's own protocol.
  private struct SwiftBehindProxy: StoreBehindProxy {
    let port: Int
    let prefix: String
    let transport: AsyncHTTPTransport
    let token: Secret

    private static let bucket = "faults"

    static func make() async throws -> SwiftBehindProxy {
      let port = try BesideSwiftS3.server().port
      let transport = try AsyncHTTPTransport(HTTPRules(timeouts: HTTPTimeouts(idle: .seconds(60))))
      let origin = HTTPOrigin(isSecure: false, host: "127.0.0.1", port: port)
      let login = try await transport.send(
        HTTPCall(
          .get, origin, "/auth/v1.0",
          fields: [.ours("X-Auth-User"): Keys.id, .ours("X-Auth-Key"): Keys.secret]))
      let token = try #require(login.fields[.ours("X-Auth-Token")])
      let store = SwiftBehindProxy(
        port: port, prefix: "p" + UUID().uuidString, transport: transport, token: Secret(token))
      for name in [bucket, bucket + "+segments"] { _ = try await store.ask(.put, "/" + name) }
      return store
    }

    var secrets: [String] { [Keys.secret] }

    func uploader(through port: Int, _ transport: any HTTPTransport, _ catalog: SQLiteCatalog) throws
      -> any Uploader
    {
      S3Uploader(
        try S3Store(
          bucket: Self.bucket, prefix: prefix, endpoint: HTTPAddress(parsing: "http://127.0.0.1:\(port)")),
        options: StoreSize.options, transport: transport,
        credentials: FixedCredentials(S3Credentials(keyID: Keys.id, secret: Secret(Keys.secret))))
    }

    func contents() async throws -> StoreContents {
      var objects: [(name: String, digest: ContentDigest?)] = []
      for name in try await names(in: Self.bucket) {
        let bytes = try await ask(.get, "/\(Self.bucket)/\(prefix)/\(name)").body
        objects.append((name, ContentDigest(sha256: SHA256.hash(data: bytes))))
      }
      // An upload that was begun is marked by KEY/ID; its parts, which an object may refer to, are KEY/ID/NUMBER.
      let marks = try await names(in: Self.bucket + "+segments").map { $0.split(separator: "/") }
      return StoreContents(
        objects: objects, unfinished: marks.filter { $0.count == 2 }.map { String($0[0]) })
    }

    private func names(in container: String) async throws -> [String] {
      let reply = try await ask(.get, "/\(container)?format=json&prefix=\(prefix)/")
      struct Entry: Decodable { let name: String }
      return try JSONDecoder().decode([Entry].self, from: Data(reply.body)).map {
        String($0.name.dropFirst(prefix.count + 1))
      }
    }

    private func ask(_ method: HTTPRequest.Method, _ target: String) async throws -> HTTPReply {
      var call = HTTPCall(
        method, HTTPOrigin(isSecure: false, host: "127.0.0.1", port: port), "/v1/AUTH_test" + target,
        fields: [.ours("X-Auth-Token"): token.revealed])
      call.replyLimit = 16 << 20
      let reply = try await transport.send(call)
      try #require(reply.isSuccess, "\(method) \(target): \(reply.status)")
      return reply
    }

    func stop() async {}
  }
#endif
