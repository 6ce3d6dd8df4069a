import Foundation
import HTTPTypes
import ReelCore
import ReelHTTPFakes
import ReelTestServers
import ReelTestSupport
import Testing

@testable import ReelRemoteStorage

/// A new bucket on the suite's server, and its contents.
struct TestBucket {
  let name = "b\(UUID().uuidString.lowercased())"
  let port: Int
  let client: S3Client

  /// - Parameters:
  ///   - port: The port at which Reel reaches the server; nil for the server's own.
  ///   - endpoint: The server's endpoint; nil for OpenStack Swift's.
  init(at port: Int? = nil, endpoint: String? = nil) async throws {
    let address = try HTTPAddress(parsing: try endpoint ?? BesideSwiftS3.server().endpoint)
    self.port = port ?? address.origin.port
    client = S3Client(
      try S3Store(bucket: name, endpoint: address),
      transport: try CurlTransport.patient(),
      credentials: FixedCredentials(
        S3Credentials(keyID: SwiftS3Server.key.id, secret: Secret(SwiftS3Server.key.secret))),
      clock: SystemWallClock())
    // A server that has just started may need a moment on a busy machine. Then the bucket may have been made all the
    // same.
    let request = S3Request(.put, nil, task: "make a bucket", permission: "s3:CreateBucket")
    for _ in 0..<600 {
      switch try await client.outcome(of: request) {
      case .reply: return
      case .failure(let failure) where failure.code == "BucketAlreadyOwnedByYou": return
      case .failure: try await Task.sleep(for: .seconds(1))
      }
    }
    _ = try await client.send(request)
  }

  /// The address for `--to`.
  var address: String { "s3+http://127.0.0.1:\(port)/\(name)" }

  func put(_ bytes: [UInt8], as name: String) async throws {
    var request = S3Request(.put, name: name, task: "put", permission: "s3:PutObject")
    request.body = .bytes(bytes)
    _ = try await client.send(request)
  }

  func remove(_ name: String) async throws {
    _ = try await client.send(S3Request(.delete, name: name, task: "remove", permission: "s3:DeleteObject"))
  }

  /// The names of all objects.
  func objects() async throws -> Set<String> {
    let reply = try await client.send(
      S3Request(.get, nil, query: [("list-type", "2")], task: "list", permission: "s3:ListBucket"))
    return Set(XMLNode(parsing: reply.body)?.all("Contents").compactMap { $0["Key"] } ?? [])
  }

  /// The number of bytes in the parts of unfinished uploads.
  func unfinishedBytes() async throws -> Int {
    let reply = try await client.send(
      S3Request(
        .get, nil, query: [("uploads", "")], task: "list", permission: "s3:ListBucketMultipartUploads"))
    var bytes = 0
    for upload in XMLNode(parsing: reply.body)?.all("Upload") ?? [] {
      guard let key = upload["Key"].flatMap({ ObjectKey($0) }), let id = upload["UploadId"] else {
        continue
      }
      let parts = try await client.send(
        S3Request(
          .get, key, query: [("uploadId", id)], task: "list", permission: "s3:ListMultipartUploadParts"))
      bytes += S3Documents.parts(parts.body)?.parts.reduce(0) { $0 + Int($1.size) } ?? 0
    }
    return bytes
  }
}

@Suite(
  "the binary, over a real S3 server", .enabled(if: SwiftS3Server.isInstalled, SwiftS3Server.absence),
  .besideSwiftS3, .shortTime)
struct S3Tests {
  private static let environment = [
    "AWS_ACCESS_KEY_ID": SwiftS3Server.key.id, "AWS_SECRET_ACCESS_KEY": SwiftS3Server.key.secret,
  ]

