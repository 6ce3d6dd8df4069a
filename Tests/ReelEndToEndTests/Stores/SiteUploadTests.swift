import Foundation
import ReelHTTPFakes
import ReelTestSupport
import Synchronization
import Testing

/// A bucket's server, as far as a site needs one.
private final class SmallBucket: Sendable {
  struct Object: Sendable {
    let bytes: [UInt8]
    let type: String?
    let caching: String?
  }
  private struct State: Sendable {
    var objects: [String: Object] = [:]
    var log: [String] = []
    var putsBefore: Int?
    var action = ServerAction.close
  }
  private let state = Mutex(State())

  var objects: [String: Object] { state.withLock { $0.objects } }

  /// Returns the objects uploaded and removed since the last call, in order.
  func takeLog() -> [String] {
    state.withLock { state in
      defer { state.log = [] }
      return state.log
    }
  }

  /// Answers uploads with `action` after `puts` more objects; nil for never.
  func refuse(after puts: Int?, _ action: ServerAction = .close) {
    state.withLock { ($0.putsBefore, $0.action) = (puts, action) }
  }

  func add(_ name: String) {
    state.withLock { $0.objects[name] = Object(bytes: [1], type: nil, caching: nil) }
  }

  func remove(_ name: String) { state.withLock { $0.objects[name] = nil } }

  func answer(_ request: ReceivedRequest) -> ServerAction {
    let parts = URLComponents(string: request.target)
    let name = String((parts?.path ?? "").dropFirst("/bucket/".count))
    return state.withLock { state in
      switch request.method {
      case "PUT":
        if let left = state.putsBefore {
          guard left > 0 else { return state.action }
          state.putsBefore = left - 1
        }
        state.log.append(name)
        state.objects[name] = Object(
          bytes: request.body, type: request.header("content-type"), caching: request.header("cache-control"))
        return .reply(200, headers: [("ETag", entityTag(request.body))])
      case "DELETE":
        state.log.append("-" + name)
        state.objects[name] = nil
        return .reply(204)
      default:
        let prefix = parts?.queryItems?.first { $0.name == "prefix" }?.value ?? ""
        let listed = state.objects.filter { $0.key.hasPrefix(prefix) }.map { name, object in
          "<Contents><Key>\(name)</Key><ETag>\(entityTag(object.bytes))</ETag><Size>\(object.bytes.count)</Size></Contents>"
        }
        return .reply(200, body: Array("<ListBucketResult>\(listed.joined())</ListBucketResult>".utf8))
      }
    }
  }
}

/// A library with some posts, and a bucket for their page.
private struct SiteBench: Sendable {
  let bench: Workbench
  let bucket = SmallBucket()
  let server: LoopbackServer

  init(posts: Int) async throws {
    bench = try Workbench(reader: .fake)
    let bucket = bucket
    server = try await LoopbackServer.start { bucket.answer($0) }
    try await publish(posts)
  }

  /// Publishes clips until there are `count` posts.
  func publish(_ count: Int) async throws {
    try bench.addDistinct(count)
    #expect(try await bench.reel("ingest", "clips").status == 0)
  }

  var arguments: [String] {
    [
      "page", "-o", "site", "--size", "2", "--library", bench.library.path, "--to",
      "s3+http://127.0.0.1:\(server.port)/bucket/my/site",
    ]
  }
  static let keys = ["AWS_ACCESS_KEY_ID": "key-of-a-test", "AWS_SECRET_ACCESS_KEY": "secret-of-a-test"]

  func page(_ more: String...) async throws -> ReelBinary.Outcome {
    try await ReelBinary.run(arguments + more, in: bench.folder, environment: Self.keys)
  }

  /// Checks that the bucket has everything in the folder, byte for byte.
  func expectWhole() throws {
    let site = bench.folder.appendingPathComponent("site")
    let names = try FileManager.default.subpathsOfDirectory(atPath: site.path).filter {
      !$0.hasSuffix("media") && $0 != "feed"
    }
    #expect(Set(bucket.objects.keys) == Set(names.map { "my/site/" + $0 }))
    for name in names {
      let bytes = try Data(contentsOf: site.appendingPathComponent(name))
      #expect(bucket.objects["my/site/" + name]?.bytes == Array(bytes), "\(name)")
    }
  }
}

