import Foundation
import ReelFakeGoogle
import ReelHTTPFakes
import ReelLibrary
import ReelTestSupport
import Synchronization
import Testing

extension Workbench {
  /// Changes the catalog so that it names the destination `new` instead of `old`.
  fileprivate func rename(destination old: String, to new: String) throws {
    let catalog = try Connection(library.appendingPathComponent("catalog.sqlite").path)
    try catalog.run("UPDATE destination SET name = ? WHERE name LIKE ?", [new, old])
    try #require(catalog.changeCount == 1)
    try catalog.close()
  }
}

@Suite("a secret is sent only to the destination that it was given for", .shortTime)
struct SecretDestinationTests {
  private static let token = "t0ken-of-another-server"

  private func isTold(_ server: LoopbackServer, _ secret: String) -> Bool {
    server.requests.contains { request in request.headers.contains { $0.value.contains(secret) } }
  }

  private func kinds(_ outcome: ReelBinary.Outcome) throws -> [String] {
    try #require(try outcome.object()["problems"] as? [[String: Any]]).compactMap { $0["kind"] as? String }
  }

  @Test("the present tus token is not sent to another server named by the catalog, which is reported")
  func tus() async throws {
    let bench = try Workbench()
    try bench.addDistinct(2)
    let (first, second) = (try await SmallTusServer.start(), try await SmallTusServer.start())
    for (server, file) in [(first, "clip-00000.mp4"), (second, "clip-00001.mp4")] {
      let stored = try await bench.reel(
        "publish", "clips/\(file)", "--to", server.address, environment: ["REEL_TUS_TOKEN": "own-token"])
      #expect(stored.status == 0, "\(stored.output) \(stored.errors)")
    }
    let heard = [first, second].map(\.server.requests.count)
    let environment = ["REEL_TUS_TOKEN": Self.token]

    let unnamed = try await bench.reel("verify", "--json", environment: environment)
    #expect(unnamed.status == 1, "\(unnamed.output) \(unnamed.errors)")
    #expect(try kinds(unnamed) == ["notLookedAt", "notLookedAt"])
    #expect(try unnamed.object()["notLookedAt"] as? Int == 2)
    #expect(try unnamed.object()["objects"] as? Int == 0)
    #expect([first, second].map(\.server.requests.count) == heard)
    let told = try await bench.reel("verify", environment: environment)
    #expect(told.output.contains("--to '\(second.address)'"), "\(told.output)")

    let settings = environment.merging(["REEL_TO": second.address]) { $1 }
    let one = try await bench.reel("verify", "--json", environment: settings)
    #expect(one.status == 1)
    #expect(try kinds(one) == ["notLookedAt"])
    #expect(try one.object()["sound"] as? Int == 1)
    #expect(!isTold(first.server, Self.token) && isTold(second.server, Self.token))

    let named = try await bench.reel("verify", "--json", "--to", first.address, environment: environment)
    #expect(named.status == 0, "\(named.output) \(named.errors)")
    #expect(isTold(first.server, Self.token))
    // Servers that ask for no token are examined, whatever other servers there are.
    #expect(try await bench.reel("verify").status == 0)
    for server in [first, second] { await server.server.stop() }
  }

  @Test("AWS's keys sign no request to another endpoint than the one they were given for")
  func s3() async throws {
    let bench = try Workbench()
    try bench.addDistinct(1)
    #expect(try await bench.reel("ingest", "clips").status == 0)
    let (server, other) = (
      try await LoopbackServer.start { _ in .reply(404) },
      try await LoopbackServer.start { _ in .reply(404) }
    )
    let address = "s3+http://127.0.0.1:\(server.port)/bucket"
    try bench.rename(destination: "%", to: address)
    let keys = [
      "AWS_ACCESS_KEY_ID": "AKIAOTHER", "AWS_SECRET_ACCESS_KEY": "hunter2hunter2",
      "AWS_SESSION_TOKEN": Self.token,
    ]
    for more in [[:], ["REEL_TO": "s3+http://127.0.0.1:\(other.port)/bucket"], ["REEL_TO": "s3://bucket"]] {
      let outcome = try await bench.reel("verify", "--json", environment: keys.merging(more) { $1 })
      #expect(outcome.status == 1, "\(outcome.output) \(outcome.errors)")
      #expect(try kinds(outcome) == ["notLookedAt"])
    }
    #expect(server.requests.isEmpty && other.requests.isEmpty)
    let bucket = ["REEL_TO": "s3://another", "REEL_ENDPOINT": "http://127.0.0.1:\(server.port)"]
    for more in [["REEL_TO": address], bucket] {
      // The endpoint in the settings only redirects a store of Amazon's.
      let outcome = try await bench.reel("verify", "--json", environment: keys.merging(more) { $1 })
      #expect(outcome.status == 1, "\(outcome.output) \(outcome.errors)")
      #expect(try kinds(outcome) == ["unreachable"])
    }
    #expect(try await bench.reel("verify", "--to", address, environment: keys).status == 1)
    #expect(isTold(server, Self.token) && other.requests.isEmpty)
    for server in [server, other] { await server.stop() }
  }