  @Test("a folder of videos becomes posts with whole objects, once, and the secret is never revealed")
  func ingest() async throws {
    let (bench, bucket) = (try Workbench(), try await TestBucket())
    try bench.addDistinct(12)
    let secret = "testing"
    let first = try await bench.reel(
      "ingest", "clips", "--to", bucket.address + "/videos", "--json", "--events", "events.jsonl",
      environment: Self.environment)
    #expect(first.status == 0, "\(first.errors)")
    let names = try await bucket.objects()
    #expect(names.count == 12 && names.allSatisfy { $0.hasPrefix("videos/") })
    let inspection = try LibraryInspection(library: bench.library)
    #expect(inspection.published.count == 12)
    let feed = try await bench.reel("feed", "--json")
    for name in names { #expect(feed.output.contains("/\(bucket.name)/\(name)\"")) }
    let again = try await bench.reel(
      "ingest", "clips", "--to", bucket.address + "/videos", "--json", environment: Self.environment)
    #expect((try again.object()["summary"] as? [String: Any])?["duplicates"] as? Int == 12)
    #expect(try await bucket.objects() == names)
    for file in try FileManager.default.subpathsOfDirectory(atPath: bench.folder.path) {
      guard let data = try? Data(contentsOf: bench.folder.appendingPathComponent(file)) else { continue }
      #expect(data.range(of: Data(secret.utf8)) == nil, "the secret stands in \(file)")
    }
    for text in [first.output, first.errors, again.output, again.errors, feed.output] {
      #expect(!text.contains(secret))
    }
  }

  @Test("a large object in another bucket of the same store becomes a post, complete")
  func withinTheStore() async throws {
    try await expectPostWithinTheStore(
      from: try await TestBucket(), to: try await TestBucket(),
      environment: Self.environment)
  }

  @Test("posts in a bucket get missing posters; without the bucket's keys they are left alone")
  func missingPosters() async throws {
    let (bench, bucket) = (try Workbench(), try await TestBucket())
    for name in ["clips/faststart.mp4", "clips/phone-portrait.mov", "clips/vp9.webm"] { try bench.add(name) }
    let to = bucket.address
    #expect(try await bench.reel("ingest", "clips", "--to", to, environment: Self.environment).status == 0)
    let left = try await bench.reel("poster", "--missing")
    #expect(left.status == 0 && left.output.contains("3 posts have none"), "\(left)")
    let videos = try await bucket.objects()
    let gone = try #require(videos.first)
    _ = try await bucket.client.send(
      S3Request(.delete, ObjectKey(gone), task: "remove", permission: "s3:DeleteObject"))
    let made = try await bench.reel(
      "poster", "--missing", "--to", to, "--size", "64", "--jsonl", environment: Self.environment)
    #expect(made.status == 3 && made.output.contains("does not have it any more"), "\(made)")
    let posts = try #require(try await bench.reel("feed", "--json").object()["posts"] as? [[String: Any]])
    let posters = posts.compactMap { $0["poster"] as? String }
    #expect(posters.count == 2 && posts.compactMap { $0["posterURL"] as? String }.count == 2)
    #expect(try await bucket.objects() == videos.subtracting([gone]).union(posters))
    #expect(
      try FileManager.default.contentsOfDirectory(
        atPath: bench.library.appendingPathComponent("tmp").path
      ).isEmpty)
  }

  @Test("posts in a bucket are removed, edited, and moved there and back, with the keys given for it")
  func changes() async throws {
    let (bench, bucket) = (try Workbench(reader: .fake), try await TestBucket())
    try bench.addDistinct(3)
    let (to, keys) = (bucket.address + "/videos", Self.environment)
    #expect(try await bench.reel("ingest", "clips").status == 0)
    let moved = try await bench.reel("move", "clips/clip-00000.mp4", "--to", to, environment: keys)
    #expect(moved.status == 0, "\(moved)")
    #expect(try await bucket.objects().count == 1)
    #expect(try bench.objects().count == 2)
    // An edit sends nothing to the bucket, so it needs no key.
    #expect(try await bench.reel("edit", "clips/clip-00000.mp4", "--caption", "Harbour").status == 0)
    #expect(try await bench.reel("verify", "--read", "--to", to, environment: keys).status == 0)

    // The keys are used only for a store that is named.
    let unnamed = try await bench.reel("move", "clips/clip-00000.mp4", "--to", "other", environment: keys)
    #expect(unnamed.status == 3 && unnamed.output.contains("--from"), "\(unnamed)")
    let back = try await bench.reel(
      "move", "clips/clip-00000.mp4", "--to", "other", "--from", to, environment: keys)
    #expect(back.status == 0, "\(back)")
    #expect(try await bucket.objects().isEmpty)
    #expect(bench.names(in: "other").count == 1)
    let settings = keys.merging(["REEL_TO": to]) { $1 }
    for place in [to, "third"] {
      let again = try await bench.reel("move", "clips/clip-00000.mp4", "--to", place, environment: settings)
      #expect(again.status == 0, "\(again)")
    }
    #expect(
      try await bench.reel("move", "clips/clip-00000.mp4", "--to", to, environment: keys).status == 0)

