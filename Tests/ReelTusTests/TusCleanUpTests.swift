import HTTPTypes
import ReelCore
import ReelCrypto
import ReelHTTPFakes
import ReelStorage
import Synchronization
import Testing

@testable import ReelRemoteStorage

/// Unfinished uploads are terminated, even if their task has been cancelled meanwhile.
@Suite(.shortTime) struct TusCleanUpTests {
  private let key: ObjectKey
  private let endpoint: TusEndpoint
  private let source = TestSource(size: 9).upload

  init() throws {
    key = try #require(ObjectKey("k.mp4"))
    endpoint = try #require(TusEndpoint("tus+https://host.example/files/"))
  }

  /// A server that reports 1 of 999 bytes for every upload. Its first reply about an upload cancels the requesting
  /// task.
  private final class Server: Sendable {
    private let ended = Mutex(0)
    /// The number of uploads that were terminated.
    var endings: Int { ended.withLock { $0 } }

    func transport() -> ScriptedTransport {
      ScriptedTransport { [self] sent async throws(HTTPFailure) in
        if Task.isCancelled { throw .cancelled }
        var fields: HTTPFields = [.tusResumable: "1.0.0"]
        switch sent.call.method {
        case .options:
          fields[.tusVersion] = "1.0.0"
          fields[.tusExtension] = "creation,termination"
        case .delete: ended.withLock { $0 += 1 }
        case .head:
          withUnsafeCurrentTask { $0?.cancel() }
          (fields[.uploadOffset], fields[.uploadLength]) = ("1", "999")
        default:
          withUnsafeCurrentTask { $0?.cancel() }
          fields[.location] = "/files/1"
          return HTTPReply(status: .created, fields: fields)
        }
        return HTTPReply(status: .noContent, fields: fields)
      }
    }
  }

  /// Uploads in a separate task, which the server cancels, and returns the error's code.
  private func failure(_ server: Server, _ checkpoints: any UploadCheckpoints) async -> UploadError.Code? {
    let uploader = TusUploader(endpoint, transport: server.transport(), checkpoints: checkpoints)
    return await uploader.failureInATask(uploading: source, to: key)
  }

  @Test("an earlier upload that can't be resumed is terminated before its checkpoint is removed")
  func earlier() async throws {
    let checkpoints = MemoryCheckpoints()
    let digest = try #require(ContentDigest(sha256: SHA256.hash(data: [UInt8]())))
    let place = TusUploadState(
      TusURL(origin: endpoint.origin, target: "/files/1"), through: 0, prefix: digest)
    let checkpoint = try #require(UploadCheckpoint(place.text, of: source.digest))
    #expect(try await checkpoints.exchange(nil, for: checkpoint, of: key, in: endpoint.destination))
    let server = Server()
    #expect(await failure(server, checkpoints) == .cancelled)
    #expect(server.endings == 1)
    #expect(try await checkpoints.checkpoint(of: key, in: endpoint.destination) == nil)
  }

  @Test(
    "an upload that can't be recorded is terminated: nothing could find it again",
    arguments: [(true, .unavailable), (false, .alreadyExists)] as [(Bool, UploadError.Code)])
  func unnamed(_ throwing: Bool, _ code: UploadError.Code) async throws {
    let server = Server()
    #expect(await failure(server, BrokenCheckpoints(throwing: throwing)) == code)
    #expect(server.endings == 1)
  }
}
