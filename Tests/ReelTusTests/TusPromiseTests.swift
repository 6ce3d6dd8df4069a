import Foundation
import ReelCore
import ReelHTTPFakes
import ReelStorage
import ReelStorageTesting
import ReelTestSupport
import Testing

@testable import ReelRemoteStorage

/// The promises, over our fake and over tuspyserver.
@Suite(.shortTime, .notQuick) struct TusPromiseTests {
  enum Kind: String, CaseIterable, Sendable {
    case everything, core, checksums, firstPart
    /// Removes nothing.
    case lasting

    var extensions: String {
      switch self {
      case .everything: FakeTus.everything
      case .core: "creation,termination"
      case .lasting: "creation"
      case .checksums: "creation,termination,checksum"
      case .firstPart: "creation,termination,creation-with-upload,expiration"
      }
    }
  }

  /// One server for all promises; it holds nothing when the next one begins.
  @Test(
    "over a fake", .enabled(if: Project.python != nil, "SKIPPED: there is no python3"),
    arguments: Kind.allCases)
  func fake(_ kind: Kind) async throws {
    let fake = try await FakeTus.start(kind.extensions)
    for promise in UploaderContractTest.all {
      let checkpoints = MemoryCheckpoints()
      await expect(promise) { try fake.uploader(checkpoints, partSize: 1 << 20) }
      if kind != .lasting { #expect(try await fake.seen().whole.isEmpty, "\(promise.name)") }
      try await fake.expire(all: true)
    }
  }

  @Test(
    "over tuspyserver",
    .enabled(
      if: Project.tuspyserver != nil,
      "SKIPPED: tuspyserver is not installed; `scripts/lib/tus-server install .build/servers/tus` does it"))
  func tuspyserver() async throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: "reel-tuspy-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let server = try await PythonServer.start(
      "tuspy.py", [folder.path], python: try #require(Project.tuspyserver))
    let transport = try CurlTransport.patient()
    let endpoint = try #require(TusEndpoint("tus+http://127.0.0.1:\(server.port)/files"))
    for promise in UploaderContractTest.all {
      let checkpoints = MemoryCheckpoints()
      await expect(promise) {
        TusUploader(endpoint, transport: transport, checkpoints: checkpoints, partSize: 1 << 20)
      }
    }
  }

  /// That it is kept; if not, the others are looked at all the same.
  private func expect(
    _ promise: UploaderContractTest, of uploader: @escaping @Sendable () throws -> any Uploader
  ) async {
    await #expect(throws: Never.self, "\(promise.name)") {
      try await promise.check(StoreUnderTest(largeSize: 3 << 20 + 3) { try uploader() })
    }
  }
}
