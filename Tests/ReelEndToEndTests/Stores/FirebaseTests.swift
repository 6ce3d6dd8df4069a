import Foundation
import ReelFakeGoogle
import ReelTestSupport
import Testing

@Suite("the binary, over a fake of Google's services", .shortTime)
struct FirebaseTests {
  private static func environment(_ fake: FakeGoogle) -> [String: String] {
    [
      "STORAGE_EMULATOR_HOST": "127.0.0.1:\(fake.port)",
      "FIRESTORE_EMULATOR_HOST": "http://127.0.0.1:\(fake.port)",
      "GOOGLE_CLOUD_PROJECT": FakeGoogle.project,
    ]
  }

  private static let address = "firebase://\(FakeGoogle.bucket)/videos"

  private func ingest(
    _ bench: Workbench, _ fake: FakeGoogle, _ more: String..., environment: [String: String] = [:]
  ) async throws -> ReelBinary.Outcome {
    try await ReelBinary.run(
      ["ingest", "clips", "--to", Self.address, "--json", "--library", bench.library.path] + more,
      in: bench.folder, environment: Self.environment(fake).merging(environment) { $1 })
  }

  private func doctor(_ bench: Workbench, _ fake: FakeGoogle) async throws -> ReelBinary.Outcome {
    try await ReelBinary.run(
      ["doctor", "--fix", "--grace", "0", "--library", bench.library.path], in: bench.folder,
      environment: Self.environment(fake))
  }

  private func count(_ outcome: ReelBinary.Outcome, _ name: String) throws -> Int? {
    (try outcome.object()["summary"] as? [String: Any])?[name] as? Int
  }

  /// Checks that each post of the library has one document for its object, and that there is nothing else.
  private func expectWhole(_ bench: Workbench, _ fake: FakeGoogle, _ count: Int) throws {
    let published = try LibraryInspection(library: bench.library).published
    #expect(published.count == count)
    let ids = fake.ids(in: "Post")
    #expect(ids.count == count && fake.objectNames.count == count)
    let videos = ids.compactMap { fake.fields("Post/\($0)")?["video"]?["stringValue"] as? String }
    #expect(Set(videos.map { "videos/" + $0 }) == Set(fake.objectNames))
    let numbers = ids.compactMap {
      (fake.fields("Post/\($0)")?["pageNumber"]?["integerValue"] as? String).flatMap { Int($0) }
    }
    #expect(Set(numbers).count == count)
  }

