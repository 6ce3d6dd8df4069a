import Foundation
import ReelCore
import ReelHTTPFakes
import ReelPostgres
import ReelTestServers
import ReelTestSupport
import Synchronization
import Testing

/// A queue, and a store that workers share.
private struct Fleet {
  let database: TestDatabase
  let bench: Workbench

  init() async throws {
    database = try await TestDatabase()
    bench = try Workbench()
  }

  static let work = ["work", "--to", "store", "--jobs", "2", "--json", "--allow", "127.0.0.1"]

  func start(
    _ arguments: [String], environment: [String: String] = AddressTests.environment
  ) throws -> ReelBinary.Running {
    try ReelBinary.start(
      arguments + ["--catalog", database.url()], in: bench.folder, environment: environment)
  }

  func reel(
    _ arguments: [String], environment: [String: String] = AddressTests.environment
  ) async throws -> ReelBinary.Outcome {
    try await start(arguments, environment: environment).outcome()
  }

  /// Returns the numbers of new and of known items that `reel enqueue` reports.
  func enqueue(_ arguments: String...) async throws -> [Int] {
    let outcome = try await reel(["enqueue", "--json"] + arguments)
    #expect(outcome.status == 0, "\(outcome)")
    let view = try outcome.object()
    return [view["new"] as? Int ?? -1, view["known"] as? Int ?? -1]
  }

  func work(_ more: String...) async throws -> ReelBinary.Outcome {
    try await reel(Self.work + more)
  }

  /// The number of posts, each with bytes and an object of its own.
  func posts() throws -> Int {
    let db = try database.connect()
    let keys = try db.rows("SELECT object_key FROM reel.intent JOIN reel.post ON intent = number") {
      try $0[0] as String
    }
    let store = bench.folder.appendingPathComponent("store").path
    let names = try FileManager.default.contentsOfDirectory(atPath: store).filter { !$0.hasPrefix(".") }
    #expect(Set(names) == Set(keys))
    return keys.count
  }

  /// The codes of the items that are not done.
  func codes() throws -> [String] {
    try database.connect().rows("SELECT coalesce(code, '') FROM reel.work WHERE state <> 3 ORDER BY item") {
      try $0[0] as String
    }
  }
}

/// Objects in a bucket and on the web, in the queue.
@Suite("the queue, by address", .besidePostgres, .shortTime)
struct QueueAddressTests {
  fileprivate static func video(_ number: Int) throws -> ObjectServer.Object {
    var box: [UInt8] = [0, 0, 0, 24]
    box += Array("free".utf8) + Array(String(format: "%016d", number).utf8)
    let clip = Array(try Data(contentsOf: Workbench.sample("clips/faststart.mp4")))
    return ObjectServer.Object(.bytes(clip + box), tag: "\"v\(number)\"")
  }

  private static func text(_ text: String) -> ObjectServer.Object {
    ObjectServer.Object(.bytes(Array(text.utf8)), tag: "\"\(text.count)\"")
  }

