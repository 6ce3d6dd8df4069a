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

/// Moves of posts between two stores, which may turn out to be one, or to hold the objects already.
@Suite("Moving posts", .shortTime)
struct MoveTests {
  let catalog = MemoryCatalog()
  let folder = ClipFolder(["a.mp4", "b.mp4"])
  let here = MemoryUploader(name: "here")
  let there = MemoryUploader(name: "there")

  /// Moves posts between `stores`, with `catalog` as its process's own.
  private func changes(_ stores: [NamedStore], _ catalog: MemoryCatalog? = nil) -> PostChanges {
    .between(stores, catalog ?? self.catalog)
  }

  private func publish(_ name: String, in store: NamedStore) async throws -> Post {
    try await folder.publish(name, in: store, catalog)
  }

  private func move(
    _ posts: [PostID], to store: NamedStore, by changes: PostChanges
  ) async throws -> [PostChanges.Outcome] {
    let outcomes = Mutex<[PostChanges.Outcome]>([])
    try await changes.change(posts, .move(to: store.destination)) { _, outcome in
      outcomes.withLock { $0.append(outcome) }
    }
    return outcomes.withLock { $0 }
  }

  /// Has the process of `dying` die as if it had been killed, and then the process that took over its changes as well.
  private static func kill(_ dying: MemoryCatalog, _ catalog: MemoryCatalog) {
    dying.die()
    let next = catalog.another()
    _ = try? next.unfinishedChanges(after: 0, limit: 9)
    next.die()
  }