  @Test("a folder of videos becomes objects and documents, once; an upload's address is never revealed")
  func ingest() async throws {
    let (bench, fake) = (try Workbench(), try await FakeGoogle.start())
    try bench.addDistinct(12)
    let first = try await ingest(bench, fake, "--events", "events.jsonl")
    #expect(first.status == 0, "\(first.errors)")
    try expectWhole(bench, fake, 12)
    let again = try await ingest(bench, fake)
    #expect(try count(again, "duplicates") == 12)
    try expectWhole(bench, fake, 12)
    let verified = try await ReelBinary.run(
      ["verify", "--json", "--library", bench.library.path], in: bench.folder,
      environment: Self.environment(fake))
    #expect(verified.status == 0, "\(verified.errors)")
    #expect(try verified.object()["digestsCompared"] as? Int == 12)
    #expect(try verified.object()["recordsCompared"] as? Int == 12)
    for file in try FileManager.default.subpathsOfDirectory(atPath: bench.folder.path) {
      guard let data = try? Data(contentsOf: bench.folder.appendingPathComponent(file)) else { continue }
      #expect(
        data.range(of: Data(FakeGoogle.sessionMark.utf8)) == nil, "an upload's address is in \(file)")
    }
    for text in [first.output, first.errors, again.output, again.errors, verified.output] {
      #expect(!text.contains(FakeGoogle.sessionMark))
    }
  }

  @Test(
    "after a kill at any step, the same command completes everything: one object and document each",
    .needsFailpoints,
    arguments: ["intended", "uploaded", "verified", "recorded", "published", "told"], [1, 3])
  func killed(_ step: String, _ nth: Int) async throws {
    let (bench, fake) = (try Workbench(), try await FakeGoogle.start())
    try bench.addDistinct(4)
    let killed = try await ingest(bench, fake, environment: ["REEL_DIE_AT": "\(step):\(nth)"])
    #expect(killed.wasKilled)
    // No document names an object that does not exist.
    for id in fake.ids(in: "Post") {
      let video = fake.fields("Post/\(id)")?["video"]?["stringValue"] as? String ?? ""
      #expect(fake.objectNames.contains("videos/" + video))
    }
    let again = try await ingest(bench, fake)
    #expect(again.status == 0, "\(again.errors)")
    try expectWhole(bench, fake, 4)
  }

  @Test("`reel verify` reports a missing document, and one with another object")
  func verify() async throws {
    let (bench, fake) = (try Workbench(), try await FakeGoogle.start())
    try bench.addDistinct(3)
    #expect(try await ingest(bench, fake).status == 0)
    let ids = fake.ids(in: "Post")
    fake.remove("Post/\(ids[0])")
    fake.show("nobody.mp4", in: "Post/\(ids[1])")
    let before = fake.state.withLock { $0.commits }
    let outcome = try await ReelBinary.run(
      ["verify", "--json", "--library", bench.library.path], in: bench.folder,
      environment: Self.environment(fake))
    #expect(outcome.status == 3, "\(outcome.errors)")
    let problems = try #require(try outcome.object()["problems"] as? [[String: Any]])
    let kinds = Dictionary(
      problems.map { ($0["id"] as? String ?? "", $0["kind"] as? String ?? "") }, uniquingKeysWith: { $1 })
    #expect(kinds == [ids[0]: "unrecorded", ids[1]: "misrecorded"])
    #expect(try outcome.object()["recordsCompared"] as? Int == 1)
    #expect(fake.state.withLock { $0.commits } == before)
  }

  @Test("two libraries that publish at once get different numbers")
  func twoLibraries() async throws {
    let fake = try await FakeGoogle.start()
    let benches = [try Workbench(), try Workbench()]
    for bench in benches { try bench.addDistinct(8) }
    try await withThrowingTaskGroup { group in
      for bench in benches {
        group.addTask {
          let outcome = try await ingest(bench, fake)
          #expect(outcome.status == 0, "\(outcome.errors)")
        }
      }
      try await group.waitForAll()
    }
    let numbers = fake.ids(in: "Post").compactMap {
      (fake.fields("Post/\($0)")?["pageNumber"]?["integerValue"] as? String).flatMap { Int($0) }
    }
    #expect(numbers.sorted() == Array(1...16))
    #expect(fake.objectNames.count == 16)
  }

  @Test(
    "an object without a document is not a post; the next run finishes it, or the doctor removes it"
  )
  func refused() async throws {
    for isMended in [false, true] {
      let (bench, fake) = (try Workbench(), try await FakeGoogle.start())
      try bench.addDistinct(1)
      fake.break_(
        .init(words: ":beginTransaction", effect: .status(403, #"{"error":{"code":403,"message":"no"}}"#)))
      let refused = try await ingest(bench, fake)
      #expect(refused.status == 3, "\(refused.errors)")
      #expect(refused.output.contains("roles/datastore.user"))
      #expect(fake.objectNames.count == 1 && fake.ids(in: "Post").isEmpty)
      #expect(try LibraryInspection(library: bench.library).published.isEmpty)
      if isMended {
        let doctor = try await doctor(bench, fake)
        #expect(doctor.status == 0, "\(doctor.output) \(doctor.errors)")
        #expect(fake.objectNames.isEmpty && fake.ids(in: "Post").isEmpty)
      }
      let uploads = fake.requests.count { $0.method == "PUT" }
      let again = try await ingest(bench, fake)
      #expect(again.status == 0, "\(again.errors)")
      #expect((fake.requests.count { $0.method == "PUT" } == uploads) == !isMended)
      try expectWhole(bench, fake, 1)
    }
  }

  @Test("the doctor removes the document before the object", .needsFailpoints)
  func doctor() async throws {
    let (bench, fake) = (try Workbench(), try await FakeGoogle.start())
    try bench.addDistinct(1)
    #expect(try await ingest(bench, fake, environment: ["REEL_DIE_AT": "recorded"]).wasKilled)
    #expect(fake.objectNames.count == 1 && fake.ids(in: "Post").count == 1)
    // If a document can't be removed, its object and the row that names both are kept.
    // Two requests are made: one for an intent given up now, and one for an intent found given up.
    for _ in 0..<2 { fake.break_(.init(words: ":commit", effect: .status(403, "{}"))) }
    let first = try await doctor(bench, fake)
    #expect(first.status == 3, "\(first.output)")
    #expect(fake.objectNames.count == 1 && fake.ids(in: "Post").count == 1)
    let second = try await doctor(bench, fake)
    #expect(second.status == 0, "\(first.output) \(second.output)")
    #expect(fake.objectNames.isEmpty && fake.ids(in: "Post").isEmpty)
    let order = fake.requests.compactMap { request -> String? in
      if request.target.hasSuffix(":commit"),
        String(decoding: request.body, as: UTF8.self).contains("delete")
      {
        return "document"
      }
      return request.method == "DELETE" && request.target.contains("/o/") ? "object" : nil
    }
    #expect(order == ["document", "document", "document", "object"])
  }

  @Test("`reel uploader check` finds every promise kept, and leaves nothing behind, not even in Firestore")
  func check() async throws {
    let (bench, fake) = (try Workbench(), try await FakeGoogle.start())
    let outcome = try await ReelBinary.run(
      ["uploader", "check", Self.address, "--large-size", "1100000"], in: bench.folder,
      environment: Self.environment(fake))
    #expect(outcome.status == 0, "\(outcome.output) \(outcome.errors)")
    #expect(fake.objectNames.isEmpty && fake.state.withLock { $0.documents.isEmpty })
  }

  @Test("mistakes are reported in one line, before anything is read or written")
  func mistakes() async throws {
    let bench = try Workbench()
    try bench.addDistinct(1)
    let key = bench.folder.appendingPathComponent("key.json")
    try Data("no JSON, but s3cret".utf8).write(to: key)
    try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: key.path)
    func told(_ to: String, _ more: String..., environment: [String: String] = [:]) async throws -> String {
      let outcome = try await ReelBinary.run(
        ["ingest", "clips", "--to", to, "--library", bench.library.path] + more, in: bench.folder,
        environment: environment)
      #expect(outcome.status == 1 || outcome.status == 64, "\(outcome.errors)")
      #expect(outcome.errors.split(separator: "\n").count == 1, "\(outcome.errors)")
      #expect(!outcome.errors.contains("s3cret"))
      #expect(!FileManager.default.fileExists(atPath: bench.library.path))
      return outcome.errors
    }
    let bucket = "firebase://my-app.appspot.com"
    #expect(
      try await told(bucket).contains("no service account's key was found; looked in: --service-account"))
    #expect(try await told(bucket, "--service-account", key.path).contains("chmod 600"))
    try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: key.path)
    #expect(
      try await told(bucket, environment: ["GOOGLE_APPLICATION_CREDENTIALS": key.path]).contains(
        "is not the JSON"))
    #expect(try await told(bucket, "--service-account", key.path + "x").contains("is not there"))
    #expect(try await told("firebase://").contains("names no bucket"))
    #expect(try await told("firebase://My_Bucket!").contains("no bucket is named like that"))
    #expect(try await told("firebase+http://192.0.2.1:9199/my-app").contains("--insecure-http"))
    let emulated = ["STORAGE_EMULATOR_HOST": "127.0.0.1:1", "FIRESTORE_EMULATOR_HOST": "127.0.0.1:1"]
    #expect(try await told(bucket, environment: emulated).contains("which project's Firestore"))
    #expect(
      try await told(bucket, "--project", "My App", environment: emulated).contains("no project has the id")
    )
    #expect(
      try await told(bucket, environment: ["STORAGE_EMULATOR_HOST": "127.0.0.1:1/x"]).contains(
        "it holds a path"))
    // If only one of the two services were emulated, objects and posts would be in different places.
    #expect(
      try await told(bucket, environment: ["FIRESTORE_EMULATOR_HOST": "127.0.0.1:1"]).contains(
        "Firestore is emulated and the bucket is not"))
    #expect(
      try await told(bucket, environment: ["STORAGE_EMULATOR_HOST": "127.0.0.1:1"]).contains(
        "the bucket is emulated and Firestore is not"))
  }
}