  @Test("a bucket is listed and enqueued once, and workers ingest the objects that were listed")
  func bucket() async throws {
    let fleet = try await Fleet()
    var objects: [String: ObjectServer.Object] = [:]
    for number in 0..<9 { objects["uploads/2026/a/clip \(number).mp4"] = try Self.video(number) }
    objects["uploads/2026/a/clip 3.json"] = Self.text(#"{"caption": "the third"}"#)
    objects["uploads/2026/skipped/clip.mp4"] = try Self.video(200)
    objects["uploads/2026/notes.txt"] = Self.text("no video")
    let server = try await ObjectServer.start(objects, pageSize: 4)
    let address = "s3+http://127.0.0.1:\(server.port)/uploads/2026/"

    #expect(try await fleet.enqueue(address, "--exclude", "skipped", "--dry-run") == [9, 0])
    #expect(
      try fleet.database.connect().value("SELECT to_regclass('reel.work') IS NULL", as: Bool.self) == true)
    #expect(try await fleet.enqueue(address, "--exclude", "skipped") == [9, 0])
    #expect(try await fleet.enqueue(address, "--exclude", "skipped", "--dry-run") == [0, 9])
    // Another command finds it known, and so does its own address.
    #expect(try await fleet.enqueue(address, address + "a/clip 0.mp4") == [1, 10])
    #expect(server.sent == 1)

    // One object is overwritten before a worker takes it: the version that was enqueued is gone, and the present one is
    // new.
    server.set(try Self.video(300), at: "uploads/2026/a/clip 0.mp4")
    let first = try await fleet.work()
    #expect(first.status == 3, "\(first)")
    #expect(try fleet.codes() == ["sourceChanged"])
    #expect(
      try fleet.database.connect().value(
        "SELECT message FROM reel.work WHERE code IS NOT NULL", as: String.self)?
        .contains("overwritten or removed since it was enqueued") == true)
    #expect(try fleet.posts() == 9)
    let reads = server.requests.filter { !$0.target.contains("list-type") && $0.target.hasSuffix(".mp4") }
    #expect(
      reads.count { $0.header("If-Match") == nil } == 2,
      "only the one that was named, and the one that is another than in the list")
    #expect(try await fleet.enqueue(address) == [1, 9])
    let sent = server.sent
    let second = try await fleet.work()
    #expect(second.status == 0, "\(second)")
    #expect(try fleet.posts() == 10)
    // Only the new version was read.
    #expect(server.sent - sent == Self.size(try Self.video(300)))

    let feed = try await fleet.reel(["feed", "--json", "--size", "100"])
    let posts = try feed.object()["posts"] as? [[String: Any]] ?? []
    #expect(posts.filter { $0["caption"] as? String == "the third" }.count == 1)
    #expect(posts.contains { $0["sourceName"] as? String == "clip 3.mp4" })
    await server.stop()
  }

  private static func size(_ object: ObjectServer.Object) -> Int {
    if case .bytes(let bytes) = object.content { bytes.count } else { 0 }
  }

  @Test("a file on the web is enqueued by its ETag, and without what may be a signature")
  func web() async throws {
    let fleet = try await Fleet()
    let server = try await ObjectServer.start(["clip.mp4": try Self.video(1)])
    let address = "http://127.0.0.1:\(server.port)/clip.mp4"
    let signed = try await fleet.reel(["enqueue", address + "?X-Amz-Signature=hidden"])
    #expect(signed.status == 64 && !signed.errors.contains("hidden"), "\(signed)")
    #expect(try await fleet.enqueue(address) == [1, 0])
    #expect(try await fleet.enqueue(address) == [0, 1])
    #expect(try await fleet.work().status == 0)
    server.set(try Self.video(2), at: "clip.mp4")
    #expect(try await fleet.enqueue(address) == [1, 0])
    server.set(nil, at: "clip.mp4")
    let gone = try await fleet.work()
    #expect(try gone.status == 3 && fleet.codes() == ["notFound"], "\(gone)")
    #expect(try fleet.posts() == 1)
    await server.stop()
  }

  @Test(
    "an item that names this machine or a system folder is not read unless the worker allows it",
    arguments: [
      "http://127.0.0.1:PORT/clip.mp4", "http://localhost:PORT/clip.mp4", "http://[::1]:PORT/clip.mp4",
      "http://2130706433:PORT/clip.mp4", "http://[::ffff:127.0.0.1]:PORT/clip.mp4",
      "http://%31%32%37.0.0.1:PORT/clip.mp4", "http://l%6Fcalhost:PORT/clip.mp4",
      "http://localhost.:PORT/clip.mp4",
      "http://127.1:PORT/clip.mp4", "http://0x7f.1:PORT/clip.mp4", "http://0:PORT/clip.mp4",
      "http://\u{FF11}27.0.0.1:PORT/clip.mp4", "HTTP://LOCALHOST:PORT/clip.mp4",
      "http://[::7f00:1]:PORT/clip.mp4",
      "http://[0:0:0:0:0:ffff:7f00:1]:PORT/clip.mp4", "http://127.0.0.1:0PORT/clip.mp4",
      "s3+http://%31%32%37.0.0.1:PORT/bucket/clip.mp4",
      "s3+http://127.0.0.1:PORT/bucket/clip.mp4", "/etc/clip.mp4", "/proc/self/root/clip.mp4",
      "HERE/../clip.mp4",
      "HERE/.hidden/clip.mp4", "HERE/link/clip.mp4",
    ])
  func strangersRow(_ address: String) async throws {
    let fleet = try await Fleet()
    let clip = try Self.video(1)
    let server = try await ObjectServer.start(["clip.mp4": clip, "bucket/clip.mp4": clip])
    let here = fleet.bench.folder
    try FileManager.default.createDirectory(
      at: here.appendingPathComponent(".hidden"), withIntermediateDirectories: false)
    try FileManager.default.createSymbolicLink(
      at: here.appendingPathComponent("link"), withDestinationURL: URL(filePath: "/etc"))
    try Data(contentsOf: Workbench.sample("clips/faststart.mp4"))
      .write(to: fleet.bench.clips.appendingPathComponent("clip.mp4"))
    #expect(try await fleet.enqueue("clips") == [1, 0])
    let db = try fleet.database.connect()
    let row = address.replacing("PORT", with: "\(server.port)").replacing("HERE", with: here.path)
    try db.run("UPDATE reel.item SET address = $1 WHERE id = 1", [.bytes(Array(row.utf8))])
    let work = try await fleet.start(["work", "--to", "store", "--jobs", "2"]).outcome(whileAllIsDueIn: db)
    #expect(try work.status == 4 && fleet.codes() == ["outsideRoot"], "\(work)")
    #expect(
      try fleet.database.connect().value("SELECT message FROM reel.work", as: String.self)?.contains(
        "--allow") == true)
    #expect(server.requests.isEmpty)
    await server.stop()
  }

  @Test("a worker takes only what it is allowed to")
  func allowed() async throws {
    let fleet = try await Fleet()
    let server = try await ObjectServer.start([
      "in/clip.mp4": try Self.video(1), "inside/clip.mp4": try Self.video(2),
      "in/../out.mp4": try Self.video(3),
    ])
    let web = "http://127.0.0.1:\(server.port)"
    #expect(try await fleet.enqueue(web + "/in/clip.mp4", web + "/inside/clip.mp4") == [2, 0])
    let work = try await fleet.reel(["work", "--to", "store", "--allow", web + "/in", "--allow", "/srv"])
    #expect(try work.status == 4 && fleet.codes() == ["outsideRoot"] && fleet.posts() == 1, "\(work)")
    let nonsense = try await fleet.reel(["work", "--to", "store", "--allow", "clips/here"])
    #expect(nonsense.status == 64 && nonsense.errors.contains("--allow"), "\(nonsense)")
    await server.stop()
  }

  @Test("objects that can't be decoded end no worker, and the others are published")
  func undecodable() async throws {
    let fleet = try await Fleet()
    var objects: [String: ObjectServer.Object] = [:]
    for number in 0..<25 { objects["uploads/a\(number).mp4"] = try Self.video(number) }
    let isZipped = Mutex(false)
    // `Content-Encoding: gzip` on an object, as its uploader may set it.
    let server = try await ObjectServer.start(objects) { request in
      guard isZipped.withLock({ $0 }), request.target.hasPrefix("/uploads/a"),
        !request.target.hasPrefix("/uploads/a24"),
        request.target.contains(".mp4")
      else { return nil }
      return .reply(
        200, headers: [("ETag", "\"v0\""), ("Content-Encoding", "gzip"), ("Content-Length", "3")],
        body: [1, 2, 3])
    }
    let address = "s3+http://127.0.0.1:\(server.port)/uploads/"
    #expect(try await fleet.enqueue(address) == [25, 0])
    isZipped.withLock { $0 = true }
    let db = try fleet.database.connect()
    let work = try await fleet.start(Fleet.work).outcome(whileAllIsDueIn: db)
    #expect(work.status == 3, "\(work)")
    #expect(try db.value("SELECT count(*) FROM reel.work WHERE state = 5", as: Int.self) == 24)
    #expect(try fleet.posts() == 1)
    await server.stop()
  }

  @Test("objects that a bucket stores as a destination are not ingested from there")
  func ownDestination() async throws {
    let fleet = try await Fleet()
    let server = try await ObjectServer.start(["bucket/media/a.mp4": try Self.video(1)])
    let bucket = "s3+http://127.0.0.1:\(server.port)/bucket"
    #expect(try await fleet.enqueue(bucket + "/media/") == [1, 0])
    let work = try await fleet.reel(["work", "--to", bucket + "/media"])
    #expect(try work.status == 4 && fleet.codes() == ["outsideRoot"], "\(work)")
    await server.stop()
  }
}

