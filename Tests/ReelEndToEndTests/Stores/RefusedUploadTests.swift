import Foundation
import ReelHTTPFakes
import ReelTestSupport
import Synchronization
import Testing

/// A store's refusal is no evidence against a file: `reel watch` leaves the file where it is.
@Suite("a store that refuses", .shortTime, .notQuick)
struct RefusedUploadTests {
  /// A bucket that refuses as specified until it is opened.
  private final class Bucket: Sendable {
    private let isOpen = Mutex(false)
    private let count = Mutex(0)
    var refusals: Int { count.withLock { $0 } }
    func open() { isOpen.withLock { $0 = true } }

    func answer(_ request: ReceivedRequest, _ refusal: ServerAction, most: Int) -> ServerAction {
      switch request.method {
      case "GET":
        return .reply(
          200, headers: [("content-type", "application/xml")],
          body: Array("<ListBucketResult><IsTruncated>false</IsTruncated></ListBucketResult>".utf8))
      case "HEAD": return .reply(404)
      case "DELETE": return .reply(204)
      default:
        if request.body.count > most, !isOpen.withLock({ $0 }) {
          count.withLock { $0 += 1 }
          return refusal
        }
        return .reply(200, headers: [("etag", entityTag(request.body))])
      }
    }
  }

  private static func error(_ status: Int, _ code: String) -> ServerAction {
    .reply(
      status, headers: [("content-type", "application/xml")],
      body: Array("<Error><Code>\(code)</Code><Message>because of \(code)</Message></Error>".utf8))
  }

  @Test(
    "a good video stays where it is, and is published once the store accepts it",
    arguments: [
      (400, "InvalidArgument", 0), (400, "XMinioAdminBucketQuotaExceeded", 100), (402, "PaymentRequired", 0),
      (405, "MethodNotAllowed", 0), (411, "MissingContentLength", 0), (413, "EntityTooLarge", 100),
      (422, "Unprocessable", 0), (501, "NotImplemented", 0), (307, "TemporaryRedirect", 0),
      (400, "KMS.DisabledException", 100), (403, "AccessDenied", 100), (400, "EntityTooLarge", 0),
    ] as [(Int, String, Int)])
  func watched(_ status: Int, _ code: String, _ most: Int) async throws {
    let bucket = Bucket()
    let server = try await LoopbackServer.start { bucket.answer($0, Self.error(status, code), most: most) }
    let scene = try WatchScene(reader: .real)
    try WatchScene.video(1).write(to: scene.bench.clips.appendingPathComponent("good.mp4"))
    try Data("no video".utf8).write(to: scene.bench.clips.appendingPathComponent("text.mp4"))
    let watch = try scene.start(
      [
        "--to", "s3+http://127.0.0.1:\(server.port)/bucket", "--after", "move:done", "--reject", "move:no",
        "--settle",
        "0.3",
      ], environment: ["AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret"])
    // More than once, since a refused upload is retried. Meanwhile a file that is not a video still fails by itself.
    try await watch.until { bucket.refusals > 1 && scene.files("no").contains("text.mp4.txt") }
    #expect(scene.files("clips") == ["good.mp4"])
    bucket.open()
    try await watch.until { try scene.posts() == 1 && scene.files("done") == ["good.mp4"] }
    watch.send(SIGTERM)
    let outcome = try await watch.outcome()
    #expect(scene.files("no") == ["text.mp4", "text.mp4.txt"], "\(outcome)")
    await server.stop()
  }

  @Test("a store that refuses every file ends a run at the first, and its own words are quoted")
  func ingested() async throws {
    let bucket = Bucket()
    let server = try await LoopbackServer.start {
      bucket.answer($0, Self.error(400, "InvalidArgument"), most: 0)
    }
    let bench = try Workbench()
    try bench.addDistinct(40)
    let outcome = try await ReelBinary.run(
      [
        "ingest", "clips", "--to", "s3+http://127.0.0.1:\(server.port)/bucket", "--library",
        bench.library.path, "--jobs", "1",
      ],
      in: bench.folder, environment: ["AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret"])
    #expect(outcome.status != 0)
    let said = outcome.errors + outcome.output
    #expect(said.contains("because of InvalidArgument") && said.contains("refuses every object"), "\(said)")
    await server.stop()
  }

  @Test("the reason for a rejected file contains nothing that a terminal would interpret")
  func explanations() async throws {
    let scene = try WatchScene(reader: .real)
    let name = "te\u{1b}[31m\u{7}xt\u{202e}.mp4"
    try Data("no video".utf8).write(to: scene.bench.clips.appendingPathComponent(name))
    let watch = try scene.start(["--reject", "move:no", "--settle", "0.3"])
    try await watch.until { scene.files("no").contains { $0.hasSuffix(".txt") } }
    watch.send(SIGTERM)
    _ = try await watch.outcome()
    let text = try String(
      contentsOf: scene.bench.folder.appendingPathComponent("no/\(name).txt"), encoding: .utf8)
    #expect(
      text.hasSuffix("]\n") && text.dropLast().unicodeScalars.allSatisfy { !$0.properties.isBidiControl })
    #expect(
      text.dropLast().unicodeScalars.allSatisfy { $0.properties.generalCategory != .control }, "\(text)")
    #expect(text.contains(#"\x1b"#), "\(text)")
  }
}
