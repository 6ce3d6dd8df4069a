import Foundation
import ReelCore
import ReelHTTPFakes
import ReelTestServers
import ReelTestSupport
import Synchronization
import Testing

/// `reel ingest` of objects in a bucket and files on the web.
@Suite("ingest by address", .shortTime)
struct IngestAddressTests {
  private static func bytes(_ name: String) throws -> [UInt8] {
    Array(try Data(contentsOf: Workbench.sample(name)))
  }

  /// A video that is unique because of an appended box.
  private static func video(_ number: Int, padding: Int = 0) throws -> ObjectServer.Object {
    var box: [UInt8] = withUnsafeBytes(of: UInt32(24 + padding).bigEndian) { Array($0) }
    box += Array("free".utf8) + Array(String(format: "%016d", number).utf8)
    box += [UInt8](repeating: 7, count: padding)
    return ObjectServer.Object(.bytes(try bytes("clips/faststart.mp4") + box), tag: "\"v\(number)\"")
  }

  private static func text(_ text: String) -> ObjectServer.Object {
    ObjectServer.Object(.bytes(Array(text.utf8)), tag: "\"\(text.count)\"")
  }

  private static func run(_ bench: Workbench, _ arguments: [String]) async throws -> ReelBinary.Outcome {
    try await ReelBinary.run(
      arguments + ["--library", bench.library.path], in: bench.folder, environment: AddressTests.environment)
  }

  private static func posts(_ bench: Workbench) async throws -> [[String: Any]] {
    try await run(bench, ["feed", "--json", "--size", "100"]).object()["posts"] as? [[String: Any]] ?? []
  }

  private static func summary(_ outcome: ReelBinary.Outcome) throws -> [String: Any] {
    try outcome.object()["summary"] as? [String: Any] ?? [:]
  }