  @Test("two names of one store are detected, and nothing is removed")
  func oneStore() async throws {
    let (store, other) = (NamedStore(here, "one"), NamedStore(here, "other"))
    let posts = [try await publish("a.mp4", in: store), try await publish("b.mp4", in: store)]
    let objects = here.keys
    let outcomes = try await move(posts.map(\.id), to: other, by: changes([store, other]))
    #expect(outcomes.count == 2)
    for outcome in outcomes {
      guard case .failed(let failure) = outcome else {
        Issue.record("\(outcome)")
        continue
      }
      #expect(failure.code == .upload(.rejected) && failure.message.contains("relocate"), "\(failure)")
    }
    #expect(here.keys == objects)
    for post in posts { #expect(try await catalog.post(post.id) == post) }
    #expect(try catalog.abandonedChanges().isEmpty)
  }

  @Test("a process killed during that detection leaves the store as it was", arguments: [false, true])
  func killedWhileLooking(hasStored: Bool) async throws {
    let store = NamedStore(here, "one")
    let post = try await publish("a.mp4", in: store)
    let dying = catalog.another()
    let isDead = Atomic(false)
    var other = NamedStore(here, "other")
    other.onUpload = { [catalog] key throws(UploadError) in
      if isDead.load(ordering: .relaxed) || key == post.video { return }
      if !hasStored {
        Self.kill(dying, catalog)
        isDead.store(true, ordering: .relaxed)
        throw UploadError(.interrupted, "killed (a test)")
      }
    }
    other.onRemove = { [catalog] _ throws(UploadError) in
      Self.kill(dying, catalog)
      isDead.store(true, ordering: .relaxed)
      throw UploadError(.interrupted, "killed (a test)")
    }
    _ = try await move([post.id], to: other, by: changes([store, other], dying))
    let wasKilled = isDead.load(ordering: .relaxed)
    #expect(wasKilled)
    #expect(here.keys.contains(post.video))
    try await changes([store, NamedStore(here, "other")]).resumeAll { _, _ in }
    #expect(here.keys == [post.video])
    #expect(try await catalog.post(post.id) == post)
    #expect(try catalog.abandonedChanges().isEmpty)
  }

  @Test("an object with other content under the same name in the target store stays there")
  func somethingElse() async throws {
    let (store, other) = (NamedStore(here, "here"), NamedStore(there, "there"))
    let post = try await publish("a.mp4", in: store)
    _ = try await there.upload(try MemoryBytes.source("half"), to: post.video) { _ in }
    let outcomes = try await move([post.id], to: other, by: changes([store, other]))
    guard case .failed(let failure)? = outcomes.first else {
      Issue.record("\(outcomes)")
      return
    }
    #expect(failure.code == .upload(.conflict))
    #expect(there.bytes(of: post.video) == Array("half".utf8))
    #expect(there.keys == [post.video] && here.keys == [post.video])
    #expect(try await catalog.post(post.id) == post)
    #expect(try catalog.abandonedChanges().isEmpty)
  }

  @Test("a copy that was there before the move stays if the move is undone", arguments: [false, true])
  func mirrored(isKilled: Bool) async throws {
    let (store, other) = (NamedStore(here, "here"), NamedStore(there, "there"))
    let post = try await publish("a.mp4", in: store)
    let mirrored = try #require(here.bytes(of: post.video))
    _ = try await there.upload(
      try MemoryBytes.source(String(decoding: mirrored, as: UTF8.self)), to: post.video
    ) { _ in }
    let dying = catalog.another()
    let recorder = RefusingRecorder(destination: other.destination) { [catalog] in
      if isKilled { Self.kill(dying, catalog) }
    }
    let outcomes = try await move(
      [post.id], to: other, by: .between([store, other], dying, recorders: [other.destination: recorder]))
    guard case .failed? = outcomes.first else {
      Issue.record("\(outcomes)")
      return
    }
    try await changes([store, other]).resumeAll { _, _ in }
    #expect(there.keys == [post.video] && here.keys == [post.video])
    #expect(try catalog.abandonedChanges().isEmpty)
    // If the move succeeds, that copy becomes the post's object.
    guard case .changed? = try await move([post.id], to: other, by: changes([store, other])).first else {
      Issue.record("not moved")
      return
    }
    #expect(there.keys == [post.video] && here.keys.isEmpty)
  }

  @Test("a copy made by the move is removed if the move is undone", arguments: [false, true])
  func undone(isKilled: Bool) async throws {
    let (store, other) = (NamedStore(here, "here"), NamedStore(there, "there"))
    let post = try await publish("a.mp4", in: store)
    let dying = catalog.another()
    let recorder = RefusingRecorder(destination: other.destination) { [catalog] in
      if isKilled { Self.kill(dying, catalog) }
    }
    _ = try await move(
      [post.id], to: other, by: .between([store, other], dying, recorders: [other.destination: recorder]))
    if isKilled { #expect(there.keys == [post.video]) }
    try await changes([store, other]).resumeAll { _, _ in }
    #expect(there.keys.isEmpty && here.keys == [post.video])
    #expect(try await catalog.post(post.id) == post)
    #expect(try catalog.abandonedChanges().isEmpty)
  }

  @Test("a process taken for dead undoes nothing of the move that another has completed since")
  func takenOver() async throws {
    let (store, other) = (NamedStore(here, "here"), NamedStore(there, "there"))
    let post = try await publish("a.mp4", in: store)
    let (dying, here, there) = (catalog.another(), self.here, self.there)
    let next = changes([store, other])
    let recorder = RefusingRecorder(destination: other.destination) {
      dying.die()
      try? await next.change([post.id], .move(to: other.destination)) { _, _ in }
      #expect(there.keys == [post.video] && here.keys.isEmpty)
    }
    let outcomes = try await move(
      [post.id], to: other, by: .between([store, other], dying, recorders: [other.destination: recorder]))
    guard case .failed? = outcomes.first else {
      Issue.record("\(outcomes)")
      return
    }
    #expect(there.keys == [post.video])
    #expect(try await catalog.post(post.id)?.videoURL.contains("there") == true)
  }
}

/// Runs a closure, and then refuses to record.
private struct RefusingRecorder: PostRecorder {
  let destination: Destination
  let beforeRefusing: @Sendable () async -> Void

  init(destination: Destination, _ beforeRefusing: @escaping @Sendable () async -> Void) {
    (self.destination, self.beforeRefusing) = (destination, beforeRefusing)
  }

  var feed: Destination { destination }
  func prepare() async throws(UploadError) {}
  func record(_ post: Post) async throws(UploadError) -> RecordedPost { throw await refusal() }
  func find(_ id: PostID) async throws(UploadError) -> PostRecord? { nil }
  func update(_ post: Post, from earlier: Post?) async throws(UploadError) -> RecordedPost {
    throw await refusal()
  }
  func withdraw(_ id: PostID) async throws(UploadError) {}

  private func refusal() async -> UploadError {
    await beforeRefusing()
    return UploadError(.denied, "no right to record anything (a test)")
  }
}
