import FoundationEssentials
import ReelCore
import Synchronization

/// A promise that every recorder of posts makes, and a check of whether it is kept.
///
/// ```swift
/// for promise in PostRecorderContractTest.all {
///   try await promise.check { MyRecorder(…) }
/// }
/// ```
/// The checks record posts under ids of their own and withdraw them again; the numbers that those took are not reused.
public struct PostRecorderContractTest: Sendable, CustomStringConvertible {
  /// A stable name for reports, such as `record.once`.
  public let name: String
  /// What is promised, in one sentence.
  public let sentence: String
  private let body: @Sendable (RecorderTestContext) async throws -> Void

  /// The promise's name.
  public var description: String { name }

  /// All promises, the simplest first.
  public static let all: [PostRecorderContractTest] = [
    PostRecorderContractTest("record.once", "recording a post again returns the same place") { context in
      let post = try context.newPost()
      let first = try await context.record(post, by: context.recorder)
      try context.expect(first.id == post.id, "it recorded \(first.id) instead of \(post.id)")
      try context.expect(first.pageNumber >= 1, "it returned the place \(first.pageNumber)")
      let again = try await context.record(post, by: context.recorder)
      let elsewhere = try await context.record(post, by: try await context.another())
      try context.expect(
        again == first && elsewhere == first,
        "it returned \(first), then \(again), and another recorder \(elsewhere)")
    },
    PostRecorderContractTest("record.order", "a post that is recorded later gets a later place") { context in
      var last = 0
      for _ in 0..<3 {
        let place = try await context.record(try context.newPost(), by: context.recorder).pageNumber
        try context.expect(place > last, "the place \(place) followed \(last)")
        last = place
      }
    },
    PostRecorderContractTest(
      "record.places", "posts that several recorders record at once each get a place of their own"
    ) {
      context in
      let recorders = [context.recorder, try await context.another()]
      let places = try await withThrowingTaskGroup { group in
        for index in 0..<12 {
          group.addTask {
            try await context.record(try context.newPost(), by: recorders[index % recorders.count]).pageNumber
          }
        }
        return try await group.reduce(into: []) { $0.append($1) }
      }
      try context.expect(Set(places).count == places.count, "the places are \(places.sorted())")
    },
    PostRecorderContractTest(
      "record.atOnce", "a post that several recorders record at once is recorded only once"
    ) {
      context in
      let post = try context.newPost()
      let recorders = [context.recorder, try await context.another(), try await context.another()]
      let places = try await withThrowingTaskGroup { group in
        for recorder in recorders {
          group.addTask { try await context.record(post, by: recorder).pageNumber }
        }
        return try await group.reduce(into: Set()) { $0.insert($1) }
      }
      try context.expect(places.count == 1, "it got the places \(places.sorted())")
    },
    PostRecorderContractTest(
      "record.foreign", "recording another post with the same id is rejected, and the first post stays"
    ) {
      context in
      let post = try context.newPost()
      let place = try await context.record(post, by: context.recorder)
      let code = await context.refusal(of: try context.newPost(id: post.id))
      try context.expect(code == .rejected, "it ended with \(code.map(\.rawValue) ?? "no error")")
      try context.expect(
        try await context.record(post, by: context.recorder) == place, "the first post got a different place")
    },
    PostRecorderContractTest(
      "find.record", "a recorded post is found with its object, and nothing else is found"
    ) {
      context in
      let post = try context.newPost()
      try context.expect(
        try await context.recorder.find(post.id) == nil, "it found a post that was never recorded")
      _ = try await context.record(post, by: context.recorder)
      let found = try await context.another().find(post.id)
      try context.expect(
        found == PostRecord(video: post.video, poster: nil), "it found \(found.map { "\($0)" } ?? "nothing")")
      try await context.recorder.withdraw(post.id)
      try context.expect(
        try await context.recorder.find(post.id) == nil, "it found a post that was withdrawn")
    },
    PostRecorderContractTest(
      "record.poster",
      "recording a post again with another poster, or none, changes the poster and keeps the place"
    ) { context in
      var post = try context.newPost()
      let place = try await context.record(post, by: context.recorder)
      for poster in [context.newPoster(), context.newPoster(), nil] {
        post.show(poster)
        let again = try await context.record(post, by: try await context.another())
        try context.expect(again == place, "it returned \(again) instead of \(place)")
        let found = try await context.recorder.find(post.id)
        try context.expect(
          found == PostRecord(video: post.video, poster: poster?.key),
          "it found \(found.map { "\($0)" } ?? "nothing")")
      }
    },
    PostRecorderContractTest(
      "update.edited",
      "updating an edited post records its new state at the same place, and updating it again changes nothing"
    ) { context in
      let post = try context.newPost()
      let place = try await context.record(post, by: context.recorder)
      var edited = try context.newPost(id: post.id)
      edited.show(context.newPoster())
      for earlier in [post, post, nil] {
        let updated = try await context.another().update(edited, from: earlier)
        try context.expect(updated == place, "it returned \(updated) instead of \(place)")
        let found = try await context.recorder.find(post.id)
        try context.expect(
          found == PostRecord(video: edited.video, poster: edited.poster),
          "it found \(found.map { "\($0)" } ?? "nothing")")
      }
      try context.expect(
        try await context.record(edited, by: context.recorder) == place,
        "recording it afterwards returned a different place")
    },
    PostRecorderContractTest("update.nothing", "updating a post that is not recorded records it") { context in
      let (earlier, post) = (try context.newPost(), try context.newPost())
      context.expectRecorded(post)
      let place = try await context.recorder.update(post, from: earlier)
      try context.expect(
        try await context.record(post, by: context.recorder) == place,
        "recording it afterwards returned a different place"
      )
    },
    PostRecorderContractTest(
      "update.foreign", "updating to another post with the same id is rejected, and the first post stays"
    ) { context in
      let post = try context.newPost()
      _ = try await context.record(post, by: context.recorder)
      let code = await context.refusal(ofUpdating: try context.newPost(id: post.id))
      try context.expect(code == .rejected, "it ended with \(code.map(\.rawValue) ?? "no error")")
      try context.expect(
        try await context.recorder.find(post.id)?.video == post.video,
        "the first post is no longer found with its object")
    },
    PostRecorderContractTest("withdraw.gone", "a withdrawn post is gone, and its place is not reused") {
      context in
      let (post, other) = (try context.newPost(), try context.newPost())
      let place = try await context.record(post, by: context.recorder).pageNumber
      try await context.recorder.withdraw(post.id)
      try await context.recorder.withdraw(post.id)
      let next = try await context.record(other, by: context.recorder).pageNumber
      let again = try await context.record(post, by: context.recorder).pageNumber
      try context.expect(Set([place, next, again]).count == 3, "the places are \(place), \(next), \(again)")
    },
    PostRecorderContractTest("withdraw.nothing", "withdrawing a post that was never recorded is not an error")
    {
      context in
      try await context.recorder.withdraw(try context.newPost().id)
    },
  ]

