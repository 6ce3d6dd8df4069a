import Foundation
import ReelCore
import ReelFakeGoogle
import ReelHTTPFakes
import ReelStorage
import ReelTestSupport
import Testing

@testable import ReelRemoteStorage

/// The key, the tokens and the addresses of uploads never appear in errors or output.
@Suite(.shortTime) struct SecretTests {
  @Test(
    "errors contain no secret, whatever the services reply",
    arguments: [
      "POST /token", "GET /storage", "POST /upload", "PUT", "DELETE", ":beginTransaction", ":batchGet",
      ":commit",
    ])
  func errors(to words: String) async throws {
    let key = try #require(ObjectKey("k.mp4"))
    var told: [String] = []
    var tokens: Set<String> = []
    for status in [200, 301, 400, 401, 403, 404, 409, 410, 412, 413, 429, 499, 500, 503, 507] {
      let fake = try await FakeGoogle.start()
      let checkpoints = MemoryCheckpoints()
      fake.break_(.init(words: words, effect: .status(status, "<html>")))
      let uploader = try await fake.uploader(checkpoints)
      let posts = try await fake.posts()
      for task in [
        { try await uploader.prepare() },
        { _ = try await uploader.upload(TestContent(300_000).source, to: key) { _ in } },
        { _ = try await uploader.readBack(key) }, { try await uploader.remove(key) },
        { _ = try await posts.record(try newPost()) },
      ] as [() async throws -> Void] {
        do { try await task() } catch {
          told.append("\(error) \(String(reflecting: error))")
          if let error = error as? UploadError {
            told.append(String(decoding: try JSONEncoder().encode(error), as: UTF8.self))
          }
        }
      }
      tokens.formUnion(fake.state.withLock { Set($0.tokens.keys) })
    }
    #expect(!told.isEmpty && (!tokens.isEmpty || words == "POST /token"))
    let secrets = tokens.union([FakeGoogle.sessionMark, "PRIVATE KEY", "assertion", "ya29"])
    for text in told { for secret in secrets { #expect(!text.contains(secret), "\(secret) in \(text)") } }
  }

  @Test("printing or dumping a value reveals no secret")
  func dumps() async throws {
    let fake = try await FakeGoogle.start()
    let checkpoints = MemoryCheckpoints()
    let file = try ServiceAccountKey(TestKey.file("\(fake.origin)"), path: "k.json")
    let tokens = try await ServiceAccountTokens(file, transport: try CurlTransport.patient())
    let token = try await tokens.token()
    fake.break_(.init(words: "PUT", nth: 2, effect: .reset))
    let uploader = try await fake.uploader(checkpoints)
    let key = try #require(ObjectKey("k.mp4"))
    await #expect(throws: UploadError.self) {
      try await uploader.upload(TestContent(1 << 19).source, to: key) { _ in }
    }
    let checkpoint = try #require(try await checkpoints.checkpoint(of: key, in: uploader.destination))
    #expect(checkpoint.secret.contains(FakeGoogle.sessionMark))
    let session = try #require(StorageSession(checkpoint.secret))
    var texts: [String] = []
    for value in [file, tokens, token, uploader, checkpoint, session] as [Any] {
      var dumped = ""
      dump(value, to: &dumped)
      texts += [dumped, "\(value)", String(reflecting: value)]
    }
    let line = TestKey.pem.split(separator: "\n")[1]
    for text in texts {
      for secret in ["PRIVATE KEY", String(line), token.revealed, FakeGoogle.sessionMark] {
        let found = text.range(of: secret).map { text[..<$0.upperBound].suffix(200) }
        #expect(found == nil, "\(found ?? "")")
      }
    }
  }
}
