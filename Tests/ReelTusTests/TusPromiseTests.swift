import Foundation
import ReelHTTP
import ReelHTTPDoubles
import ReelModel
import ReelUploaderPromises
import ReelUploading
import Testing

@testable import ReelTus

/// The promises, over our double and over tuspyserver.
@Suite(.timeLimit(.minutes(60))) struct TusPromiseTests {
  enum Kind: String, CaseIterable, Sendable {
    case everything, core, checksums, firstPart

    var extensions: String {
      switch self {
      case .everything: TusDouble.everything
      case .core: "creation,termination"
      case .checksums: "creation,termination,checksum"
      case .firstPart: "creation,termination,creation-with-upload,expiration"
      }
    }
  }

  @Test(
    "over a double", .enabled(if: Project.python != nil, "SKIPPED: there is no python3"),
    arguments: Kind.allCases, UploaderPromise.all)
  func double(_ kind: Kind, _ promise: UploaderPromise) async throws {
    let double = try await TusDouble.start(kind.extensions)
    let checkpoints = MemoryCheckpoints()
    try await promise.check(
      StoreUnderTest(largeSize: 3 << 20 + 3) { try double.uploader(checkpoints, partSize: 1 << 20) })
    #expect(try await double.seen().whole.isEmpty)
  }

  @Test(
    "over tuspyserver",
    .enabled(
      if: Project.tuspyserver != nil,
      "SKIPPED: tuspyserver is not installed; `scripts/lib/tus-server install .build/servers/tus` does it"),
    arguments: UploaderPromise.all)
  func tuspyserver(_ promise: UploaderPromise) async throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: "reel-tuspy-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let server = try await PythonServer.start(
      "tuspy.py", [folder.path], python: try #require(Project.tuspyserver))
    let checkpoints = MemoryCheckpoints()
    let transport = try CurlTransport.patient()
    let endpoint = try #require(TusEndpoint("tus+http://127.0.0.1:\(server.port)/files"))
    try await promise.check(
      StoreUnderTest(largeSize: 3 << 20 + 3) {
        TusUploader(endpoint, transport: transport, checkpoints: checkpoints, partSize: 1 << 20)
      })
  }
}
