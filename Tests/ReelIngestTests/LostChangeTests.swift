import FoundationEssentials
import ReelCore
import ReelLibrary
import ReelStorage
import ReelTestSupport
import ReelTesting
import Synchronization
import Testing

@testable import ReelIngest

/// A process that was stopped in the middle of a batch for longer than its lease, and resumes after others have
/// completed its changes and then changed the posts again.
@Suite("A batch that other processes have completed", .shortTime)
struct LostChangeTests {
  let catalog = MemoryCatalog()
  let base = MemoryUploader()

  private func clips(_ count: Int) -> ClipFolder { ClipFolder((0..<count).map { "\($0).mp4" }) }

  private func outcomes(
    of posts: [PostID], _ kind: PostChange.Kind, by changes: PostChanges
  ) async throws -> [PostChanges.Outcome] {
    let outcomes = Mutex<[PostChanges.Outcome]>([])
    try await changes.change(posts, kind) { _, outcome in outcomes.withLock { $0.append(outcome) } }
    return outcomes.withLock { $0 }
  }

  @Test("a removal does not touch posts that were restored since")
  func removal() async throws {
    let folder = clips(PostChanges.width * 3)
    let store = NamedStore(base, "store")
    var posts: [Post] = []
    for number in 0..<PostChanges.width * 3 {
      posts.append(try await folder.publish("\(number).mp4", in: store, catalog))
    }
    let last = try #require(posts.last)
    let bytes = try #require(base.bytes(of: last.video))
    let source = try MemoryBytes.source(String(decoding: bytes, as: UTF8.self))
    let dying = catalog.another()
    // The changes that other processes make meanwhile.
    let others = PostChanges.between([store], catalog) { _, take in
      await take(source)
      return []
    }
    let ids = posts.map(\.id)
    let removals = Atomic(0)
    let over = Mutex<Task<Void, any Error>?>(nil)
    var stopped = store
    stopped.onRemove = { _ throws(UploadError) in
      let task = over.withLock { over in
        if removals.add(1, ordering: .relaxed).newValue == PostChanges.width + 2 {
          over = Task {
            dying.die()
            try await others.change(ids, .removal(Removal(at: .now))) { _, _ in }
            try await others.change([last.id], .restoration) { _, _ in }
          }
        }
        return over
      }
      try? await task?.value
    }
    let ends = try await outcomes(
      of: ids, .removal(Removal(at: .now)), by: .between([stopped], dying))
    #expect(try await catalog.post(last.id) == last)
    #expect(base.keys == [last.video])
    #expect(removals.load(ordering: .relaxed) <= PostChanges.width * 2 + 1)
    guard case .failed(let failure)? = ends.last else {
      Issue.record("\(ends)")
      return
    }
    #expect(failure == .takenOver)
    #expect(try catalog.abandonedChanges().isEmpty)
  }

  @Test("an edit does not overwrite a later one")
  func edit() async throws {
    let store = NamedStore(base, "store")
    let folder = clips(PostChanges.width + 1)
    var posts: [Post] = []
    for number in 0...PostChanges.width {
      posts.append(try await folder.publish("\(number).mp4", in: store, catalog))
    }
    let last = try #require(posts.last)
    let dying = catalog.another()
    let recorder = MemoryRecorder(of: store.destination)
    for post in posts { _ = try await recorder.record(post) }
    let others = PostChanges.between([store], catalog, recorders: [store.destination: recorder])
    let over = Mutex<Task<Void, any Error>?>(nil)
    let stopping = StoppingRecorder(base: recorder) {
      let task = over.withLock { over in
        let task =
          over
          ?? Task {
            dying.die()
            try await others.change([last.id], .edit(PostEdit(caption: "new"))) { _, _ in }
          }
        over = task
        return task
      }
      try? await task.value
    }
    _ = try await outcomes(
      of: posts.map(\.id), .edit(PostEdit(caption: "old")),
      by: .between([store], dying, recorders: [store.destination: stopping]))
    #expect(try await catalog.post(last.id)?.caption == "new")
    #expect(recorder.posts.last?.caption == "new")
  }

  @Test("a run that is cancelled reports no post as unknown whose change it has resumed, or waits for")
  func cancelled() async throws {
    let folder = clips(2)
    let store = NamedStore(base, "store")
    let resumed = try await folder.publish("0.mp4", in: store, catalog).id
    let busy = try await folder.publish("1.mp4", in: store, catalog).id
    let removal = PostChange.Kind.removal(Removal(at: .now))
    let (dying, living) = (catalog.another(), catalog.another())
    _ = try dying.begin([PostChange(resumed, .edit(PostEdit(caption: "new")))])
    dying.die()
    _ = try living.begin([PostChange(busy, removal)])
    let running = Mutex<Task<[PostChanges.Outcome], any Error>?>(nil)
    let changes = PostChanges.between(
      [store], catalog, tell: { _ in running.withLock { $0?.cancel() } })
    let task = Task {
      while running.withLock({ $0 == nil }) { await Task.yield() }
      return try await outcomes(of: [resumed, busy], removal, by: changes)
    }
    running.withLock { $0 = task }
    let found = try await task.value
    #expect(found.count == 2)
    for outcome in found {
      guard case .notBegun(let failure) = outcome else {
        Issue.record("\(outcome)")
        continue
      }
      #expect(
        failure.isCancellation && failure.message.contains("before it was changed; try again"), "\(failure)")
    }
  }
}

/// A recorder that waits before each update.
private struct StoppingRecorder: PostRecorder {
  let base: MemoryRecorder
  let beforeUpdating: @Sendable () async -> Void

  var destination: Destination { base.destination }
  func prepare() async throws(UploadError) {}
  func record(_ post: Post) async throws(UploadError) -> RecordedPost { try await base.record(post) }
  func find(_ id: PostID) async throws(UploadError) -> PostRecord? { try await base.find(id) }
  func update(_ post: Post, from earlier: Post?) async throws(UploadError) -> RecordedPost {
    await beforeUpdating()
    return try await base.update(post, from: earlier)
  }
  func withdraw(_ id: PostID) async throws(UploadError) { try await base.withdraw(id) }
}
