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

/// Posts that an app removes, restores and edits.
@Suite("Changing posts", .shortTime)
@MainActor
struct PostChangesTests {
  let catalog = MemoryCatalog()
  let store = MemoryUploader()
  let folder = ClipFolder(["a.mp4", "b.mp4"])

  private var services: IngestServices {
    IngestServices(prober: ScriptedProber(), uploader: store, catalog: catalog)
  }

  private func publish(_ name: String, again: Bool = false, _ services: IngestServices? = nil) async throws
    -> Post
  {
    var options = IngestOptions()
    options.again = again
    let result = await (services ?? self.services).publish(folder.file(name), options: options)
    guard case .published(let post) = result else {
      throw FileFailure(code: "unexpected", message: "\(result)")
    }
    return post
  }

  @Test("a removed post is gone from the feed and the store, and its video then ends as removed")
  func removal() async throws {
    let (post, other) = (try await publish("a.mp4"), try await publish("b.mp4"))
    let feed = FeedModel(catalog: catalog)
    await feed.loadNextPage()
    let removal = Removal(reason: "a claim", by: "bo", at: .now)
    let told = Mutex<[IngestEvent]>([])
    let outcomes = try await services.remove([post.id], removal) { event in told.withLock { $0.append(event) }
    }
    guard case .changed(let gone)? = outcomes.first else {
      Issue.record("\(outcomes)")
      return
    }
    #expect(gone == post)
    #expect(store.keys == [other.video])
    let events = told.withLock { $0 }
    #expect(events.map(\.body) == [.postRemoved(RemovedPost(post: post, removal: removal))])
    for event in events { feed.follow(event) }
    #expect(feed.posts == [other])
    let again = await services.publish(folder.file("a.mp4"))
    guard case .removed(let removed) = again else {
      Issue.record("\(again)")
      return
    }
    #expect(removed.removal == removal)
    #expect(store.keys == [other.video])
    // Removing it again changes nothing.
    guard case .removed? = try await services.remove([post.id], removal).first else {
      Issue.record("removed twice")
      return
    }
    let back = try await publish("a.mp4", again: true)
    #expect(back.id != post.id && back.pageNumber == 3)
  }

  @Test("a post whose objects were kept is restored to its place")
  func restoration() async throws {
    let (post, other) = (try await publish("a.mp4"), try await publish("b.mp4"))
    _ = try await services.remove([post.id], Removal(at: .now, keptUntil: .now + 1000))
    #expect(Set(store.keys) == [post.video, other.video])
    let feed = FeedModel(catalog: catalog)
    await feed.loadNextPage()
    #expect(feed.posts == [other])
    let told = Mutex<[IngestEvent]>([])
    let outcomes = try await services.restore([post.id]) { event in told.withLock { $0.append(event) } }
    guard case .changed(let restored)? = outcomes.first else {
      Issue.record("\(outcomes)")
      return
    }
    #expect(restored == post)
    for event in told.withLock({ $0 }) { feed.follow(event) }
    #expect(feed.posts == [other, post])
  }

  @Test("a post whose object is gone is not restored, and the failure says what is needed")
  func nothingToRestore() async throws {
    let post = try await publish("a.mp4")
    _ = try await services.remove([post.id], Removal(at: .now))
    let outcomes = try await services.restore([post.id])
    guard case .failed(let failure)? = outcomes.first else {
      Issue.record("\(outcomes)")
      return
    }
    #expect(failure.message.contains("--from"))
    #expect(try await catalog.post(post.id) == nil)
    #expect(try catalog.abandonedChanges().isEmpty)
  }

