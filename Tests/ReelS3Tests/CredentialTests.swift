import FoundationEssentials
import HTTPTypes
import ReelCore
import ReelHTTPFakes
import Synchronization
import Testing

@testable import ReelRemoteStorage

@Suite struct CredentialTests {
  /// A temporary home folder with the two files; it is removed with the test.
  private final class Home {
    let folder = FileManager.default.temporaryDirectory.path + "/reel-home-\(UUID().uuidString)"

    init(credentials: String? = nil, config: String? = nil) throws {
      try FileManager.default.createDirectory(atPath: folder + "/.aws", withIntermediateDirectories: true)
      try credentials.map { try Data($0.utf8).write(to: URL(filePath: folder + "/.aws/credentials")) }
      try config.map { try Data($0.utf8).write(to: URL(filePath: folder + "/.aws/config")) }
    }

    deinit { try? FileManager.default.removeItem(atPath: folder) }
  }

  private func find(
    _ home: Home, profile: String? = nil, _ environment: [String: String] = [:]
  ) async throws -> S3Credentials {
    try await LocalCredentials(
      environment: ["HOME": home.folder].merging(environment) { $1 }, profile: profile
    ).find()
  }

  private let pair = "aws_access_key_id = FILE\naws_secret_access_key = fs\n"

  @Test("the environment takes precedence over a file, and a named profile over the environment")
  func order() async throws {
    let home = try Home(
      credentials:
        "[default]\n\(pair)[work]\naws_access_key_id=WORK\naws_secret_access_key=ws\naws_session_token=t\n")
    let environment = ["AWS_ACCESS_KEY_ID": "ENV", "AWS_SECRET_ACCESS_KEY": "es", "AWS_SESSION_TOKEN": "et"]
    let fromEnvironment = try await find(home, environment)
    #expect(fromEnvironment == S3Credentials(keyID: "ENV", secret: Secret("es"), token: Secret("et")))
    #expect(try await find(home, environment.merging(["AWS_PROFILE": "work"]) { $1 }).keyID == "ENV")
    #expect(try await find(home, profile: "work", environment).token == Secret("t"))
    #expect(try await find(home).keyID == "FILE")
    #expect(try await find(home, ["AWS_PROFILE": "work"]).keyID == "WORK")
  }