/// The same over a server that checks signatures.
@Suite(
  "the queue, over a real S3 server", .enabled(if: SwiftS3Server.isInstalled, SwiftS3Server.absence),
  .besidePostgres, .besideSwiftS3, .shortTime)
struct RealQueueTests {
  @Test("objects are listed, enqueued, ingested, and stored in another bucket")
  func realServer() async throws {
    let fleet = try await Fleet()
    let environment = [
      "AWS_ACCESS_KEY_ID": SwiftS3Server.key.id, "AWS_SECRET_ACCESS_KEY": SwiftS3Server.key.secret,
    ]
    let (source, store) = (try await TestBucket(), try await TestBucket())
    for name in ["faststart.mp4", "moov-at-end.mp4", "matroska.mkv", "vp9.webm"] {
      try await source.put(Array(try Data(contentsOf: Workbench.sample("clips/\(name)"))), as: "in/é \(name)")
    }
    try await source.put(Array(#"{"caption": "said"}"#.utf8), as: "in/é vp9.json")
    for new in [4, 0] {
      let enqueued = try await fleet.reel(
        ["enqueue", source.address + "/in/", "--json"], environment: environment)
      #expect(try enqueued.status == 0 && enqueued.object()["new"] as? Int == new, "\(enqueued)")
    }
    // The object is overwritten. This server really answers If-Match.
    try await source.put(try #require(try QueueAddressTests.video(7).bytes), as: "in/é faststart.mp4")
    let work = try await fleet.reel(
      ["work", "--to", store.address + "/media", "--jobs", "2"], environment: environment)
    #expect(try work.status == 3 && fleet.codes() == ["sourceChanged"], "\(work)")
    #expect(try await store.objects().count == 3)
    let feed = try await fleet.reel(["feed", "--json"], environment: environment)
    #expect(feed.output.contains(#""said""#), "\(feed)")
  }
}
