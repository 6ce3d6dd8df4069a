import Foundation
import HTTPTypes
import ReelCore
import ReelFaultCampaign
import ReelHTTPFakes
import ReelStorage
import ReelStorageTesting
import ReelTestSupport
import Synchronization
import Testing

@testable import ReelRemoteStorage

/// The contract tests over the fake and over tuspyserver.
@Suite(.shortTime, .notQuick) struct TusPromiseTests {
  enum Kind: String, CaseIterable, Sendable {
    case everything, core, checksums, firstPart
    /// A server that removes nothing.
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

  /// One server for all promises; it is emptied before each.
  @Test(
    "over a fake", .needsPython,
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
      "tuspyserver is not installed; `scripts/lib/tus-server install .build/servers/tus` does it"))
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

  /// When it has every byte, tusd calls its hooks and assembles the object in its bucket; whatever the outcome, HEAD
  /// reports the upload as complete.
  @Test(
    "what a server refuses after the last byte is no object and is sent once per run; a proxy's refusal decides nothing",
    arguments: [
      (500, true), (400, true), (403, true), (413, true), (500, false), (400, false), (423, true),
      (503, true), (429, true),
    ])
  func refusedAtTheEnd(_ status: Int, isOfServer: Bool) async throws {
    let server = RefusingServer(status, isOfServer: isOfServer)
    let (checkpoints, key) = (MemoryCheckpoints(), try #require(ObjectKey("k.mp4")))
    let source = TestSource(size: 9).upload
    func uploader() throws -> any Uploader {
      RetryingUploader(
        base: TusUploader(
          try #require(TusEndpoint("tus+https://host.example/files/")), transport: server.transport,
          checkpoints: checkpoints),
        clock: HurriedClock())
    }
    let isRefusal = isOfServer && ![423, 429, 503].contains(status)
    for run in 1...2 {
      var error: UploadError?
      do { _ = try await uploader().upload(source, to: key) { _ in } } catch let failure as UploadError {
        error = failure
      }
      #expect((error != nil) == (isRefusal || !isOfServer && status == 400 || run == 2), "\(status)")
      let found = try await uploader().find(key)
      #expect((found == nil) == isRefusal, "\(status)")
      guard isRefusal else { continue }
      #expect(error?.code == (status == 403 ? .denied : .rejected))
      #expect(error?.message.contains("\(status): a virus was found") == true, "\(error?.message ?? "")")
      #expect(try await uploader().readBack(key) == nil)
      let counts = server.counts
      #expect(counts.begun == run && counts.removed == run && counts.sent == 9 * run)
    }
  }

  @Test("a refusal recorded before the server could terminate the upload counts in the next run")
  func refusedBeforeADeath() async throws {
    let server = RefusingServer(500, isOfServer: true, answersToHead: false)
    let (checkpoints, key) = (MemoryCheckpoints(), try #require(ObjectKey("k.mp4")))
    func upload() async throws -> StoredObject {
      try await TusUploader(
        try #require(TusEndpoint("tus+https://host.example/files/")), transport: server.transport,
        checkpoints: checkpoints
      ).upload(TestSource(size: 9).upload, to: key) { _ in }
    }
    await #expect(throws: UploadError.self) { _ = try await upload() }
    server.mend()
    #expect(try await upload().size == 9)
    #expect(server.counts.begun == 2 && server.counts.removed == 1)
  }

  /// Expects that the promise is kept; the remaining ones are tested either way.
  private func expect(
    _ promise: UploaderContractTest, of uploader: @escaping @Sendable () throws -> any Uploader
  ) async {
    await #expect(throws: Never.self, "\(promise.name)") {
      try await promise.check(StoreUnderTest(largeSize: 3 << 20 + 3) { try uploader() })
    }
  }
}

/// A server that accepts every byte and answers the last part with the given status, its own or a proxy's.
private final class RefusingServer: Sendable {
  struct Counts {
    var begun = 0
    var removed = 0
    var sent = 0
    var isMended = false
  }

  let transport: ScriptedTransport
  private let state: SharedCounts

  private final class SharedCounts: Sendable {
    let counts = Mutex(Counts())
  }

  init(_ status: Int, isOfServer: Bool, answersToHead: Bool = true) {
    let state = SharedCounts()
    self.state = state
    transport = ScriptedTransport { sent async throws(HTTPFailure) in
      var fields: HTTPFields = [.tusResumable: "1.0.0"]
      let isMended = state.counts.withLock { $0.isMended }
      switch sent.call.method {
      case .options: (fields[.tusVersion], fields[.tusExtension]) = ("1.0.0", "creation,termination")
      case .post:
        let number = state.counts.withLock { counts in
          counts.begun += 1
          return counts.begun
        }
        fields[.location] = "/files/\(number)"
        return HTTPReply(status: .created, fields: fields)
      case .patch:
        state.counts.withLock { $0.sent += sent.body.count }
        if isMended {
          fields[.uploadOffset] = "9"
          break
        }
        return HTTPReply(
          status: .init(code: status), fields: isOfServer ? fields : [:],
          body: Array("a virus was found".utf8))
      case .delete: state.counts.withLock { $0.removed += 1 }
      case .head:
        if !answersToHead, !isMended { throw .broken("a test") }
        (fields[.uploadOffset], fields[.uploadLength]) = ("9", "9")
      default: return HTTPReply(status: .ok, body: TestSource(size: 9).bytes)
      }
      return HTTPReply(status: .noContent, fields: fields)
    }
  }

  var counts: Counts { state.counts.withLock { $0 } }

  func mend() { state.counts.withLock { $0.isMended = true } }
}