  @Test("a program named by the catalog gets no variables that were passed for another one")
  func command() async throws {
    let bench = try Workbench()
    try bench.addDistinct(1)
    let adapter = ReelBinary.project.appendingPathComponent("Samples/adapters/folder.sh").path
    let own = bench.folder.appendingPathComponent("own.sh").path
    try FileManager.default.copyItem(atPath: adapter, toPath: own)
    let folder = ["REEL_ADAPTER_FOLDER": bench.folder.appendingPathComponent("store").path]
    let run = try await bench.reel("ingest", "clips", "--to", "command:" + own, environment: folder)
    #expect(run.status == 0, "\(run.errors)")
    let unnamed = try await bench.reel("verify", "--json", environment: folder)
    #expect(unnamed.status == 1)
    #expect(try kinds(unnamed) == ["notLookedAt"])
    let other = folder.merging(["REEL_TO": "command:" + adapter]) { $1 }
    #expect(try kinds(try await bench.reel("verify", "--json", environment: other)) == ["notLookedAt"])
    let same = folder.merging(["REEL_TO": "command:" + own + "#x"]) { $1 }
    #expect(try await bench.reel("verify", environment: same).status == 0)
  }
}

@Suite("a store that the present settings would redirect is left alone", .shortTime)
struct OtherStoreTests {
  private static func environment(_ fake: FakeGoogle) -> [String: String] {
    [
      "STORAGE_EMULATOR_HOST": "127.0.0.1:\(fake.port)",
      "FIRESTORE_EMULATOR_HOST": "http://127.0.0.1:\(fake.port)",
      "GOOGLE_CLOUD_PROJECT": FakeGoogle.project,
    ]
  }

  private func state(_ fake: FakeGoogle) -> [[String]] {
    [fake.objectNames.sorted(), fake.ids(in: "Post")]
  }

  @Test(
    "`reel doctor --fix` withdraws and removes nothing in an emulator that stands for a real bucket",
    .needsFailpoints)
  func firebase() async throws {
    let (bench, fake) = (try Workbench(), try await FakeGoogle.start())
    try bench.addDistinct(1)
    let killed = try await bench.reel(
      "ingest", "clips", "--to", "firebase://\(FakeGoogle.bucket)/videos",
      environment: Self.environment(fake).merging(["REEL_DIE_AT": "recorded"]) { $1 })
    #expect(killed.wasKilled)
    let before = state(fake)
    try #require(before.map(\.count) == [1, 1])
    try bench.rename(destination: "firebase%", to: "firebase://\(FakeGoogle.bucket)/videos")
    let doctor = try await bench.reel(
      "doctor", "--fix", "--grace", "0", "--json", environment: Self.environment(fake))
    #expect(doctor.status == 3, "\(doctor.output) \(doctor.errors)")
    #expect(doctor.output.contains("store.unreachable"))
    #expect(doctor.output.contains("STORAGE_EMULATOR_HOST"))
    #expect(state(fake) == before)
  }

  @Test("a bucket of Amazon's is not looked up at the endpoint in the environment")
  func s3() async throws {
    let bench = try Workbench()
    try bench.addDistinct(1)
    #expect(try await bench.reel("ingest", "clips").status == 0)
    try bench.rename(destination: "%", to: "s3://bucket/videos")
    let server = try await LoopbackServer.start { _ in .reply(404) }
    let outcome = try await bench.reel(
      "verify", "--json", "--to", "s3://bucket/videos",
      environment: [
        "AWS_ENDPOINT_URL": "http://127.0.0.1:\(server.port)", "AWS_ACCESS_KEY_ID": "AKIAOTHER",
        "AWS_SECRET_ACCESS_KEY": "hunter2hunter2",
      ])
    #expect(outcome.status == 1, "\(outcome.output) \(outcome.errors)")
    #expect(outcome.output.contains("$AWS_ENDPOINT_URL"))
    #expect(server.requests.isEmpty)
    await server.stop()
  }

  @Test("a folder behind a new link is another store, and its files are not taken for the posts' objects")
  func folder() async throws {
    let bench = try Workbench()
    try bench.addDistinct(2)
    let (store, moved) = (bench.folder.path + "/store", bench.folder.path + "/moved")
    #expect(try await bench.reel("ingest", "clips", "--to", store).status == 0)
    try FileManager.default.moveItem(atPath: store, toPath: moved)
    try FileManager.default.createSymbolicLink(atPath: store, withDestinationPath: moved)
    for command in ["verify", "doctor"] {
      let outcome = try await bench.reel(command, "--json")
      #expect(outcome.status == (command == "verify" ? 1 : 3), "\(outcome.output) \(outcome.errors)")
      #expect(outcome.output.contains("unreachable"))
    }
  }
}

/// A minimal server for tus 1.0.0, with one upload at a time in memory.
private struct SmallTusServer: Sendable {
  let server: LoopbackServer

  var address: String { "tus+http://127.0.0.1:\(server.port)/files" }

  static func start() async throws -> SmallTusServer {
    let store = TusStore()
    return SmallTusServer(server: try await LoopbackServer.start { store.answer($0) })
  }
}

private final class TusStore: Sendable {
  private let upload = Mutex((length: 0, offset: 0))

  func answer(_ request: ReceivedRequest) -> ServerAction {
    let version = ("Tus-Resumable", "1.0.0")
    let (length, offset) = upload.withLock { upload in
      if request.method == "POST" { upload = (Int(request.header("Upload-Length") ?? "") ?? 0, 0) }
      if request.method == "PATCH" { upload.offset += request.body.count }
      return upload
    }
    let standing = [version, ("Upload-Offset", "\(offset)"), ("Upload-Length", "\(length)")]
    return switch request.method {
    case "OPTIONS":
      .reply(204, headers: [version, ("Tus-Version", "1.0.0"), ("Tus-Extension", "creation")])
    case "POST": .reply(201, headers: [version, ("Location", "/files/one")])
    case "PATCH": .reply(204, headers: standing)
    default: .reply(200, headers: standing)
    }
  }
}