@Suite("A site in a bucket", .shortTime)
struct SiteUploadTests {
  @Test("is uploaded in an order that keeps it consistent, and later only as far as it has changed")
  func order() async throws {
    let site = try await SiteBench(posts: 5)
    let bucket = site.bucket
    let first = try await site.page("--media", "copy")
    #expect(first.status == 0, "\(first.errors)")
    #expect(first.output.contains("/bucket/my/site: 17 files uploaded ("), "\(first.output)")
    #expect(first.output.contains("/bucket/my/site/index.html"))
    try site.expectWhole()
    let order = bucket.takeLog().map { $0.dropFirst("my/site/".count) }
    #expect(order.count == 17 && order.prefix(5).allSatisfy { $0.hasPrefix("media/") })
    #expect(
      Set(order.dropFirst(5).prefix(9)) == [
        "style.css", "script.js", "icon.svg", "feed/1.js", "feed/1.json", "feed/2.js", "feed/2.json",
        "feed/3.js",
        "feed/3.json",
      ])
    #expect(Set(order.suffix(3).dropLast()) == ["feed/index.js", "feed/index.json"])
    #expect(order.last == "index.html")
    for (name, object) in bucket.objects where name.contains("/media/") {
      #expect(object.type == "video/mp4")
    }
    let page = bucket.objects["my/site/index.html"]
    #expect(page?.type == "text/html; charset=utf-8" && page?.caching == "no-cache")

    let nothing = try await site.page("--json")
    let upload = try nothing.object()["upload"] as? [String: Any]
    #expect(upload?["uploaded"] as? Int == 0 && upload?["unchanged"] as? Int == 17, "\(nothing.output)")
    #expect(bucket.takeLog().isEmpty)
    #expect(try await site.page().output.contains("nothing to upload: "))

