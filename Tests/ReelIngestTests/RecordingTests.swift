import FoundationEssentials
import ReelCore
import ReelLibrary
import ReelSource
import ReelStorage
import ReelTestSupport
import ReelTesting
import Synchronization
import Testing

@testable import ReelIngest

/// Runs with a store that keeps posts beside its objects.
@Suite("Recording posts", .shortTime)
@MainActor
struct RecordingTests {
  let catalog = MemoryCatalog()
  let store = MemoryUploader()
  let folder = ClipFolder(["a.mp4"])

  private func publish(
    _ recorder: any PostRecorder, uploader: (any Uploader)? = nil, duplicates: DuplicateHandling = .skip,
    onStep: @escaping @Sendable (IntakeStep) -> Void = { _ in }
  ) async -> PublishResult {
    var services = IngestServices(
      prober: ScriptedProber(), uploader: uploader ?? store, recorder: recorder, catalog: catalog)
    services.onStep = onStep
    var options = IngestOptions()
    options.duplicates = duplicates
    return await MediaModel(file: folder.file("a.mp4"), options: options, services: services).publish()
  }

  private func posts() async throws -> [Post] { try await catalog.newestPosts(before: nil, limit: 10).posts }

  @Test("a post is recorded once its object is verified, and before it is published")
  func order() async throws {
    let recorder = MemoryRecorder(of: store.destination)
    let seen = Mutex<[String]>([])
    let result = await publish(recorder) { step in
      if [.verified, .recorded, .published].contains(step) {
        seen.withLock { $0.append("\(step.rawValue) \(recorder.posts.count)") }
      }
    }
    guard case .published(let post) = result else {
      Issue.record("\(result)")
      return
    }
    #expect(seen.withLock { $0 } == ["verified 0", "recorded 1", "published 1"])
    let recorded = try #require(recorder.posts.first)
    #expect(recorded.id == post.id && recorded.video == post.video && recorded.videoURL == post.videoURL)
    #expect(recorded.pageNumber == 1 && recorded.caption == post.caption)
    #expect(await publish(recorder) == .duplicate(post))
    #expect(recorder.posts.count == 1)
  }

  @Test("a post that can't be recorded is not published; the next run finds the object and uploads nothing")
  func refused() async throws {
    let recorder = BrokenRecorder(base: MemoryRecorder(of: store.destination))
    for code in [UploadError.Code.denied, .unavailable, .rejected, .cancelled] {
      recorder.failure.withLock { $0 = UploadError(code, "not now (a test)") }
      switch await publish(recorder) {
      case .failed(let failure): #expect(failure.code.rawValue == code.rawValue)
      case .cancelled: #expect(code == .cancelled)
      case let other: Issue.record("\(other)")
      }
      #expect(try await posts().isEmpty && recorder.base.posts.isEmpty)
      #expect(store.keys.count == 1)
    }
    recorder.failure.withLock { $0 = nil }
    let uploads = Mutex(0)
    let counting = ScriptedUploader(base: store) { _ throws(UploadError) in uploads.withLock { $0 += 1 } }
    guard case .published(let post) = await publish(recorder, uploader: counting) else {
      Issue.record("it was not published")
      return
    }
    #expect(uploads.withLock { $0 } == 0)
    #expect(recorder.base.posts.map(\.id) == [post.id] && store.keys == [post.video])
  }

  @Test("a lost reply does not lead to a second record")
  func lostReply() async throws {
    let recorder = BrokenRecorder(base: MemoryRecorder(of: store.destination))
    recorder.losesReplies.withLock { $0 = true }
    recorder.failure.withLock { $0 = UploadError(.interrupted, "the reply was lost (a test)") }
    _ = await publish(recorder)
    #expect(recorder.base.posts.count == 1)
    #expect(try await posts().isEmpty)
    recorder.failure.withLock { $0 = nil }
    guard case .published(let post) = await publish(recorder) else {
      Issue.record("it was not published")
      return
    }
    #expect(recorder.base.posts.map(\.id) == [post.id])
  }

  @Test("if other bytes have replaced a recorded object, its record is withdrawn and a new name is drawn")
  func withdrawn() async throws {
    let recorder = BrokenRecorder(base: MemoryRecorder(of: store.destination))
    recorder.losesReplies.withLock { $0 = true }
    recorder.failure.withLock { $0 = UploadError(.interrupted, "the reply was lost (a test)") }
    _ = await publish(recorder)
    let lost = try #require(recorder.base.posts.first)
    try await store.remove(lost.video)
    _ = try await store.upload(MemoryBytes.source("somebody else's"), to: lost.video) { _ in }

    // As long as the record can't be withdrawn, nothing is published.
    recorder.refusesToWithdraw.withLock { $0 = true }
    guard case .failed = await publish(recorder) else {
      Issue.record("it was published")
      return
    }
    #expect(recorder.base.posts.map(\.id) == [lost.id])
    recorder.refusesToWithdraw.withLock { $0 = false }
    recorder.failure.withLock { $0 = nil }
    guard case .published(let post) = await publish(recorder) else {
      Issue.record("it was not published")
      return
    }
    #expect(post.video != lost.video)
    #expect(recorder.base.posts.map(\.id) == [post.id])
    #expect(try await posts().map(\.id) == [post.id])
  }

  @Test("an unreachable database ends the run before anything is stored")
  func unprepared() async throws {
    let recorder = BrokenRecorder(base: MemoryRecorder(of: store.destination))
    recorder.preparation.withLock { $0 = UploadError(.storeUnusable, "there is no database (a test)") }
    guard case .failed(let failure) = await publish(recorder) else {
      Issue.record("it was published")
      return
    }
    #expect(failure.code == "storeUnusable" && store.keys.isEmpty)
  }
}

/// Wraps a recorder to make its calls fail.
private final class BrokenRecorder: PostRecorder {
  let base: MemoryRecorder
  let preparation = Mutex<UploadError?>(nil)
  let failure = Mutex<UploadError?>(nil)
  /// Whether the post is recorded before the call fails.
  let losesReplies = Mutex(false)
  let refusesToWithdraw = Mutex(false)

  init(base: MemoryRecorder) { self.base = base }

  var destination: Destination { base.destination }

  func prepare() async throws(UploadError) {
    if let error = preparation.withLock({ $0 }) { throw error }
  }

  func record(_ post: Post) async throws(UploadError) -> RecordedPost {
    let error = failure.withLock { $0 }
    if let error, !losesReplies.withLock({ $0 }) { throw error }
    let recorded = try await base.record(post)
    if let error { throw error }
    return recorded
  }

  func find(_ id: PostID) async throws(UploadError) -> PostRecord? { try await base.find(id) }

  func update(_ post: Post, from earlier: Post?) async throws(UploadError) -> RecordedPost {
    try await base.update(post, from: earlier)
  }

  func withdraw(_ id: PostID) async throws(UploadError) {
    if refusesToWithdraw.withLock({ $0 }) { throw UploadError(.denied, "not now (a test)") }
    try await base.withdraw(id)
  }
}