  @Test("the config file may hold the credentials, too; variables may name other paths")
  func places() async throws {
    #expect(try await find(Home(config: "[profile work]\n\(pair)"), profile: "work").keyID == "FILE")
    let home = try Home(credentials: "[default]\n\(pair)")
    #expect(
      try await find(Home(), ["AWS_SHARED_CREDENTIALS_FILE": home.folder + "/.aws/credentials"]).keyID
        == "FILE")
  }

  @Test("if there are no credentials, the message says where Reel looked")
  func missing() async throws {
    let home = try Home()
    let error = await #expect(throws: UploadError.self) { try await find(home) }
    #expect(error?.code == .storeUnusable)
    for place in ["AWS_ACCESS_KEY_ID", home.folder + "/.aws/credentials", "/.aws/config", "profile default"] {
      #expect(error?.message.contains(place) == true, "\(error?.message ?? "")")
    }
    let named = await #expect(throws: UploadError.self) { try await find(home, profile: "work") }
    #expect(named?.message.contains("profile work") == true)
  }

  @Test("half a pair of credentials is an error, wherever it is found")
  func half() async throws {
    for (home, environment) in [
      (try Home(), ["AWS_ACCESS_KEY_ID": "A"]), (try Home(), ["AWS_SECRET_ACCESS_KEY": "hunter2"]),
      (try Home(credentials: "[default]\naws_secret_access_key=hunter2\n"), [:]),
    ] {
      let error = await #expect(throws: UploadError.self) { try await find(home, environment) }
      #expect(error?.message.contains("only one") == true)
      #expect(error?.message.contains("hunter2") == false)
    }
  }

  @Test(
    "an unsupported kind of credentials is named, with an alternative",
    arguments: ["sso_session", "credential_process", "role_arn"])
  func otherKinds(_ setting: String) async throws {
    let home = try Home(config: "[default]\n\(setting) = x\n")
    let error = await #expect(throws: UploadError.self) { try await find(home) }
    #expect(error?.message.contains(setting) == true && error?.message.contains("export-credentials") == true)
  }

  @Test("a relative home is ignored: it would depend on the working folder")
  func relativeHome() async throws {
    let home = try Home(credentials: "[default]\n\(pair)", config: "[default]\nregion = eu-north-1\n")
    let relative = String(repeating: "../", count: 40) + home.folder.dropFirst()
    #expect(FileManager.default.fileExists(atPath: relative + "/.aws/config"))
    let local = LocalCredentials(environment: ["HOME": relative], profile: nil)
    #expect(try await local.region() == nil)
    await #expect(throws: UploadError.self) { try await local.find() }
  }

  @Test("region and endpoint come from the variables, then from the profile")
  func regionAndEndpoint() async throws {
    let home = try Home(config: "[default]\nregion = eu-north-1\nendpoint_url = https://h\n")
    let file = LocalCredentials(environment: ["HOME": home.folder], profile: nil)
    #expect(try await file.region() == "eu-north-1")
    #expect(try await file.endpoint() == "https://h")
    let variables = LocalCredentials(
      environment: [
        "HOME": home.folder, "AWS_DEFAULT_REGION": "b", "AWS_REGION": "a", "AWS_ENDPOINT_URL": "https://i",
        "AWS_ENDPOINT_URL_S3": "https://j",
      ], profile: nil)
    #expect(try await variables.region() == "a")
    #expect(try await variables.endpoint() == "https://j")
  }

  private static let answer =
    "{\"AccessKeyId\":\"K\",\"SecretAccessKey\":\"s\",\"Token\":\"t\",\"Expiration\":\"2027-01-15T08:00:00Z\"}"

  @Test("a container's endpoint is asked with its token, which nobody else is sent")
  func container() async throws {
    let transport = ScriptedTransport { _ in HTTPReply(status: .ok, body: Array(Self.answer.utf8)) }
    let environment = [
      "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI": "/v2/x", "AWS_CONTAINER_AUTHORIZATION_TOKEN": "hunter2",
    ]
    let found = try await EndpointCredentials(transport: transport, environment: environment).container()
    #expect(found.keyID == "K" && found.expires == Date(timeIntervalSince1970: 1_800_000_000))
    let call = try #require(transport.calls.first?.call)
    #expect(call.origin.description + call.target == "http://169.254.170.2/v2/x")
    #expect(call.credentials.first?.value == Secret("hunter2"))
  }

  @Test(
    "credentials without a readable expiration are not used",
    arguments: [("2027-01-15T08:00:00.500Z", 1_800_000_000.5), ("soon", nil)] as [(String, Double?)])
  func expiration(_ text: String, _ seconds: Double?) async throws {
    let answer = Self.answer.replacing("2027-01-15T08:00:00Z", with: text)
    let transport = ScriptedTransport { _ in HTTPReply(status: .ok, body: Array(answer.utf8)) }
    let source = EndpointCredentials(
      transport: transport, environment: ["AWS_CONTAINER_CREDENTIALS_RELATIVE_URI": "/v2/x"])
    guard let seconds else {
      await #expect(throws: UploadError.self) { try await source.container() }
      return
    }
    #expect(try await source.container().expires == Date(timeIntervalSince1970: seconds))
  }

  @Test(
    "the address of a container's endpoint is requested exactly as written",
    arguments: [
      ("http://127.0.0.1:9/creds/", "/creds/"), ("http://127.0.0.1:9/creds", "/creds"),
      ("http://127.0.0.1:9/creds/?role=a%2Fb&x", "/creds/?role=a%2Fb&x"), ("https://h.example", "/"),
      ("https://h.example?x=1", "/?x=1"),
    ])
  func containerAddress(_ address: String, _ target: String) async throws {
    let transport = ScriptedTransport { _ in HTTPReply(status: .ok, body: Array(Self.answer.utf8)) }
    _ = try await EndpointCredentials(
      transport: transport, environment: ["AWS_CONTAINER_CREDENTIALS_FULL_URI": address]
    ).container()
    #expect(transport.calls.map(\.call.target) == [target])
  }

  @Test("where the environment offers credentials that were not requested, the message says how to use them")
  func offered() async throws {
    let home = try Home()
    for (environment, words) in [
      (
        ["AWS_CONTAINER_CREDENTIALS_FULL_URI": "http://127.0.0.1/x"], ["FULL_URI", "<credentials> container"]
      ),
      (["AWS_CONTAINER_CREDENTIALS_RELATIVE_URI": "/x"], ["RELATIVE_URI", "<credentials> container"]),
      (
        ["AWS_ROLE_ARN": "arn", "AWS_WEB_IDENTITY_TOKEN_FILE": "/t"],
        ["AWS_WEB_IDENTITY_TOKEN_FILE", "Pod Identity", "aws configure export-credentials"]
      ),
      (["AWS_ROLE_ARN": "arn"], ["<credentials> container or instance"]),
    ] as [([String: String], [String])] {
      let error = await #expect(throws: UploadError.self) { try await find(home, environment) }
      let told = error?.text.naming { "<\($0.rawValue)>" } ?? ""
      for word in words { #expect(told.contains(word), "\(told)") }
    }
  }

  @Test("a byte order mark does not hide the credentials")
  func byteOrderMark() async throws {
    let home = try Home(
      credentials: "\u{FEFF}[default]\r\n" + pair, config: "\u{FEFF}[default]\nregion = a\n")
    #expect(try await find(home).keyID == "FILE")
    #expect(try await LocalCredentials(environment: ["HOME": home.folder], profile: nil).region() == "a")
  }

  /// As on EKS, where the file is rewritten from time to time.
  @Test("a token in a file takes precedence over one in the environment and is read again for each lookup")
  func tokenFile() async throws {
    let transport = ScriptedTransport { _ in HTTPReply(status: .ok, body: Array(Self.answer.utf8)) }
    let home = try Home(credentials: "first\n")
    let endpoint = EndpointCredentials(
      transport: transport,
      environment: [
        "AWS_CONTAINER_CREDENTIALS_FULL_URI": "http://169.254.170.23/v1/credentials",
        "AWS_CONTAINER_AUTHORIZATION_TOKEN": "of-the-environment",
        "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE": home.folder + "/.aws/credentials",
      ])
    _ = try await endpoint.container()
    try Data(" second ".utf8).write(to: URL(filePath: home.folder + "/.aws/credentials"))
    _ = try await endpoint.container()
    let credentials = transport.calls.flatMap(\.call.credentials)
    #expect(credentials.map(\.value) == [Secret("first"), Secret("second")])
    #expect(credentials.allSatisfy { $0.origin.host == "169.254.170.23" })
  }

  @Test(
    "an unusable token file is named", arguments: ["", "two words", "d\u{1}", nil] as [String?])
  func badTokenFile(_ content: String?) async throws {
    let transport = ScriptedTransport { _ in HTTPReply(status: .ok, body: Array(Self.answer.utf8)) }
    let home = try Home(credentials: content)
    let file = home.folder + "/.aws/credentials"
    let endpoint = EndpointCredentials(
      transport: transport,
      environment: [
        "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI": "/x", "AWS_CONTAINER_AUTHORIZATION_TOKEN": "t",
        "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE": file,
      ])
    let error = await #expect(throws: UploadError.self) { try await endpoint.container() }
    #expect(error?.code == .storeUnusable && error?.message.contains(file) == true)
    #expect(error?.message.contains("two words") == false)
    #expect(transport.calls.isEmpty)
  }

  @Test(
    "a busy endpoint is asked again; one without credentials is not",
    arguments: [
      (.success(429), .unavailable), (.success(500), .unavailable), (.success(503), .unavailable),
      (.failure(.silent(.seconds(5))), .unavailable), (.failure(.broken("reset")), .unavailable),
      (.failure(.timedOut("60 s")), .unavailable), (.failure(.unreachable("no route")), .storeUnusable),
      (.failure(.garbled("HPE")), .storeUnusable), (.failure(.replyTooLarge(limit: 1)), .storeUnusable),
      (.success(403), .storeUnusable), (.success(404), .storeUnusable), (.failure(.cancelled), .cancelled),
    ] as [(Result<Int, HTTPFailure>, UploadError.Code)])
  func endpointFailures(_ outcome: Result<Int, HTTPFailure>, _ code: UploadError.Code) async throws {
    let transport = ScriptedTransport { _ async throws(HTTPFailure) in
      HTTPReply(status: .init(code: try outcome.get()))
    }
    let endpoint = EndpointCredentials(
      transport: transport, environment: ["AWS_CONTAINER_CREDENTIALS_RELATIVE_URI": "/x"])
    for look in [{ try await endpoint.container() }, { try await endpoint.instance() }] {
      let error = await #expect(throws: UploadError.self) { _ = try await look() }
      #expect(error?.code == code, "\(error?.message ?? "")")
      for raw in ["garbled(", "silent(", "broken(", "status", "HPE"] {
        #expect(error?.message.contains(raw) == false, "\(error?.message ?? "")")
      }
    }
  }

  @Test(
    "a busy endpoint's Retry-After is honored",
    arguments: [(nil, nil), ("7", 7)] as [(String?, Double?)])
  func busyEndpoint(_ said: String?, _ seconds: Double?) async throws {
    var fields = HTTPFields()
    fields[.retryAfter] = said
    let reply = HTTPReply(status: .serviceUnavailable, fields: fields)
    let transport = ScriptedTransport { _ in reply }
    let error = await #expect(throws: UploadError.self) {
      _ = try await EndpointCredentials(transport: transport, environment: [:]).instance()
    }
    #expect(error?.code == .unavailable && error?.retryAfter == seconds)
  }

  @Test("a machine without a role gets a message that says so")
  func noRole() async throws {
    let transport = ScriptedTransport { sent in
      sent.call.method == .put
        ? HTTPReply(status: .ok, body: Array("t".utf8)) : HTTPReply(status: .notFound)
    }
    let error = await #expect(throws: UploadError.self) {
      try await EndpointCredentials(transport: transport, environment: [:]).instance()
    }
    #expect(error?.message.contains("this machine has no role") == true)
  }

  @Test("a container's endpoint on another host is not asked over plain http")
  func containerElsewhere() async throws {
    let transport = ScriptedTransport { _ in HTTPReply(status: .ok, body: Array(Self.answer.utf8)) }
    for (address, isAsked) in [
      ("http://evil.example/x", false), ("http://127.0.0.1:9/x", true), ("https://h.example/x", true),
      ("http://169.254.170.23/v1", true),
    ] {
      let endpoint = EndpointCredentials(
        transport: transport, environment: ["AWS_CONTAINER_CREDENTIALS_FULL_URI": address])
      let found = try? await endpoint.container()
      #expect((found != nil) == isAsked, "\(address)")
    }
    #expect(transport.calls.count == 3)
  }

  @Test("a virtual machine's service is asked for a token first")
  func instance() async throws {
    let transport = ScriptedTransport { sent in
      switch sent.call.target {
      case "/latest/api/token": HTTPReply(status: .ok, body: Array("hunter2".utf8))
      case "/latest/meta-data/iam/security-credentials/": HTTPReply(status: .ok, body: Array("role\n".utf8))
      case "/latest/meta-data/iam/security-credentials/role":
        HTTPReply(status: .ok, body: Array(Self.answer.utf8))
      default: HTTPReply(status: .notFound)
      }
    }
    let found = try await EndpointCredentials(transport: transport, environment: [:]).instance()
    #expect(found.token == Secret("t"))
    #expect(transport.calls.dropFirst().allSatisfy { $0.call.credentials.first?.value == Secret("hunter2") })
  }
}