  @Test("an edit also reaches the recorder")
  func edit() async throws {
    let recorder = MemoryRecorder(of: store.destination)
    var services = services
    services.recorder = recorder
    let post = try await publish("a.mp4", services)
    let told = Mutex<[IngestEvent]>([])
    let outcome = try await services.edit(post.id, PostEdit(caption: "at sea", likeCount: 4)) { event in
      told.withLock { $0.append(event) }
    }
    guard case .changed(let edited) = outcome else {
      Issue.record("\(outcome)")
      return
    }
    #expect(edited.caption == "at sea" && edited.likeCount == 4)
    #expect(try await catalog.post(post.id) == edited)
    #expect(recorder.posts.first?.caption == "at sea")
    #expect(
      told.withLock { $0.map(\.body) } == [
        .postEdited(PostEdited(post: edited, changed: ["caption", "likeCount"]))
      ])
    guard case .nothing = try await services.edit(post.id, PostEdit(caption: "at sea")) else {
      Issue.record("edited twice")
      return
    }
  }

  @Test(
    "a removal that the store refuses is completed by the next change, and meanwhile the post is not in the feed"
  )
  func refused() async throws {
    let post = try await publish("a.mp4")
    let isBroken = Atomic(true)
    var broken = services
    broken.uploader = UnremovableStore(base: store) { isBroken.load(ordering: .relaxed) }
    let told = Atomic(0)
    let first = try await broken.remove([post.id], Removal(reason: "why", at: .now)) { _ in
      told.add(1, ordering: .relaxed)
    }
    guard case .failed(let failure)? = first.first else {
      Issue.record("\(first)")
      return
    }
    #expect(failure.code == .upload(.denied))
    #expect(try await catalog.post(post.id) == nil)
    #expect(store.keys == [post.video])
    #expect(told.load(ordering: .relaxed) == 0)
    #expect(try catalog.abandonedChanges().map(\.post) == [post.id])
    isBroken.store(false, ordering: .relaxed)
    // Whatever is requested next, the pending change is completed and its event sent first.
    _ = try await broken.restore([post.id]) { _ in told.add(1, ordering: .relaxed) }
    #expect(told.load(ordering: .relaxed) == 1)
    #expect(store.keys.isEmpty)
    #expect(try catalog.removedPost(post.id)?.removal.reason == "why")
    #expect(try catalog.abandonedChanges().isEmpty)
  }

  @Test("a change cancelled before it begins reports that for each post, and changes none")
  func cancelled() async throws {
    let posts = [try await publish("a.mp4"), try await publish("b.mp4")]
    let services = services
    let outcomes = try await Task {
      withUnsafeCurrentTask { $0?.cancel() }
      return try await services.remove(posts.map(\.id), Removal(at: .now))
    }.value
    #expect(outcomes.count == 2)
    for outcome in outcomes {
      guard case .notBegun(let failure) = outcome, failure.isCancellation else {
        Issue.record("\(outcome)")
        continue
      }
    }
    #expect(store.keys.count == 2)
  }

  @Test("objects in a store that is not at hand are left alone, and removed once somebody can reach it")
  func elsewhere() async throws {
    let post = try await publish("a.mp4")
    var services = services
    services.uploader = MemoryUploader(name: "other")
    let outcomes = try await services.remove([post.id], Removal(at: .now))
    guard case .failed(let failure)? = outcomes.first else {
      Issue.record("\(outcomes)")
      return
    }
    #expect(failure.code == .upload(.rejected))
    #expect(store.keys == [post.video])
    #expect(try await catalog.post(post.id) == nil)
    _ = try await self.services.remove([post.id], Removal(at: .now))
    #expect(store.keys.isEmpty)
  }
}

/// A store that refuses removals while `isBroken` returns true.
private struct UnremovableStore: UploaderDecorator {
  let base: any Uploader
  let isBroken: @Sendable () -> Bool

  func upload(
    _ source: UploadSource, to key: ObjectKey, reporting: @escaping @Sendable (TransferProgress) -> Void
  ) async throws(UploadError) -> StoredObject { try await base.upload(source, to: key, reporting: reporting) }
  func remove(_ key: ObjectKey) async throws(UploadError) -> ObjectRemoval {
    if isBroken() { throw UploadError(.denied, "no right to remove anything (a test)") }
    return try await base.remove(key)
  }
}