    try await site.publish(6)
    let next = try await site.page()
    #expect(
      next.output.contains("5 files uploaded (") && next.output.contains("), 13 there already"),
      "\(next.output)")
    let changed = bucket.takeLog()
    #expect(changed[0].hasPrefix("my/site/media/"))
    #expect(
      Set(changed.dropFirst()) == [
        "my/site/feed/3.js", "my/site/feed/3.json", "my/site/feed/index.js", "my/site/feed/index.json",
      ])
    // An object that somebody has removed there is uploaded again.
    bucket.remove("my/site/script.js")
    #expect(try await site.page().status == 0)
    try site.expectWhole()
    await site.server.stop()
  }

  @Test("that has fewer pages than before loses the old ones once no index names them, and nothing else")
  func fewer() async throws {
    let site = try await SiteBench(posts: 5)
    #expect(try await site.page("--media", "copy").status == 0)
    for name in ["feed/notes.txt", "feed/09.js", "9.js"] { site.bucket.add("my/site/" + name) }
    _ = site.bucket.takeLog()
    let fewer = try await site.page("--size", "3")
    #expect(fewer.status == 0 && fewer.output.contains(", 2 removed"), "\(fewer.output) \(fewer.errors)")
    let log = site.bucket.takeLog()
    #expect(Set(log.suffix(2)) == ["-my/site/feed/3.js", "-my/site/feed/3.json"])
    #expect(site.bucket.objects["my/site/feed/notes.txt"] != nil)
    await site.server.stop()
  }

  @Test("loses the videos of removed posts, also of an earlier run without upload, and no others")
  func removed() async throws {
    let site = try await SiteBench(posts: 5)
    #expect(try await site.page("--media", "copy").status == 0)
    site.bucket.add("my/site/media/somebody-elses.mp4")
    // The newest post, whose page goes with it, and one on another page.
    let posts = try await site.bench.feed()
    let videos = try [2, 0].map { try #require(posts[$0]["id"] as? String) }
    let names = try [2, 0].map { "my/site/media/" + (try #require(posts[$0]["video"] as? String)) }
    #expect(names.allSatisfy { site.bucket.objects[$0] != nil })
    #expect(try await site.bench.reel("remove", videos[0], "--keep", "1d").status == 0)
    // This run does not upload to the bucket.
    #expect(try await site.bench.reel("page", "-o", "site").status == 0)
    #expect(site.bucket.objects[names[0]] != nil)
    #expect(try await site.bench.reel("remove", videos[1]).status == 0)
    let page = try await site.page()
    #expect(page.status == 0 && page.output.contains(", 4 removed"), "\(page.output) \(page.errors)")
    #expect(names.allSatisfy { site.bucket.objects[$0] == nil })
    #expect(site.bucket.objects["my/site/media/somebody-elses.mp4"] != nil)
    #expect(site.bucket.objects.keys.count { $0.hasPrefix("my/site/media/") } == 4)
    // A restored video is uploaded again, and stays.
    #expect(try await site.bench.reel("restore", videos[0]).status == 0)
    #expect(try await site.page().status == 0)
    #expect(site.bucket.objects[names[0]] != nil && site.bucket.objects[names[1]] == nil)
    #expect(try await site.page().output.contains("nothing to upload: "))
    await site.server.stop()
  }

  @Test("an upload that broke off anywhere is completed by the same command", arguments: [0, 3, 7, 14, 16])
  func broken(puts: Int) async throws {
    let site = try await SiteBench(posts: 5)
    let denial = Array("<Error><Code>AccessDenied</Code></Error>".utf8)
    site.bucket.refuse(after: puts, .reply(403, body: denial))
    let broken = try await site.page("--media", "copy")
    #expect(broken.status == 1, "\(broken.output) \(broken.errors)")
    #expect(broken.errors.contains("my/site") && broken.errors.contains("s3:PutObject"), "\(broken.errors)")
    #expect(!broken.errors.contains("secret-of-a-test"))
    #expect(site.bucket.objects.count == puts)
    site.bucket.refuse(after: nil)
    let again = try await site.page()
    #expect(again.status == 0 && again.output.contains(" \(17 - puts) file"), "\(again.output)")
    try site.expectWhole()
    await site.server.stop()
  }

  /// A server that is silent for a minute is given up.
  @Test("ends when interrupted, and continues with the same command", .ownThread)
  func interrupted() async throws {
    let site = try await SiteBench(posts: 5)
    site.bucket.refuse(after: 8, .silence)
    let running = try ReelBinary.start(
      site.arguments + ["--media", "copy"], in: site.bench.folder, environment: SiteBench.keys)
    try await running.until { site.server.requests.count { $0.method == "PUT" } >= 9 }
    running.send(SIGINT)
    let ended = try await running.outcome()
    #expect(ended.status == 130, "\(ended.errors)")
    #expect(ended.errors.contains(" uploaded (") && ended.errors.contains("run the same command again"))
    let puts = site.bucket.objects.count
    site.bucket.refuse(after: nil)
    let again = try await site.page()
    #expect(puts >= 8 && again.output.contains("\(17 - puts) files uploaded ("), "\(ended) \(again)")
    try site.expectWhole()
    await site.server.stop()
  }

  @Test("is refused where it would show nothing, over another page, and for what is not a bucket")
  func refused() async throws {
    let site = try await SiteBench(posts: 2)
    let local = try await site.page()
    #expect(local.status == 1 && local.errors.contains("--media copy"), "\(local.errors)")
    #expect(local.output.contains("2 of them new") && site.server.requests.isEmpty)
    site.bucket.add("my/site/index.html")
    let foreign = try await site.page("--media", "copy")
    #expect(foreign.status == 1 && foreign.errors.contains("name another prefix"), "\(foreign.errors)")
    #expect(site.bucket.takeLog().isEmpty)
    for to in ["folder", "tus+https://host/files/", "firebase://bucket", "command:./x"] {
      let other = try await ReelBinary.run(
        ["page", "-o", "other", "--to", to, "--library", site.bench.library.path], in: site.bench.folder)
      #expect(
        other.status == 64 && other.errors.contains("--to s3://bucket/prefix"), "\(to): \(other.errors)")
    }
    let keyless = try await site.bench.reel("page", "-o", "other", "--to", "s3://bucket/site")
    #expect(keyless.status == 1 && keyless.errors.contains("AWS_ACCESS_KEY_ID"), "\(keyless.errors)")
    #expect(!FileManager.default.fileExists(atPath: site.bench.folder.appendingPathComponent("other").path))
    await site.server.stop()
  }

  @Test("of a library with another store goes to the named bucket, not to the library's")
  func settings() async throws {
    let site = try await SiteBench(posts: 1)
    let ownTo = ["REEL_TO": "s3+http://127.0.0.1:1/own"]
    let page = try await ReelBinary.run(
      site.arguments + ["--media", "copy"], in: site.bench.folder,
      environment: SiteBench.keys.merging(ownTo) { $1 })
    #expect(page.status == 0, "\(page.errors)")
    try site.expectWhole()
    // Without --to, no bucket is contacted.
    let count = site.server.requests.count
    let plain = try await site.bench.reel("page", "-o", "site", environment: ownTo)
    #expect(plain.status == 0 && !plain.output.contains("upload") && site.server.requests.count == count)
    await site.server.stop()
  }
}
