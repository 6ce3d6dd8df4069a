import FoundationEssentials
import ReelCore
import ReelCrypto
import ReelLibrary
import ReelSource
import ReelStorage
import ReelTestSupport
import ReelTesting
import Synchronization
import Testing

@testable import ReelIngest

/// A run that is stopped for longer than its lease, right before it removes an object it has stored.
@Suite("Stopped before a removal", .shortTime)
@MainActor
struct LostLeaseRunTests {
  let mine = MemoryCatalog()
  let store = MemoryUploader()
  let folder = ClipFolder(["a.mp4"])

  /// Publishes the video from another machine, which finds the object, verifies it, and completes the intent.
  nonisolated private func publish(by other: MemoryCatalog) async throws {
    let source = try MemoryBytes.source("bytes of a.mp4")
    let randomness = SystemRandomness()
    let request = ClaimRequest(
      publication: Publication(digest: source.digest, destination: store.destination, authorID: nil),
      duplicates: .skip, size: source.size, newID: PostID(at: Date(), random: randomness),
      newKey: ObjectKey(random: randomness, container: .mp4))
    guard case .granted(let intent) = try other.claim([request], noting: [])[0].get() else { return }
    let stored: StoredObject
    if let found = try await store.find(intent.key) {
      stored = found
    } else {
      stored = try await store.upload(source, to: intent.key) { _ in }
    }
    let draft = PostDraft(
      media: MediaInfo.sample(size: source.size),
      provenance: ProbeProvenance(method: .header, isolation: .full, ffmpeg: "59.27.100"),
      metadata: PostMetadata(), commentID: "c")
    _ = try other.complete([Completion(intent: intent, draft: draft, stored: stored)], noting: [])
  }

  enum Reason: CaseIterable { case reportsAnother, isVerifiedAsAnother, mayLoseItsName }

  @Test("an object is removed only once nobody can publish under its name", arguments: Reason.allCases)
  func removes(because reason: Reason) async throws {
    let (mine, other) = (mine, mine.another())
    let wasFrozen = Mutex(false)
    let freezing = FreezingStore(base: store) { [self] in
      wasFrozen.withLock { $0 = true }
      mine.die()
      try? await publish(by: other)
    }
    let uploader: any Uploader =
      switch reason {
      case .reportsAnother: LyingStore(base: freezing)
      case .isVerifiedAsAnother: VerifyingUploader(base: LyingStore(base: freezing))
      case .mayLoseItsName: FailingSync(base: freezing)
      }
    let services = IngestServices(prober: ScriptedProber(), uploader: uploader, catalog: mine)
    _ = await MediaModel(file: folder.file("a.mp4"), services: services).publish()
    #expect(wasFrozen.withLock { $0 }, "nothing was removed")
    let posts = try await other.newestPosts(before: nil, limit: 10).posts
    #expect(posts.count == 1)
    for post in posts { #expect(store.bytes(of: post.video) == Array("bytes of a.mp4".utf8)) }
  }

  @Test("an object whose name may not survive a power cut is removed, and the video stored under another")
  func unsynced() async throws {
    let failing = FailingSync(base: store)
    let services = IngestServices(prober: ScriptedProber(), uploader: failing, catalog: mine)
    guard
      case .published(let post) = await MediaModel(file: folder.file("a.mp4"), services: services).publish()
    else {
      Issue.record("it was not published")
      return
    }
    // The post has another name, and the object under the first one is gone.
    #expect(store.keys == [post.video] && failing.left.withLock { $0 } != post.video)
  }
}

/// Stops before each removal.
private struct FreezingStore: UploaderDecorator {
  let base: any Uploader
  let freeze: @Sendable () async -> Void
  var batches: (any BatchStore)? { nil }

  func upload(
    _ source: UploadSource, to key: ObjectKey, reporting: @escaping @Sendable (TransferProgress) -> Void
  ) async throws(UploadError) -> StoredObject {
    try await base.upload(source, to: key, reporting: reporting)
  }

  func remove(_ key: ObjectKey) async throws(UploadError) -> ObjectRemoval {
    await freeze()
    return try await base.remove(key)
  }
}

/// Stores each object correctly but reports a wrong size.
private struct LyingStore: UploaderDecorator {
  let base: any Uploader
  var batches: (any BatchStore)? { nil }

  func upload(
    _ source: UploadSource, to key: ObjectKey, reporting: @escaping @Sendable (TransferProgress) -> Void
  ) async throws(UploadError) -> StoredObject {
    let object = try await base.upload(source, to: key, reporting: reporting)
    return StoredObject(key: object.key, url: object.url, size: object.size + 1, digest: object.digest)
  }
}

/// Names the first object, and then fails because it can't say whether the name is durable.
private final class FailingSync: UploaderDecorator {
  let base: any Uploader
  let left = Mutex<ObjectKey?>(nil)
  var batches: (any BatchStore)? { nil }

  init(base: any Uploader) { self.base = base }

  func upload(
    _ source: UploadSource, to key: ObjectKey, reporting: @escaping @Sendable (TransferProgress) -> Void
  ) async throws(UploadError) -> StoredObject {
    let object = try await base.upload(source, to: key, reporting: reporting)
    let isFirst = left.withLock { left in
      defer { left = left ?? key }
      return left == nil
    }
    if isFirst { throw UploadError(.interrupted, "the folder can't be synced").leaving(key) }
    return object
  }
}