@Suite struct S3StoreTests {
  @Test func addresses() throws {
    let key = try #require(ObjectKey("k.mp4"))
    let own = try HTTPAddress(parsing: "https://h:9000")
    for (store, address, name) in [
      (try S3Store(bucket: "buck"), "https://buck.s3.us-east-1.amazonaws.com/k.mp4", "s3://buck"),
      (
        try S3Store(bucket: "buck", prefix: "/ä b//c/", region: "cn-north-1"),
        "https://buck.s3.cn-north-1.amazonaws.com.cn/%C3%A4%20b/c/k.mp4", "s3://buck/ä b/c"
      ),
      (
        try S3Store(bucket: "my.buck", region: "eu-west-1"),
        "https://s3.eu-west-1.amazonaws.com/my.buck/k.mp4",
        "s3://my.buck"
      ),
      (
        try S3Store(bucket: "Old_Buck", region: "us-east-1"),
        "https://s3.us-east-1.amazonaws.com/Old_Buck/k.mp4", "s3://Old_Buck"
      ),
      (try S3Store(bucket: "buck", endpoint: own), "https://h:9000/buck/k.mp4", "s3+https://h:9000/buck"),
      (
        try S3Store(bucket: "ten_1:my.buck", prefix: "p", endpoint: own),
        "https://h:9000/ten_1%3Amy.buck/p/k.mp4", "s3+https://h:9000/ten_1:my.buck/p"
      ),
      (
        try S3Store(bucket: "buck", prefix: "p", endpoint: own, usesPaths: false),
        "https://buck.h:9000/p/k.mp4",
        "s3+https://h:9000/buck/p"
      ),
    ] {
      let addressing = S3Addressing(store: store, region: store.region)
      #expect(addressing.origin.description + addressing.path(of: key) == address)
      #expect(store.destination.name == name)
    }
  }