  @Test("a bucket is ingested once, like a folder; the second time nothing is downloaded")
  func bucket() async throws {
    let bench = try Workbench()
    var objects: [String: ObjectServer.Object] = [:]
    for number in 0..<9 { objects["uploads/2026/a/clip \(number).mp4"] = try Self.video(number) }
    objects["uploads/2026/a/large.mp4"] = try Self.video(100, padding: 10 << 20)
    objects["uploads/2026/a/clip 3.json"] = Self.text(#"{"caption": "the third"}"#)
    objects["uploads/2026/skipped/clip.mp4"] = try Self.video(200)
    objects["uploads/2026/notes.txt"] = Self.text("no video")
    let server = try await ObjectServer.start(objects, pageSize: 4)
    let address = "s3+http://127.0.0.1:\(server.port)/uploads/2026/"
    let arguments = ["ingest", address, "--exclude", "skipped", "--json", "--events", "events.jsonl"]
    let first = try await Self.run(bench, arguments)
    #expect(first.status == 0, "\(first)")
    #expect(try Self.summary(first)["published"] as? Int == 10, "\(first)")
    let posts = try await Self.posts(bench)
    #expect(posts.count == 10 && posts.contains { $0["caption"] as? String == "the third" })
    #expect(posts.contains { $0["sourceName"] as? String == "clip 3.mp4" })
    let stored = try bench.objects().map { try Data(contentsOf: bench.media.appending(path: $0)).count }
    #expect(stored.max() == (try Self.video(100, padding: 10 << 20)).size)
    let events = try String(contentsOf: bench.folder.appending(path: "events.jsonl"), encoding: .utf8)
    #expect(
      events.contains(address.replacing("/", with: "\\/") + "a\\/clip 0.mp4")
        || events.contains(address + "a/clip 0.mp4"))
    for text in [first.output, first.errors, events] { #expect(!text.contains("of-the-test")) }

    let sent = server.sent
    let again = try await Self.run(bench, arguments)
    #expect(try Self.summary(again)["duplicates"] as? Int == 10, "\(again)")
    #expect(server.sent == sent)
    // An overwritten object is a new one.
    server.set(try Self.video(300), at: "uploads/2026/a/clip 0.mp4")
    let third = try Self.summary(try await Self.run(bench, arguments))
    #expect(third["published"] as? Int == 1 && third["duplicates"] as? Int == 9, "\(third)")
    await server.stop()
  }

  @Test("a dry run reports what would happen to a bucket, and creates nothing")
  func dryRun() async throws {
    let bench = try Workbench()
    let server = try await ObjectServer.start([
      "uploads/a.mp4": try Self.video(1), "uploads/b.mp4": try Self.video(2),
      "uploads/c.mp4": try Self.video(1),
    ])
    let outcome = try await Self.run(
      bench, ["ingest", "s3+http://127.0.0.1:\(server.port)/uploads/", "--dry-run", "--json"])
    #expect(outcome.status == 0, "\(outcome)")
    #expect(try Self.summary(outcome)["planned"] as? Int == 2, "\(outcome)")
    #expect(!FileManager.default.fileExists(atPath: bench.library.path))
    await server.stop()
  }

  @Test("a caption list's entry for an address applies to it")
  func captions() async throws {
    let bench = try Workbench()
    let server = try await ObjectServer.start(["uploads/a.mp4": try Self.video(1)])
    let address = "s3+http://127.0.0.1:\(server.port)/uploads/"
    try Data("path,caption\n\(address)a.mp4,from the list\n".utf8).write(
      to: bench.folder.appending(path: "captions.csv"))
    let outcome = try await Self.run(bench, ["ingest", address, "--captions", "captions.csv", "--json"])
    #expect(outcome.status == 0, "\(outcome)")
    #expect(try await Self.posts(bench).first?["caption"] as? String == "from the list")
    await server.stop()
  }

  @Test(
    "an address on the web is ingested once, from a server with or without ranges",
    arguments: [true, false])
  func web(_ hasRanges: Bool) async throws {
    let bench = try Workbench()
    let object = try Self.video(1, padding: 6 << 20)
    let whole = try #require(object.bytes)
    let server = try await ObjectServer.start(["clip.mp4": object]) { request in
      hasRanges
        ? nil : .reply(200, headers: [("ETag", "\"w\""), ("Content-Length", "\(whole.count)")], body: whole)
    }
    let address = "http://127.0.0.1:\(server.port)/clip.mp4?X-Amz-Signature=hidden"
    let first = try await Self.run(bench, ["publish", address, "--json"])
    #expect(first.status == 0, "\(first)")
    let post = try #require(try first.object()["post"] as? [String: Any] ?? first.object())
    #expect(!(first.output + first.errors).contains("hidden"), "\(post)")
    let (requests, sent) = (server.requests.count, server.sent)
    let again = try await Self.run(bench, ["ingest", address, "--json"])
    #expect(try Self.summary(again)["duplicates"] as? Int == 1, "\(again)")
    if hasRanges {
      // A single byte is enough to recognize the file.
      #expect(server.requests.count == requests + 1 && server.sent <= sent + 1)
    }
    for name in try FileManager.default.subpathsOfDirectory(atPath: bench.library.path) {
      guard let data = try? Data(contentsOf: bench.library.appending(path: name)) else { continue }
      #expect(data.range(of: Data("hidden".utf8)) == nil, "\(name)")
    }
    await server.stop()
  }

  @Test("from a server without ranges, exactly the stated length is read")
  func endless() async throws {
    let bench = try Workbench()
    let object = try Self.video(1, padding: 6 << 20)
    let whole = try #require(object.bytes)
    let server = try await ObjectServer.start([:]) { request in
      guard request.method == "GET", request.header("Range") == nil else {
        return .reply(200, headers: [("Content-Length", "\(whole.count)")], body: whole)
      }
      // One byte more than stated, and then neither a byte nor an end.
      let length = String(whole.count + 1, radix: 16)
      let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\(length)\r\n"
      return .raw(Array(head.utf8) + whole + [0], thenClose: false)
    }
    let outcome = try await Self.run(
      bench, ["ingest", "http://127.0.0.1:\(server.port)/clip.mp4", "--json"])
    #expect(outcome.status == 3 && outcome.output.contains("sourceChanged"), "\(outcome)")
    #expect(try await Self.posts(bench).isEmpty)
    await server.stop()
  }

  @Test(
    "if a server without ranges also refuses HEAD, the length comes from its reply to GET",
    arguments: [405, 403, 501, 404, 200])
  func refusedHead(_ status: Int) async throws {
    let bench = try Workbench()
    let object = try Self.video(1, padding: 6 << 20)
    let whole = try #require(object.bytes)
    let server = try await ObjectServer.start([:]) { request in
      if request.method == "GET" { return .reply(200, headers: [("ETag", "\"a\"")], body: whole) }
      // Like the reply for a page that is generated while it is sent.
      let head = "HTTP/1.1 \(status) X\r\nTransfer-Encoding: chunked\r\n\r\n"
      return .raw(Array(head.utf8), thenClose: true)
    }
    let outcome = try await Self.run(
      bench, ["ingest", "http://127.0.0.1:\(server.port)/clip.mp4", "--json"])
    #expect(try Self.summary(outcome)["published"] as? Int == 1, "\(outcome)")
    await server.stop()
  }

  @Test("addresses with different queries are different files, but a new signature makes no difference")
  func queries() async throws {
    let bench = try Workbench()
    let objects = [try Self.video(1), try Self.video(2)]
    // The server's files differ only in their queries; their lengths and times are equal.
    let front = try await ObjectServer.start([:]) { request in
      let number = request.target.contains("id=1") ? 0 : 1
      guard case .bytes(let bytes) = objects[number].content else { return nil }
      let ends = (request.header("Range") ?? "").dropFirst(6).split(separator: "-").compactMap { Int($0) }
      guard ends.count == 2 else { return nil }
      let range = ends[0]..<min(bytes.count, ends[1] + 1)
      return .reply(
        206,
        headers: [
          ("Content-Range", "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(bytes.count)"),
          ("Last-Modified", "Sun, 06 Nov 1994 08:49:37 GMT"),
        ], body: Array(bytes[range]))
    }
    let address = "http://127.0.0.1:\(front.port)/get.mp4?id="
    let first = try await Self.run(bench, ["ingest", address + "1", address + "2", "--json"])
    #expect(try Self.summary(first)["published"] as? Int == 2, "\(first)")
    let (sent, requests) = (front.sent, front.requests.count)
    let again = try await Self.run(
      bench, ["ingest", address + "1&X-Amz-Signature=x", address + "2&X-Amz-Signature=y", "--json"])
    #expect(try Self.summary(again)["duplicates"] as? Int == 2, "\(again)")
    #expect(front.sent == sent && front.requests.count == requests + 2)
    await front.stop()
  }

  @Test(
    "the reason why a file can't be fetched is given, and temporary failures are retried",
    arguments: [
      (404, "notFound", "nothing under this address"), (403, "denied", "denies access to it"),
      (500, nil, ""), (503, nil, ""),
    ])
  func refusals(_ status: Int, _ code: String?, _ words: String) async throws {
    let bench = try Workbench()
    let calls = Mutex(0)
    let page = Array(String(repeating: "<p>no</p>", count: 1000).utf8)
    let server = try await ObjectServer.start(["clip.mp4": try Self.video(1)]) { _ in
      let isFirst = calls.withLock { calls in
        calls += 1
        return calls == 1
      }
      return isFirst || code != nil ? .reply(status, body: page) : nil
    }
    let outcome = try await Self.run(bench, ["ingest", "http://127.0.0.1:\(server.port)/clip.mp4", "--json"])
    if let code {
      #expect(outcome.status == (status == 404 ? 1 : 3) && outcome.output.contains(code), "\(outcome)")
      #expect(outcome.output.contains(words), "\(outcome)")
    } else {
      #expect(outcome.status == 0, "\(outcome)")
    }
    await server.stop()
  }

  @Test("a missing object is reported as such, and a key that may read but not list is enough")
  func singleObject() async throws {
    let bench = try Workbench()
    let server = try await ObjectServer.start(["uploads/a.mp4": try Self.video(1)]) { request in
      request.target.contains("a.json")
        ? .reply(403, body: Array("<Error><Code>AccessDenied</Code></Error>".utf8)) : nil
    }
    let address = "s3+http://127.0.0.1:\(server.port)/uploads/"
    let gone = try await Self.run(bench, ["ingest", address + "b.mp4", "--json"])
    #expect(gone.status == 1 && gone.output.contains("notFound"), "\(gone)")
    let found = try await Self.run(bench, ["ingest", address + "a.mp4", "--json"])
    #expect(found.status == 0, "\(found)")
    await server.stop()
  }

  @Test("a listing whose pages form a circle ends")
  func endlessList() async throws {
    let bench = try Workbench()
    let calls = Mutex(0)
    let server = try await ObjectServer.start(["uploads/a.mp4": try Self.video(1)]) { request in
      guard request.target.contains("list-type") else { return nil }
      let token = calls.withLock { calls in
        calls += 1
        return ["a", "b"][calls % 2]
      }
      return .reply(
        200,
        body: Array(
          ("<ListBucketResult><IsTruncated>true</IsTruncated><NextContinuationToken>\(token)"
            + "</NextContinuationToken></ListBucketResult>").utf8))
    }
    let outcome = try await Self.run(
      bench, ["ingest", "s3+http://127.0.0.1:\(server.port)/uploads/", "--json"])
    #expect(outcome.status == 3 && outcome.output.contains("never ends"), "\(outcome)")
    #expect(calls.withLock { $0 } == 3)
    await server.stop()
  }

  @Test("an object that changes while it is downloaded is not published")
  func changes() async throws {
    let bench = try Workbench()
    let object = try Self.video(1, padding: 12 << 20)
    let server = try await ObjectServer.start(["uploads/a.mp4": object]) { request in
      guard let range = request.header("Range"), !range.hasPrefix("bytes=0-") else { return nil }
      return .reply(412, body: Array("<Error><Code>PreconditionFailed</Code></Error>".utf8))
    }
    let outcome = try await Self.run(
      bench, ["ingest", "s3+http://127.0.0.1:\(server.port)/uploads/", "--json"])
    #expect(outcome.status == 3 && outcome.output.contains("sourceChanged"), "\(outcome)")
    #expect(try await Self.posts(bench).isEmpty)
    await server.stop()
  }

  @Test("objects that a bucket stores as a destination are not ingested from there")
  func ownDestination() async throws {
    let bench = try Workbench()
    let server = try await ObjectServer.start(["bucket/media/a.mp4": try Self.video(1)])
    let bucket = "s3+http://127.0.0.1:\(server.port)/bucket"
    let below = try await Self.run(
      bench, ["ingest", bucket + "/media/", "--to", bucket + "/media", "--dry-run", "--json"])
    #expect(below.status == 4 && below.output.contains("outsideRoot"), "\(below)")
    let around = try await Self.run(
      bench, ["ingest", bucket, "--to", bucket + "/media", "--dry-run", "--json"])
    #expect(try Self.summary(around)["planned"] as? Int == 0, "\(around)")
    await server.stop()
  }

  /// A server that is silent for a minute is given up.
  @Test("Ctrl-C ends a download, and the same command resumes", .ownThread)
  func interruption() async throws {
    let bench = try Workbench()
    let gate = Gate()
    let server = try await ObjectServer.start(
      ["uploads/a.mp4": try Self.video(1), "uploads/b.mp4": try Self.video(2, padding: 12 << 20)]
    ) { request in
      guard let range = request.header("Range"), !range.hasPrefix("bytes=0-"), !gate.isOpen else {
        return nil
      }
      gate.isReached = true
      return .silence
    }
    let arguments = [
      "ingest", "s3+http://127.0.0.1:\(server.port)/uploads/", "--json", "--library", bench.library.path,
    ]
    let running = try ReelBinary.start(arguments, in: bench.folder, environment: AddressTests.environment)
    try await running.until { gate.isReached }
    running.send(SIGINT)
    let outcome = try await running.outcome()
    #expect(outcome.status == 130, "\(outcome)")
    let reasons = try Self.summary(outcome)["reasons"] as? [String: Int] ?? [:]
    #expect(Set(reasons.keys).isSubset(of: ["cancelled"]), "\(outcome)")
    gate.isOpen = true
    let again = try await Self.run(bench, Array(arguments.dropLast(2)))
    #expect(again.status == 0, "\(again)")
    #expect(try await Self.posts(bench).count == 2)
    await server.stop()
  }
}

extension ObjectServer.Object {
  /// Its size in bytes.
  fileprivate var size: Int {
    if case .bytes(let bytes) = content { bytes.count } else { 0 }
  }
}

/// Signals between a server and a test.
private final class Gate: Sendable {
  private let state = Mutex((isOpen: false, isReached: false))
  var isOpen: Bool {
    get { state.withLock { $0.isOpen } }
    set { state.withLock { $0.isOpen = newValue } }
  }
  var isReached: Bool {
    get { state.withLock { $0.isReached } }
    set { state.withLock { $0.isReached = newValue } }
  }
}

/// Over a server that checks signatures.
@Suite(
  "sources in a real S3 server", .enabled(if: SwiftS3Server.isInstalled, SwiftS3Server.absence),
  .besideSwiftS3,
  .shortTime)
struct RealSourceTests {
  private static let environment = [
    "AWS_ACCESS_KEY_ID": SwiftS3Server.key.id, "AWS_SECRET_ACCESS_KEY": SwiftS3Server.key.secret,
  ]

