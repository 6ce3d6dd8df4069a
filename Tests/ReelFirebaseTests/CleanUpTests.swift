import HTTPTypes
import ReelCore
import ReelHTTPFakes
import ReelStorage
import Synchronization
import Testing

@testable import ReelRemoteStorage

/// What was begun is ended, also when the task that began it has been cancelled meanwhile.
@Suite(.shortTime) struct FirebaseCleanUpTests {
  private let key: ObjectKey
  private let bucket: StorageBucket
  private let source = TestSource(size: 9).upload

  init() throws {
    key = try #require(ObjectKey("k.mp4"))
    bucket = try StorageBucket(
      "my-app", emulator: HTTPOrigin(isSecure: false, host: "127.0.0.1", port: 9199))
  }

  /// A store that says of every upload that all bytes are there, and does not end it; that, and beginning one, cancels
  /// the task that asks.
  private final class Store: Sendable {
    private let ended = Mutex(0)
    /// Uploads that were ended.
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

  /// Uploads in a task of its own, which the store cancels, and gives how it failed.
  private func failure(_ store: Store, _ checkpoints: any UploadCheckpoints) async -> UploadError.Code? {
    let uploader = FirebaseUploader(
      bucket, transport: store.transport(), tokens: EmulatorToken(), checkpoints: checkpoints)
    return await uploader.failureInATask(uploading: source, to: key)
  }

  @Test("an earlier upload that can't be gone on with is ended before it is forgotten")
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
    "what can't be written down is ended: nobody would find it again",
    arguments: [(true, .unavailable), (false, .alreadyExists)] as [(Bool, UploadError.Code)])
  func unnamed(_ throwing: Bool, _ code: UploadError.Code) async throws {
    let store = Store()
    #expect(await failure(store, BrokenCheckpoints(throwing: throwing)) == code)
    #expect(store.endings == 1)
  }
}