  /// botocore, partitions.json: each partition's suffix and some of its regions.
  @Test(
    "each of Amazon's partitions has its own domain",
    arguments: [
      ("eu-central-1", "amazonaws.com"), ("us-gov-west-1", "amazonaws.com"), ("me-south-1", "amazonaws.com"),
      ("cn-northwest-1", "amazonaws.com.cn"), ("eusc-de-east-1", "amazonaws.eu"),
      ("us-iso-east-1", "c2s.ic.gov"), ("us-isob-west-1", "sc2s.sgov.gov"),
      ("eu-isoe-west-1", "cloud.adc-e.uk"), ("us-isof-south-1", "csp.hci.ic.gov"),
    ])
  func partitions(_ region: String, _ domain: String) throws {
    let addressing = S3Addressing(store: try S3Store(bucket: "buck"), region: region)
    #expect(addressing.origin.description == "https://buck.s3.\(region).\(domain)")
  }

  @Test(arguments: ["", "ab", "a b", "a/b", "a..b", ".ab", "bücket", String(repeating: "a", count: 256)])
  func badBuckets(_ name: String) { #expect(throws: S3StoreError.self) { try S3Store(bucket: name) } }

  @Test(
    "a bucket of another tenant is refused at Amazon and in host names",
    arguments: [
      "ten:buck", "ten:my.buck", ":buck", "ten:", "ten:a:buck", "te-n:buck",
      "arn:aws:s3:us-east-1:1:accesspoint",
    ])
  func tenants(_ name: String) throws {
    let own = try HTTPAddress(parsing: "https://h:9000")
    #expect(throws: S3StoreError.self) { try S3Store(bucket: name) }
    #expect(throws: S3StoreError.self) { try S3Store(bucket: name, endpoint: own, usesPaths: false) }
    guard !name.hasPrefix("ten:") || name.hasSuffix(":") || name.contains("a:") else { return }
    #expect(throws: S3StoreError.self) { try S3Store(bucket: name, endpoint: own) }
  }

  @Test(
    "a bucket name with a special meaning elsewhere is refused, with advice on what to name instead",
    arguments: [
      ("vids--usw2-az1--x-s3", "general purpose"), ("arn:aws:s3::1:accesspoint", "one of its buckets"),
      ("arn:aws:s3:eu-west-1:1:accesspoint", "alias"),
    ])
  func unsupported(_ name: String, _ advice: String) throws {
    let error = #expect(throws: S3StoreError.self) { try S3Store(bucket: name) }
    #expect(error?.message.contains(advice) == true, "\(error?.message ?? "")")
  }

  @Test(arguments: ["Old_Buck", "old_buck", String(repeating: "a", count: 64)])
  func noHostsName(_ bucket: String) {
    #expect(throws: S3StoreError.self) { try S3Store(bucket: bucket, usesPaths: false) }
  }

  @Test func badPrefixesRegionsEndpoints() throws {
    for prefix in ["..", "a/../b", "./a", "a\nb"] {
      #expect(throws: S3StoreError.self) { try S3Store(bucket: "buck", prefix: prefix) }
    }
    let own = try HTTPAddress(parsing: "https://h")
    for region in ["evil.example/", "us_east_1", "", "-a", "NL\n"] {
      for endpoint in [nil, own] {
        #expect(throws: S3StoreError.self) {
          try S3Store(bucket: "buck", endpoint: endpoint, region: region)
        }
      }
    }
    // The region is part of Amazon's host name, but of no other host's.
    #expect(throws: S3StoreError.self) { try S3Store(bucket: "buck", region: "RegionOne") }
    #expect(try S3Store(bucket: "buck", endpoint: own, region: "RegionOne").region == "RegionOne")
    let address = try HTTPAddress(parsing: "https://h/path")
    #expect(throws: S3StoreError.self) { try S3Store(bucket: "buck", endpoint: address) }
  }