  @Test("probe, ingest into another bucket, and doctor, which finds and restores lost objects")
  func wholeWay() async throws {
    let bench = try Workbench()
    let (source, store) = (try await TestBucket(), try await TestBucket())
    for name in ["faststart.mp4", "moov-at-end.mp4", "matroska.mkv", "vp9.webm"] {
      try await source.put(Array(try Data(contentsOf: Workbench.sample("clips/\(name)"))), as: "in/é \(name)")
    }
    try await source.put(Array(#"{"caption": "said"}"#.utf8), as: "in/é vp9.json")
    let probed = try await bench.run(["probe", "--jsonl", source.address + "/in/"], Self.environment)
    #expect(probed.status == 0 && probed.output.split(separator: "\n").count == 4, "\(probed)")
    let arguments = [
      "ingest", source.address + "/in/", "--to", store.address + "/media", "--json", "--library",
      bench.library.path,
    ]
    let first = try await bench.run(arguments, Self.environment)
    #expect(first.status == 0, "\(first)")
    #expect(try await store.objects().count == 4)
    let again = try await bench.run(arguments, Self.environment)
    #expect((try again.object()["summary"] as? [String: Any])?["duplicates"] as? Int == 4, "\(again)")

    let doctor = ["doctor", "--json", "--library", bench.library.path, "--to", store.address + "/media"]
    let well = try await bench.run(doctor, Self.environment)
    #expect(well.status == 0, "\(well)")
    let lost = try #require(try await store.objects().first)
    try await store.remove(lost)
    try await store.put(Array("?".utf8), as: "media/0123456789012345678901.mp4")
    let ill = try await bench.run(doctor, Self.environment)
    #expect(
      ill.status == 3 && ill.output.contains("object.missing") && ill.output.contains("object.unknown"),
      "\(ill)")
    let mended = try await bench.run(doctor + ["--fix", "--from", source.address + "/in/"], Self.environment)
    #expect(mended.status == 3, "\(mended)")
    #expect(try await store.objects().contains(lost))
    try await store.remove("media/0123456789012345678901.mp4")
    let healthy = try await bench.run(doctor, Self.environment)
    #expect(healthy.status == 0, "\(healthy)")
  }
}

extension Workbench {
  fileprivate func run(_ arguments: [String], _ environment: [String: String]) async throws
    -> ReelBinary.Outcome
  {
    try await ReelBinary.run(arguments, in: folder, environment: environment)
  }
}