    let withheld = try await bench.reel("remove", "clips/clip-00000.mp4", environment: keys)
    #expect(withheld.status == 3 && withheld.output.contains("--to"), "\(withheld)")
    #expect(try await bucket.objects().count == 1)
    let removed = try await bench.reel("remove", "clips/clip-00000.mp4", "--to", to, environment: keys)
    #expect(removed.status == 0, "\(removed)")
    #expect(try await bucket.objects().isEmpty)
    let restored = try await bench.reel("restore", "clips/clip-00000.mp4", "--to", to, environment: keys)
    #expect(restored.status == 0, "\(restored)")
    #expect(try await bucket.objects().count == 1)
    #expect(try await bench.id(of: "clips/clip-00000.mp4").isEmpty == false)
  }

  @Test("two addresses of one bucket are detected, and a move between them leaves posts where they are")
  func twoAddresses() async throws {
    let (bench, bucket) = (try Workbench(reader: .fake), try await TestBucket())
    try bench.addDistinct(2)
    let (to, keys) = (bucket.address + "/videos", Self.environment)
    #expect(try await bench.reel("ingest", "clips", "--to", to, environment: keys).status == 0)
    let objects = try await bucket.objects()
    let addresses = try await bench.feed().map { $0["videoURL"] as? String }
    let other = to.replacingOccurrences(of: "127.0.0.1", with: "localhost")
    let moved = try await bench.reel(
      "move", "--since", "1d", "--to", other, "--from", to, environment: keys)
    #expect(moved.status == 3 && moved.output.contains("are the same store"), "\(moved)")
    #expect(try await bucket.objects() == objects)
    #expect(try await bench.feed().map { $0["videoURL"] as? String } == addresses)
    #expect(try await bench.reel("verify", "--read", "--to", to, environment: keys).status == 0)
    #expect(try await bench.reel("prune").output == "0 removed or finished\n")
  }

  @Test("no poster is made from another object under the name of a post's video")
  func missingPosterOfAnother() async throws {
    let (bench, bucket) = (try Workbench(), try await TestBucket())
    try bench.add("clips/faststart.mp4")
    let library = bench.library
    #expect(
      try await bench.reel("ingest", "clips", "--to", bucket.address, environment: Self.environment).status
        == 0)
    let name = try #require(try await bucket.objects().first)
    let size =
      try FileManager.default.attributesOfItem(
        atPath: bench.clips.appendingPathComponent("faststart.mp4").path)[.size] as? Int
    let other = [UInt8](repeating: 7, count: try #require(size))
    _ = try await bucket.client.send(
      S3Request(.delete, ObjectKey(name), task: "remove", permission: "s3:DeleteObject"))
    let source = UploadSource(other, contentType: "video/mp4")
    _ = try await S3Uploader(
      bucket.client.store, options: S3Options(), transport: try CurlTransport.patient(),
      credentials: FixedCredentials(
        S3Credentials(keyID: SwiftS3Server.key.id, secret: Secret(SwiftS3Server.key.secret)))
    ).upload(source, to: try #require(ObjectKey(name))) { _ in }
    let made = try await bench.reel(
      "poster", "--missing", "--to", bucket.address, environment: Self.environment)
    #expect(made.status == 3 && made.errors.contains("something else in its place"), "\(made)")
    #expect(try LibraryInspection(library: library).posters.isEmpty)
  }

  @Test("an unusable store does not keep posts in other stores from getting posters")
  func missingPostersElsewhere() async throws {
    let (bench, bucket) = (try Workbench(), try await TestBucket())
    try bench.add("clips/faststart.mp4")
    #expect(
      try await bench.reel("ingest", "clips", "--to", bucket.address, environment: Self.environment).status
        == 0)
    var environment = Self.environment
    environment["REEL_TO"] = bucket.address
    environment["AWS_SECRET_ACCESS_KEY"] = "wrong"
    let alone = try await bench.reel("poster", "--missing", environment: environment)
    #expect(alone.status == 3 && alone.output == "0 posters made\n", "\(alone)")
    #expect(try await bench.reel("ingest", "clips").status == 0)
    let made = try await bench.reel("poster", "--missing", environment: environment)
    #expect(made.status == 3 && made.output.contains("1 poster made"), "\(made)")
    #expect(made.errors.contains("127.0.0.1"), "\(made)")
  }

  /// A server that takes nothing for a minute is given up.
  @Test("`kill -9` in the middle of a large file costs only the parts in transit", .ownThread)
  func resume() async throws {
    let proxy = try await CountingProxy.start(to: try BesideSwiftS3.server().port)
    let (bench, bucket) = (try Workbench(), try await TestBucket(at: proxy.port))
    let (size, part) = (100 << 20, 8 << 20)
    try bench.addLarge(size)
    let arguments = ["ingest", "clips", "--library", bench.library.path, "--to", bucket.address]

    proxy.stall(after: 70 << 20)
    let running = try ReelBinary.start(arguments, in: bench.folder, environment: Self.environment)
    var before = -1
    while running.process.isRunning, proxy.sent != before || proxy.sent < 60 << 20 {
      before = proxy.sent
      try await rest(milliseconds: 1000)
    }
    running.send(SIGKILL)
    let killed = try await running.outcome()
    try #require(killed.wasKilled, "\(killed.output) \(killed.errors)")
    #expect(try await bucket.objects().isEmpty)
    let stored = try await bucket.unfinishedBytes()
    #expect(stored >= before - 5 * part, "only \(stored) of \(before) bytes are in parts")

    proxy.stall(after: nil)
    let begun = proxy.sent
    let again = try await ReelBinary.run(arguments, in: bench.folder, environment: Self.environment)
    #expect(again.status == 0, "\(again.errors)")
    let sent = proxy.sent - begun
    #expect(
      sent < size - stored + 1 << 20, "\(sent) bytes were sent, and \(stored) of \(size) were there")
    #expect(try await bucket.objects().count == 1)
    #expect(try await bucket.unfinishedBytes() == 0)
    let inspection = try LibraryInspection(library: bench.library)
    #expect(inspection.published.count == 1)
    print("resumed: \(before) bytes went out before the kill, \(stored) were kept, \(sent) after it")
    await proxy.stop()
  }

  @Test("a page is uploaded with its videos, whatever the prefix, and nothing the second time")
  func page() async throws {
    let (bench, bucket) = (try Workbench(), try await TestBucket())
    try bench.addDistinct(3)
    #expect(try await bench.reel("ingest", "clips").status == 0)
    let arguments = [
      "page", "-o", "site", "--library", bench.library.path, "--to", bucket.address + "/a b+ü",
    ]
    let first = try await ReelBinary.run(
      arguments + ["--media", "link"], in: bench.folder, environment: Self.environment)
    #expect(
      first.status == 0 && first.output.contains("11 files uploaded"), "\(first.output) \(first.errors)")
    let names = try FileManager.default.subpathsOfDirectory(atPath: bench.folder.path + "/site")
    #expect(try await bucket.objects() == Set(names.filter { $0.contains(".") }.map { "a b+ü/" + $0 }))
    let again = try await ReelBinary.run(arguments, in: bench.folder, environment: Self.environment)
    #expect(again.output.contains("nothing to upload: "), "\(again.output) \(again.errors)")
  }

  @Test("mistakes are reported in one line, before anything is read or written")
  func mistakes() async throws {
    let (bench, bucket) = (try Workbench(), try await TestBucket())
    try bench.addDistinct(1)
    let key = Self.environment
    for (arguments, environment, words) in [
      (
        ["--to", bucket.address], ["AWS_ACCESS_KEY_ID": "test:tester", "AWS_SECRET_ACCESS_KEY": "no"],
        "secret of the access key"
      ),
      (["--to", bucket.address], [:], "looked in: AWS_ACCESS_KEY_ID"),
      (["--to", bucket.address, "--profile", "work"], key, "profile work"),
      (["--to", bucket.address + "x"], key, "no bucket named"),
      (["--to", "s3://" + bucket.name, "--endpoint", "http://store.example"], key, "--insecure-http"),
      (["--to", "s3://" + bucket.name, "--endpoint", "http://127.0.0.1:1"], key, "can't be reached"),
      (["--to", bucket.address, "--ca-file", "none.pem"], key, "none.pem"),
    ] as [([String], [String: String], String)] {
      let outcome = try await ReelBinary.run(
        ["ingest", "clips", "--library", bench.library.path] + arguments, in: bench.folder,
        environment: environment)
      #expect(outcome.status == 1, "\(arguments): \(outcome.errors)")
      // A run that ends gives the reason in its summary; one that can't begin, on standard error.
      let said = outcome.errors + outcome.output
      #expect(said.contains(words), "\(arguments): \(said)")
      #expect(!said.contains(" published"))
    }
    let endpoint = try await bench.reel(
      "ingest", "clips", "--to", "s3://" + bucket.name, "--endpoint", "store.example", environment: key)
    #expect(endpoint.status == 64 && endpoint.errors.contains("written like https://host"))
    let wrong = try await bench.reel("ingest", "clips", "--to", "s3://key:hunter2@bucket")
    #expect(wrong.status == 64 && !wrong.errors.contains("hunter2"))
    #expect(try await bucket.objects().isEmpty)
  }

  @Test("settings also come from a file and the environment, and determine the viewers' addresses")
  func settings() async throws {
    let (bench, bucket) = (try Workbench(), try await TestBucket())
    try bench.addDistinct(2)
    try bench.write(
      "to: s3://\(bucket.name)/p\nendpoint: http://127.0.0.1:\(bucket.port)\npathStyle: true\npresign: 600\n",
      to: "../config.yaml")
    let signed = try await bench.reel(
      "publish", "clips/clip-00000.mp4", "--config", "config.yaml", "--json", environment: Self.environment)
    #expect(signed.status == 0, "\(signed.errors)")
    #expect(signed.output.contains("X-Amz-Expires=600"))
    let own = try await bench.reel(
      "publish", "clips/clip-00001.mp4", "--json",
      environment: Self.environment.merging([
        "REEL_TO": "s3://\(bucket.name)", "REEL_ENDPOINT": "http://127.0.0.1:\(bucket.port)",
        "REEL_PUBLIC_BASE_URL": "https://cdn.example/v",
      ]) { $1 })
    #expect(
      own.output.contains("https:\\/\\/cdn.example\\/v\\/") || own.output.contains("https://cdn.example/v/")
    )
  }

  @Test(
    "`feed --presign` signs new addresses for posts in the named bucket only")
  func renewedAddresses() async throws {
    let (bench, bucket) = (try Workbench(), try await TestBucket())
    try bench.addDistinct(2)
    let published = try await bench.reel(
      "publish", "clips/clip-00000.mp4", "--to", bucket.address, "--posters", "required", "--presign", "1",
      environment: Self.environment)
    #expect(published.status == 0, "\(published.errors)")
    let local = try await bench.reel("publish", "clips/clip-00001.mp4", "--json")
    let localURL = try #require(try local.object()["videoURL"] as? String)

    let feed = try await bench.reel(
      "feed", "--json", "--presign", "600", "--to", bucket.address, environment: Self.environment)
    #expect(feed.status == 0, "\(feed.errors)")
    #expect(feed.errors.contains("1 post is not in \(bucket.address)"))
    let posts = try #require(try feed.object()["posts"] as? [[String: Any]])
    #expect(posts.count == 2 && posts.first?["videoURL"] as? String == localURL)
    let signed = try #require(posts.last)
    for (key, size) in [("videoURL", signed["size"] as? Int), ("posterURL", nil)] {
      let url = try #require(signed[key] as? String)
      #expect(url.contains("X-Amz-Expires=600&"))
      let address = try #require(URL(string: url))
      let reply = try await CurlTransport.patient().send(
        HTTPCall(
          .get, HTTPAddress(parsing: "http://127.0.0.1:\(bucket.port)").origin,
          address.path + "?" + (address.query ?? "")))
      #expect(reply.status == .ok)
      #expect(size == nil ? reply.body.starts(with: [0xFF, 0xD8]) : reply.body.count == size, "\(key)")
    }

    // The catalog keeps its addresses. The settings supply the bucket and the time.
    let kept = try await bench.reel("feed", "--json")
    #expect(kept.output.contains("X-Amz-Expires=1&") && !kept.output.contains("X-Amz-Expires=600"))
    let set = try await bench.reel(
      "feed", "--presign", "--json",
      environment: Self.environment.merging(["REEL_TO": bucket.address, "REEL_PRESIGN": "77"]) { $1 })
    #expect(set.output.contains("X-Amz-Expires=77&"), "\(set.errors)")
    let usual = try await bench.reel(
      "feed", "--to", bucket.address, "--json", "--presign", environment: Self.environment)
    #expect(usual.output.contains("X-Amz-Expires=3600&"), "\(usual.errors)")
  }

  @Test("`feed --presign` says what it needs")
  func unsignable() async throws {
    let (bench, bucket) = (try Workbench(), try await TestBucket())
    for (arguments, words) in [
      (["--presign"], "--presign goes with --json"), (["--json", "--presign"], "name it with --to"),
      (["--json", "--to", bucket.address], "--to goes with --presign"),
      (["--json", "--presign", "0", "--to", bucket.address], "0"),
      (["--json", "--presign", "--to", "elsewhere"], "--presign is for S3"),
    ] {
      let outcome = try await ReelBinary.run(
        ["feed", "--library", bench.library.path] + arguments, in: bench.folder, environment: Self.environment
      )
      #expect(outcome.status == 64 && outcome.errors.contains(words), "\(arguments): \(outcome.errors)")
    }
  }
}

