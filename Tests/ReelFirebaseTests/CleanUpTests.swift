import HTTPTypes
import ReelCore
import ReelHTTPFakes
import ReelStorage
import Synchronization
import Testing

@testable import ReelRemoteStorage

/// Unfinished uploads are cancelled at the store, even if their task has been cancelled meanwhile.
@Suite(.shortTime) struct FirebaseCleanUpTests {
  private let key: ObjectKey
  private let bucket: StorageBucket
  private let source = TestSource(size: 9).upload

  init() throws {
    key = try #require(ObjectKey("k.mp4"))
    bucket = try StorageBucket(
      "my-app", emulator: HTTPOrigin(isSecure: false, host: "127.0.0.1", port: 9199))
  }

  /// A store that reports all bytes of every upload as received without completing it. That reply, and the one to a
  /// new upload, cancels the requesting task.
  private final class Store: Sendable {
    private let ended = Mutex(0)
    /// The number of uploads that were cancelled at the store.
    var endings: Int { ended.withLock { $0 } }

    func transport() -> ScriptedTransport {
      ScriptedTransport { [self] sent async throws(HTTPFailure) in
        if Task.isCancelled { throw .cancelled }
        switch sent.call.method {
        case .get: return HTTPReply(status: .notFound)
        case .delete:
          ended.withLock { $0 += 1 }
          return HTTPReply(status: .init(code: 499))
        case .put:
          withUnsafeCurrentTask { $0?.cancel() }
          return HTTPReply(status: .init(code: 308), fields: [.range: "bytes=0-8"])
        default:
          withUnsafeCurrentTask { $0?.cancel() }
          return HTTPReply(status: .ok, fields: [.location: "/upload?id=1"])
        }
      }
    }
  }

  /// Uploads in a separate task, which the store cancels, and returns the error's code.
  private func failure(_ store: Store, _ checkpoints: any UploadCheckpoints) async -> UploadError.Code? {
    let uploader = FirebaseUploader(
      bucket, transport: store.transport(), tokens: EmulatorToken(), checkpoints: checkpoints)
    return await uploader.failureInATask(uploading: source, to: key)
  }

  @Test("an earlier upload that can't be resumed is cancelled at the store before its checkpoint is removed")
  func earlier() async throws {
    let checkpoints = MemoryCheckpoints()
    let checkpoint = try #require(UploadCheckpoint("gcs1 4waSgw== /upload?id=1", of: source.digest))
    #expect(try await checkpoints.exchange(nil, for: checkpoint, of: key, in: bucket.destination))
    let store = Store()
    #expect(await failure(store, checkpoints) == .cancelled)
    #expect(store.endings == 1)
    #expect(try await checkpoints.checkpoint(of: key, in: bucket.destination) == nil)
  }

  @Test(
    "an upload that can't be recorded is cancelled at the store: nothing could find it again",
    arguments: [(true, .unavailable), (false, .alreadyExists)] as [(Bool, UploadError.Code)])
  func unnamed(_ throwing: Bool, _ code: UploadError.Code) async throws {
    let store = Store()
    #expect(await failure(store, BrokenCheckpoints(throwing: throwing)) == code)
    #expect(store.endings == 1)
  }
}
