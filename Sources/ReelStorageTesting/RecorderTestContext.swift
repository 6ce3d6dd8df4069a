import FoundationEssentials
import ReelCore
import Synchronization

/// A recorder that is being checked, and what was recorded on the way.
final class RecorderTestContext: Sendable {
  let recorder: any PostRecorder
  private let make: @Sendable () async throws -> any PostRecorder
  private let recorded = Mutex<Set<PostID>>([])

  init(recorder: any PostRecorder, make: @escaping @Sendable () async throws -> any PostRecorder) {
    (self.recorder, self.make) = (recorder, make)
  }

  /// Another one of the same store.
  func another() async throws -> any PostRecorder { try await make() }

  func record(_ post: Post, by recorder: any PostRecorder) async throws(UploadError) -> RecordedPost {
    recorded.withLock { _ = $0.insert(post.id) }
    return try await recorder.record(post)
  }

  /// A post of a video that nobody has.
  func newPost(id: PostID? = nil) throws -> Post {
    let randomness = SystemRandomness()
    let key = ObjectKey(random: randomness, container: .mp4)
    let id = id ?? PostID(at: Date(), random: randomness)
    guard let digest = ContentDigest(sha256: randomness.bytes(32)) else {
      throw Difference(detail: "32 bytes gave no digest")
    }
    let publication = Publication(digest: digest, destination: recorder.destination, authorID: nil)
    let provenance = ProbeProvenance(method: .header, isolation: .none, ffmpeg: "0")
    return Post(
      draft: PostDraft(
        media: MediaInfo(container: .mp4, size: 1), provenance: provenance,
        metadata: PostMetadata(caption: "a check of reel's: it goes away by itself"),
        commentID: randomness.name(length: 22)),
      intent: Intent(id: id, key: key, publication: publication, attempt: 1),
      stored: StoredObject(key: key, url: "https://host.example/\(key)", size: 1, digest: digest),
      pageNumber: 1, createdAt: Date())
  }

  /// Why `post` is not recorded; nil when it is.
  func refusal(of post: Post) async -> UploadError.Code? {
    do throws(UploadError) {
      _ = try await recorder.record(post)
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
