import Foundation
import ReelCore
import ReelFakeGoogle
import ReelHTTPFakes
import ReelStorage
import ReelTestSupport
import Synchronization
import Testing

@testable import ReelRemoteStorage

/// Keys of service accounts, and the tokens obtained with them.
@Suite(.shortTime) struct TokenTests {
  // MARK: Key files

  private func failure(_ bytes: [UInt8]) -> UploadError? {
    #expect(throws: UploadError.self) { try ServiceAccountKey(bytes, path: "/keys/k.json") }
  }

  @Test("an invalid key is reported in one sentence that quotes nothing of it")
  func badKeys() {
    let origin = "https://oauth2.googleapis.com"
    for (bytes, words) in [
      (Array("-----BEGIN PRIVATE KEY-----".utf8), "is not the JSON of one"), ([], "is not the JSON of one"),
      (Array("[1]".utf8), "is not the JSON of one"),
      (Array("{\"private_key\":7}".utf8), "is not the JSON of one"),
      (TestKey.file(origin, changing: ["type": "authorized_user"]), "of the kind \"authorized_user\""),
      (TestKey.file(origin, changing: ["private_key": nil]), "lacks private_key"),
      (
        TestKey.file(origin, changing: ["private_key": "", "client_email": nil]),
        "lacks client_email and private_key"
      ),
      (TestKey.file("ftp://x"), "has a token_uri that can't be used"),
      (TestKey.file("https://u:p@host"), "has a token_uri that can't be used"),
    ] as [([UInt8], String)] {
      let error = failure(bytes)
      #expect(
        error?.code == .storeUnusable && error?.message.contains(words) == true, "\(error?.message ?? "")")
      #expect(error?.message.contains("/keys/k.json") == true)
      #expect(error?.message.contains("PRIVATE") == false)
    }
  }

  @Test("private_key must be an RSA key of at least 2048 bits")
  func noRSA() async throws {
    let small = try TestRSAKey(bits: 1024).pem
    for (pem, words) in [
      ("no PEM", "it is not PEM"), (small, "it has 1024 bits"),
      (TestKey.pem.replacing("A", with: "B"), "it is labelled PRIVBTE KEY"),
      (TestKey.pem.replacing(" PRIVATE", with: " RSA PRIVATE"), "it is PKCS#1, not PKCS#8"),
      (TestKey.pem.replacing(" PRIVATE", with: " ENCRYPTED PRIVATE"), "it is encrypted"),
    ] {
      let key = try ServiceAccountKey(
        TestKey.file("https://x", changing: ["private_key": pem]), path: "k.json")
      let error = await #expect(throws: UploadError.self) {
        try await ServiceAccountTokens(key, transport: try CurlTransport.patient())
      }
      #expect(error?.code == .storeUnusable && error?.message.contains("no RSA key") == true)
      #expect(error?.message.contains("(\(words)") == true, "\(error?.message ?? "")")
      #expect(error?.message.contains(pem) == false)
    }
  }

  @Test("a key file must exist, be a regular file and be readable by its owner only")
  func files() async throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: "reel-key-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let path = folder.appending(path: "k.json").path
    try Data(TestKey.file("https://x")).write(to: URL(filePath: path))
    for mode in [0o600, 0o400] {
      try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
      #expect(try await ServiceAccountKey.read(path).email == FakeGoogle.email)
    }
    func words(_ path: String) async -> String {
      await #expect(throws: UploadError.self) { try await ServiceAccountKey.read(path) }?.message ?? ""
    }
    for mode in [0o644, 0o604, 0o620, 0o610] {
      try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
      let told = await words(path)
      #expect(told.contains("can be read or changed by others") && told.contains("chmod 600"), "\(told)")
      #expect(told.contains(String(mode, radix: 8)))
    }
    #expect(await words(folder.path).contains("not a regular file"))
    #expect(await words(path + "x").contains("is not there"))
    try Data(count: 70_000).write(to: URL(filePath: path + "2"))
    try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path + "2")
    #expect(await words(path + "2").contains("70000 bytes"))
  }

  /// libpq, "SSL Client Usage": a key owned by root may be readable for a group, any other for its owner only.
  @Test("root may let a group read a key, as with a secret mounted into a container")
  func roots() {
    for (owner, mode, isTaken) in [
      (0, 0o600, true), (0, 0o400, true), (0, 0o640, true), (0, 0o440, true), (0, 0o444, false),
      (0, 0o644, false), (0, 0o660, false), (0, 0o450, false), (1000, 0o600, true), (1000, 0o400, true),
      (1000, 0o640, false), (1000, 0o440, false), (1000, 0o444, false),
    ] as [(uid_t, mode_t, Bool)] {
      var status = stat()
      (status.st_uid, status.st_mode, status.st_size) = (owner, S_IFREG | mode, 2000)
      let told = KeyFile.objection(to: status)?.description
      #expect((told == nil) == isTaken, "\(owner) \(String(mode, radix: 8)) \(told ?? "")")
      guard let told else { continue }
      #expect(told.contains(String(mode, radix: 8)) && told.contains("chmod 600"))
      #expect(told.contains("mode: 0400") == (owner == 0) && told.contains("uid:") == (owner == 0))
    }
  }

  // MARK: Tokens

  @Test(
    "the token address is requested, and named in the signed claims, exactly as written",
    arguments: ["/token", "/token/", "/token/?tenant=a%2Fb", "/?x"])
  func tokenAddress(_ target: String) async throws {
    let transport = ScriptedTransport { _ in
      HTTPReply(status: .ok, body: Array(#"{"access_token": "t", "expires_in": 3600}"#.utf8))
    }
    let key = try ServiceAccountKey(
      TestKey.file("https://x", changing: ["token_uri": "https://x\(target)"]), path: "k")
    _ = try await ServiceAccountTokens(key, transport: transport).token()
    let sent = try #require(transport.calls.first)
    #expect(sent.call.target == target)
    let parts = String(decoding: sent.body, as: UTF8.self).split(separator: ".")
    var claims = String(try #require(parts.dropFirst().first)).replacing("-", with: "+").replacing(
      "_", with: "/")
    while claims.count % 4 != 0 { claims += "=" }
    let said = try JSONSerialization.jsonObject(with: #require(Data(base64Encoded: claims))) as? [String: Any]
    #expect(said?["aud"] as? String == "https://x\(target)")
  }

  @Test("one token serves all requests until shortly before it expires")
  func remembered() async throws {
    let fake = try await FakeGoogle.start()
    let clock = TestClock()
    let tokens = try await fake.tokens(try CurlTransport.patient(), clock: clock)
    let all = try await withThrowingTaskGroup { group in
      for _ in 0..<20 { group.addTask { try await tokens.token() } }
      return try await group.reduce(into: Set()) { $0.insert($1) }
    }
    #expect(all.count == 1 && fake.state.withLock { $0.tokensGiven } == 1)
    clock.advance(by: 290)
    #expect(try await tokens.token() == all.first)
    // The fake accepts only a claim made now.
    clock.advance(by: -290)
    await tokens.forget(Secret("another"))
    #expect(try await tokens.token() == all.first)
    try await tokens.forget(#require(all.first))
    #expect(try await tokens.token() != all.first)
  }

  /// Counts requests.
  private final class Requests: Sendable {
    private let count = Atomic(0)
    var asked: Int { count.load(ordering: .relaxed) }
    func next() -> Int { count.add(1, ordering: .relaxed).newValue }
  }

  /// A token server that counts its requests. Each answered request returns a token named after its number, `t1` the
  /// first, valid for an hour.
  private func numberedTokens(
    _ clock: TestClock, answering isAnswered: @escaping @Sendable (Int) -> Bool = { _ in true }
  ) async throws -> (ServiceAccountTokens, Requests) {
    let requests = Requests()
    let transport = ScriptedTransport { _ throws(HTTPFailure) in
      let number = requests.next()
      guard isAnswered(number) else { return HTTPReply(status: .serviceUnavailable) }
      return HTTPReply(
        status: .ok,
        body: Array(#"{"access_token":"t\#(number)","expires_in":3600,"token_type":"Bearer"}"#.utf8))
    }
    let key = try ServiceAccountKey(TestKey.file("http://127.0.0.1:9"), path: "k.json")
    return (try await ServiceAccountTokens(key, transport: transport, clock: clock), requests)
  }

  @Test("a token is renewed before it expires")
  func renewed() async throws {
    let clock = TestClock()
    let (tokens, _) = try await numberedTokens(clock)
    #expect(try await tokens.token() == Secret("t1"))
    clock.advance(by: 3299)
    #expect(try await tokens.token() == Secret("t1"))
    clock.advance(by: 2)
    #expect(try await tokens.token() == Secret("t2"))
  }

  @Test(
    "a failed renewal does not discard a token that is still valid, and is not repeated with every request")
  func renewalFails() async throws {
    let clock = TestClock()
    let (tokens, requests) = try await numberedTokens(clock) { $0 == 1 || $0 == 4 }
    #expect(try await tokens.token() == Secret("t1"))
    clock.advance(by: 3301)
    for _ in 0..<5 { #expect(try await tokens.token() == Secret("t1")) }
    #expect(requests.asked == 2)
    clock.advance(by: 11)
    #expect(try await tokens.token() == Secret("t1") && requests.asked == 3)
    clock.advance(by: 11)
    #expect(try await tokens.token() == Secret("t4"))
    // A token about to expire is not used: the failure is reported.
    clock.advance(by: 3571)
    let error = await #expect(throws: UploadError.self) { try await tokens.token() }
    #expect(error?.code == .unavailable)
  }

  @Test("a token that expires in the middle of a run is renewed, and nothing is lost")
  func endsMidway() async throws {
    let fake = try await FakeGoogle.start()
    fake.state.withLock { $0.tokenUses = 3 }
    let content = TestContent(3 << 20 + 5)
    let uploader = try await fake.uploader()
    let posts = try await fake.posts()
    for name in ["a.mp4", "b.mp4", "c.mp4"] {
      let key = try #require(ObjectKey(name))
      _ = try await uploader.upload(content.source, to: key) { _ in }
      #expect(fake.object(key)?.bytes == content.bytes)
      _ = try await posts.record(try newPost())
    }
    #expect(fake.ids(in: "Post").count == 3)
    #expect(fake.state.withLock { $0.tokensGiven } >= 7)
  }

  @Test("a key that Google rejects is reported in one sentence, which blames the clock where that is wrong")
  func refused() async throws {
    let fake = try await FakeGoogle.start(key: try TestRSAKey(bits: 2048))
    let wrong = await #expect(throws: UploadError.self) { try await fake.uploader().prepare() }
    #expect(wrong?.code == .storeUnusable)
    #expect(wrong?.message.contains("Invalid JWT Signature.") == true, "\(wrong?.message ?? "")")
    #expect(wrong?.message.contains(FakeGoogle.email) == true)

    let clock = TestClock()
    let late = ScriptedTransport { _ throws(HTTPFailure) in
      HTTPReply(
        status: .badRequest, fields: [.date: "Sat, 21 Nov 2026 20:15:58 GMT"],
        body: Array(#"{"error":"invalid_grant","error_description":"Invalid JWT"}"#.utf8))
    }
    let key = try ServiceAccountKey(TestKey.file("http://127.0.0.1:9"), path: "k.json")
    clock.set(Date(timeIntervalSince1970: 1_795_292_158 - 1000))
    let tokens = try await ServiceAccountTokens(key, transport: late, clock: clock)
    let off = await #expect(throws: UploadError.self) { try await tokens.token() }
    #expect(off?.message.contains("clock is 1000 seconds behind") == true, "\(off?.message ?? "")")
  }

  @Test("no token is sent to another host, whoever redirects there")
  func redirects() async throws {
    let fake = try await FakeGoogle.start()
    let other = try await LoopbackServer.start { _ in .reply(200) }
    let elsewhere = "http://127.0.0.1:\(other.port)/elsewhere"
    let redirecting = try await LoopbackServer.start { _ in .reply(307, headers: [("Location", elsewhere)])
    }
    let transport = try CurlTransport.patient()
    let origin = HTTPOrigin(isSecure: false, host: "127.0.0.1", port: redirecting.port)
    let uploader = FirebaseUploader(
      try StorageBucket("my-app", emulator: origin), transport: transport,
      tokens: try await fake.tokens(transport), checkpoints: MemoryCheckpoints())
    let error = await #expect(throws: UploadError.self) { try await uploader.prepare() }
    #expect(
      error?.message.contains("redirects to http://127.0.0.1:\(other.port),") == true,
      "\(error?.message ?? "")")
    #expect(other.requests.isEmpty)
    // A session at another host is not used, either.
    let naming = try await LoopbackServer.start { request in
      request.method == "POST"
        ? .reply(200, headers: [("Location", elsewhere)]) : .reply(404)
    }
    let there = HTTPOrigin(isSecure: false, host: "127.0.0.1", port: naming.port)
    let second = FirebaseUploader(
      try StorageBucket("my-app", emulator: there), transport: transport,
      tokens: try await fake.tokens(transport), checkpoints: MemoryCheckpoints())
    let key = try #require(ObjectKey("k.mp4"))
    let refused = await #expect(throws: UploadError.self) {
      try await second.upload(TestContent(10).source, to: key) { _ in }
    }
    #expect(refused?.code == .storeUnusable && other.requests.isEmpty)
  }
}

/// A wall clock that a test sets.
final class TestClock: WallClock {
  private let date = Mutex(Date())
  func now() -> Date { date.withLock { $0 } }
  func set(_ new: Date) { date.withLock { $0 = new } }
  func advance(by seconds: Double) { date.withLock { $0 += seconds } }
}
