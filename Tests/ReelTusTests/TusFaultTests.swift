import Foundation
import ReelCore
import ReelCrypto
import ReelFaultCampaign
import ReelHTTPFakes
import ReelLibrary
import ReelTestSupport
import Synchronization
import Testing

@testable import ReelRemoteStorage

@Suite("one object and one post survive every fault", .serialized, .shortTime, .notQuick)
struct TusFaultTests {
  /// The extensions of the fake. Silent damage is tested only with checksums.
  enum Kind: String, CaseIterable, Sendable, CustomTestStringConvertible {
    case checksums, firstPart, core

    var testDescription: String { rawValue }
    var extensions: String {
      switch self {
      case .checksums: "creation,termination,checksum"
      case .firstPart: "creation,termination,creation-with-upload,expiration"
      case .core: "creation"
      }
    }

    /// The faults to test. Without a checksum, only TLS detects a bit that was flipped on the way.
    var faults: [FaultKind] {
      (FaultKind.common + FaultKind.tus).filter { self == .checksums || !$0.isSilentDamage }
    }
  }

  private static let size = 150_001

  @Test(
    "over a fake", .needsPython,
    arguments: Kind.allCases, [false, true])
  func fake(_ kind: Kind, hasPoster: Bool) async throws {
    let pool = ServerPool {
      try await PythonServer.start(
        "fake.py", ["--extensions", kind.extensions, "--token", TusToken.text],
        python: try #require(PythonProgram.path))
    }
    let campaign = FaultCampaign(
      "tus fake, \(kind)\(hasPoster ? ", with a poster" : "")", size: Self.size, kinds: kind.faults,
      hasPoster: hasPoster, oneKindIn: kind == .checksums && !hasPoster ? 1 : 4
    ) {
      FakeBehindProxy(
        server: try await pool.take(), pool: pool, transport: try CurlTransport.patient())
    }
    try await campaign.run()
  }

  @Test(
    "over tuspyserver",
    .enabled(
      if: Project.tuspyserver != nil,
      "tuspyserver is not installed; `scripts/lib/tus-server install .build/servers/tus` does it"))
  func tuspyserver() async throws {
    let folders = Mutex<[Int: String]>([:])
    let pool = ServerPool {
      let folder = FileManager.default.temporaryDirectory.path + "/reel-tuspy-\(UUID().uuidString)"
      try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
      let server = try await PythonServer.start(
        "tuspy.py", [folder], python: try #require(Project.tuspyserver))
      folders.withLock { $0[server.port] = folder }
      return server
    }
    let campaign = FaultCampaign(
      "tuspyserver", size: Self.size, kinds: Kind.core.faults, oneKindIn: 4
    ) {
      let server = try await pool.take()
      return TuspyBehindProxy(
        server: server, pool: pool, folder: folders.withLock { $0[server.port] } ?? "")
    }
    defer {
      for folder in folders.withLock({ Array($0.values) }) {
        try? FileManager.default.removeItem(atPath: folder)
      }
    }
    try await campaign.run()
  }
}

extension FaultKind {
  /// The faults that only a tus server can produce.
  static let tus: [FaultKind] = [
    FaultKind("410", .answer(CannedReply(410)), passes: false),
    FaultKind("423", .answer(CannedReply(423)), on: ["PATCH"]),
    FaultKind("460", .answer(CannedReply(460)), on: ["PATCH"]),
    FaultKind("460 after it was done", .replace(CannedReply(460)), on: ["PATCH"]),
    FaultKind("an Upload-Offset that is too large", .edit { $0.shiftOffset(by: 7) }),
    FaultKind("an Upload-Offset that is too small", .edit { $0.shiftOffset(by: -7) }),
    FaultKind("no Upload-Offset", .edit { $0["upload-offset"] = nil }, passes: false),
    FaultKind("no Location", .edit { $0["location"] = nil }, passes: false),
    FaultKind(
      "a Location elsewhere",
      .edit { if $0["location"] != nil { $0["location"] = "{elsewhere}/files/another" } }, passes: false,
      mayLead: true),
    FaultKind(
      "no Tus-Version",
      .edit {
        $0["tus-version"] = nil; $0["tus-resumable"] = nil
      }, passes: false),
  ]
}

extension WireReply {
  fileprivate mutating func shiftOffset(by bytes: Int) {
    if let offset = self["upload-offset"].flatMap({ Int($0) }) {
      self["upload-offset"] = "\(max(0, offset + bytes))"
    }
  }
}

private enum TusToken {
  static let text = "token-of-the-tests"
}

private protocol TusBehindProxy: StoreBehindProxy {
  var server: PythonServer { get }
}

extension TusBehindProxy {
  var port: Int { server.port }
  var secrets: [String] { [TusToken.text] }

  func services(through port: Int, _ transport: any HTTPTransport, _ catalog: SQLiteCatalog) throws
    -> (any Uploader, (any PostRecorder)?)
  {
    let endpoint = try #require(TusEndpoint("tus+http://127.0.0.1:\(port)/files/"))
    return (
      TusUploader(
        endpoint, transport: transport, token: Secret(TusToken.text), checkpoints: catalog,
        partSize: 1 << 16),
      nil
    )
  }
}

/// The fake server, which reports what it holds.
private struct FakeBehindProxy: TusBehindProxy {
  let server: PythonServer
  let pool: ServerPool
  let transport: CurlTransport

  func contents() async throws -> StoreContents {
    let seen = try await FakeTus(server: server, transport: transport).seen()
    return StoreContents(
      objects: seen.whole.map { ($0.metadata["filename"] ?? "?", ContentDigest(hex: $0.sha256)) })
  }

  func stop() async {
    // A server that no longer answers is not returned to the pool.
    guard (try? await FakeTus(server: server, transport: transport).expire(all: true)) != nil else {
      return
    }
    pool.giveBack(server)
  }
}

/// tuspyserver, whose folder is inspected.
private struct TuspyBehindProxy: TusBehindProxy {
  let server: PythonServer
  let pool: ServerPool
  let folder: String

  private struct Info: Decodable {
    let metadata: [String: String]
    let size: Int?
  }

  func contents() async throws -> StoreContents {
    var objects: [(name: String, digest: ContentDigest?)] = []
    for name in try FileManager.default.contentsOfDirectory(atPath: folder) where name.hasSuffix(".info") {
      let info = try JSONDecoder().decode(
        Info.self, from: Data(contentsOf: URL(filePath: folder + "/" + name)))
      guard let bytes = try? Data(contentsOf: URL(filePath: folder + "/" + name.dropLast(5))),
        bytes.count == info.size
      else { continue }
      objects.append((info.metadata["filename"] ?? "?", ContentDigest(sha256: SHA256.hash(data: bytes))))
    }
    return StoreContents(objects: objects)
  }

  func stop() async {
    for name in (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? [] {
      try? FileManager.default.removeItem(atPath: folder + "/" + name)
    }
    pool.giveBack(server)
  }
}