@Suite(
  "the binary, over moto, whose replies differ",
  .enabled(if: MotoServer.isInstalled, MotoServer.absence), .besideMoto, .shortTime)
struct MotoBinaryTests {
  private static let environment = [
    "AWS_ACCESS_KEY_ID": MotoServer.key.id, "AWS_SECRET_ACCESS_KEY": MotoServer.key.secret,
  ]

  @Test("a large and a small file become posts at once, with one object each and no unfinished upload")
  func ingest() async throws {
    let (bench, bucket) = (
      try Workbench(), try await TestBucket(endpoint: try BesideMoto.server().endpoint)
    )
    try bench.addDistinct(1)
    try bench.addLarge(40 << 20)
    let first = try await bench.reel(
      "ingest", "clips", "--to", bucket.address, "--json", environment: Self.environment)
    #expect(first.status == 0, "\(first.output) \(first.errors)")
    #expect(try await bucket.objects() == Set(try LibraryInspection(library: bench.library).named))
    #expect(try await bucket.objects().count == 2)
    #expect(try await bucket.unfinishedBytes() == 0)
    let verified = try await bench.reel(
      "verify", "--read", "--to", bucket.address, environment: Self.environment)
    #expect(verified.status == 0, "\(verified.output) \(verified.errors)")
    let glance = try await bench.reel("verify", "--to", bucket.address, environment: Self.environment)
    #expect(glance.status == 0, "\(glance.output) \(glance.errors)")
  }