  init(
    _ name: String, _ sentence: String, _ body: @escaping @Sendable (RecorderTestContext) async throws -> Void
  ) {
    (self.name, self.sentence, self.body) = (name, sentence, body)
  }

  /// Checks whether the recorders that `make` creates, all of one store, keep this promise.
  /// - Throws: ``ContractViolation``, with what was expected and what was seen.
  public func check(
    _ make: @escaping @Sendable () async throws -> any PostRecorder
  ) async throws(ContractViolation) {
    try await rethrowing(as: { ContractViolation(name, sentence, $0) }) {
      let context = RecorderTestContext(recorder: try await make(), make: make)
      try await context.recorder.prepare()
      let result: Result<Void, any Error>
      do { result = .success(try await body(context)) } catch { result = .failure(error) }
      await context.cleanUp()
      try result.get()
    }
  }
}

/// A recorder that is being checked, and the posts that were recorded.
final class RecorderTestContext: Sendable {
  let recorder: any PostRecorder
  private let make: @Sendable () async throws -> any PostRecorder
  private let recorded = Mutex<Set<PostID>>([])

  init(recorder: any PostRecorder, make: @escaping @Sendable () async throws -> any PostRecorder) {
    (self.recorder, self.make) = (recorder, make)
  }

  /// Creates another recorder of the same store.
  func another() async throws -> any PostRecorder { try await make() }

  func record(_ post: Post, by recorder: any PostRecorder) async throws(UploadError) -> RecordedPost {
    expectRecorded(post)
    return try await recorder.record(post)
  }

  /// Has `post` withdrawn at the end.
  func expectRecorded(_ post: Post) { recorded.withLock { _ = $0.insert(post.id) } }

  /// Makes a post of a video that no other post has.
  func newPost(id: PostID? = nil) throws -> Post {
    let randomness = SystemRandomness()
    let key = ObjectKey(random: randomness, container: .mp4)
    let id = id ?? PostID(at: Date(), random: randomness)
    guard let digest = ContentDigest(sha256: randomness.bytes(32)) else {
      throw Difference(detail: "32 bytes did not form a digest")
    }
    let publication = Publication(digest: digest, destination: recorder.destination, authorID: nil)
    let provenance = ProbeProvenance(method: .header, isolation: .none, ffmpeg: "0")
    return Post(
      draft: PostDraft(
        media: MediaInfo(container: .mp4, size: 1), provenance: provenance,
        metadata: PostMetadata(caption: "a contract test of Reel: it is removed automatically"),
        commentID: randomness.name(length: 22)),
      intent: Intent(id: id, key: key, publication: publication, attempt: 1),
      stored: StoredObject(key: key, url: "https://host.example/\(key)", size: 1, digest: digest),
      pageNumber: 1, createdAt: Date())
  }

  /// Makes a poster that no other post has.
  func newPoster() -> PostPoster? {
    let key = ObjectKey(posterNamedBy: SystemRandomness())
    let poster = Poster(
      jpeg: [], width: 288, height: 512, blurHash: "L3F~gYof00ayayj[fQj[00fQ?bfQ", isCover: false, time: nil)
    return PostPoster(
      poster, stored: StoredObject(key: key, url: "https://host.example/\(key)", size: 1, digest: nil))
  }

  /// The error code with which `post` is rejected; nil if it is recorded.
  func refusal(of post: Post) async -> UploadError.Code? {
    do throws(UploadError) {
      _ = try await recorder.record(post)
      return nil
    } catch {
      return error.code
    }
  }

  /// The error code with which an update to `post` is rejected; nil if it succeeds.
  func refusal(ofUpdating post: Post) async -> UploadError.Code? {
    do throws(UploadError) {
      _ = try await recorder.update(post, from: nil)
      return nil
    } catch {
      return error.code
    }
  }

  func expect(_ condition: Bool, _ detail: @autoclosure () -> String) throws {
    if !condition { throw Difference(detail: detail()) }
  }

  func cleanUp() async {
    for id in recorded.withLock({ $0 }) { try? await recorder.withdraw(id) }
  }
}