  @Test(
    "a signed address expires no later than its credentials, and a shortened one is reported once",
    arguments: [
      (900, true, 604_800, 900, "900 s"), (900, true, 900, 900, nil), (900, true, 60, 60, nil),
      (-5, true, 60, 1, "1 s"), (nil, true, 604_800, 604_800, "session token"), (nil, true, 3600, 3600, nil),
      (nil, false, 604_800, 604_800, nil),
    ] as [(Double?, Bool, Int, Int, String?)])
  func ends(left: Double?, hasToken: Bool, wanted: Int, seconds: Int, notice: String?) async throws {
    let told = Mutex<[String]>([])
    let clock = StoppedClock()
    let credentials = S3Credentials(
      keyID: "id", secret: Secret("s"), token: hasToken ? Secret("t") : nil,
      expires: left.map { clock.now().addingTimeInterval($0) })
    let store = S3Uploader(
      try #require(FakeS3.store), options: S3Options(), transport: FakeS3().transport(),
      credentials: FixedCredentials(credentials), clock: clock
    ) { sentence in told.withLock { $0.append(sentence) } }
    let key = try #require(ObjectKey("k.mp4"))
    for _ in 0..<2 {
      let address = try await store.presignedURL(of: key, seconds: wanted)
      #expect(address.contains("X-Amz-Expires=\(seconds)&"))
    }
    let sentences = told.withLock { $0 }
    #expect(sentences.count == (notice == nil ? 0 : 1))
    #expect(sentences.allSatisfy { $0.contains(notice ?? "") }, "\(sentences)")
  }

  @Test("a viewer's address is the store's, a custom one, or signed")
  func viewing() async throws {
    let key = try #require(ObjectKey("k.mp4"))
    let transport = FakeS3().transport()
    for (viewing, prefix) in [
      (S3Viewing.address, "https://s3.test/bucket/a/b/k.mp4"),
      (.publicBase("https://cdn.example/v/"), "https://cdn.example/v/k.mp4"),
      (
        .presigned(seconds: 60),
        "https://s3.test/bucket/a/b/k.mp4?X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential="
      ),
    ] {
      let uploader = try uploader(transport, S3Options(viewing: viewing))
      let object = try await uploader.upload(TestSource(size: 3).upload, to: key) { _ in }
      #expect(viewing == .address ? object.url == prefix : object.url.hasPrefix(prefix))
      try await uploader.remove(key)
    }
  }
}