  @Test("a large object in another bucket of the same store becomes a post, complete")
  func withinTheStore() async throws {
    let endpoint = try BesideMoto.server().endpoint
    try await expectPostWithinTheStore(
      from: try await TestBucket(endpoint: endpoint), to: try await TestBucket(endpoint: endpoint),
      environment: Self.environment)
  }

  @Test("`reel uploader check` finds every promise kept")
  func check() async throws {
    let (bench, bucket) = (
      try Workbench(), try await TestBucket(endpoint: try BesideMoto.server().endpoint)
    )
    let outcome = try await bench.reel(
      "uploader", "check", bucket.address, environment: Self.environment)
    let broken = outcome.output.split(separator: "\n").filter { !$0.hasPrefix("pass") }.joined(
      separator: "\n")
    #expect(outcome.status == 0, "\(broken) \(outcome.errors)")
    #expect(try await bucket.objects().isEmpty)
  }
}

extension Workbench {
  /// Adds a video of about `size` bytes that do not repeat: a sample followed by a `free` box.
  func addLarge(_ size: Int, as name: String = "large.mp4") throws {
    var bytes = try Data(contentsOf: Self.sample("clips/faststart.mp4"))
    var draws = SplitMix64(seed: UInt64(size))
    let filler = draws.bytes(size - bytes.count)
    bytes += withUnsafeBytes(of: UInt32(filler.count + 8).bigEndian) { Data($0) } + Data("free".utf8)
    bytes += filler
    try bytes.write(to: clips.appendingPathComponent(name))
  }
}

private func expectPostWithinTheStore(
  from uploads: TestBucket, to bucket: TestBucket, environment: [String: String]
) async throws {
  let bench = try Workbench()
  try bench.addLarge(24 << 20)
  let bytes = try Data(contentsOf: bench.clips.appendingPathComponent("large.mp4"))
  try await uploads.put(Array(bytes), as: "2026/a clip+.mp4")
  let outcome = try await bench.reel(
    "ingest", uploads.address + "/2026/", "--to", bucket.address, "--json", environment: environment)
  #expect(outcome.status == 0, "\(outcome.output) \(outcome.errors)")
  #expect(try await bucket.objects() == Set(try LibraryInspection(library: bench.library).named))
  #expect(try await bucket.unfinishedBytes() == 0)
  let verified = try await bench.reel(
    "verify", "--read", "--to", bucket.address, environment: environment)
  #expect(verified.status == 0, "\(verified.output) \(verified.errors)")
}
