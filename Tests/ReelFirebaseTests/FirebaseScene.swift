import Foundation
import ReelCore
import ReelCrypto
import ReelFakeGoogle
import ReelHTTPFakes
import ReelStorage
import Testing

@testable import ReelRemoteStorage

extension FakeGoogle {
  /// The tokens of the key that this fake knows.
  func tokens(
    _ transport: any HTTPTransport, clock: any WallClock = SystemWallClock()
  ) async throws -> ServiceAccountTokens {
    let key = try ServiceAccountKey(TestKey.file("\(origin)"), path: "key.json")
    return try await ServiceAccountTokens(key, transport: transport, clock: clock)
  }

  /// An uploader with a connection and a token of its own.
  func uploader(
    _ checkpoints: any UploadCheckpoints = MemoryCheckpoints(), bucket: String = FakeGoogle.bucket,
    publicBaseURL: String? = nil, partSize: Int = 1 << 18, limiter: RateLimiter? = nil
  ) async throws -> FirebaseUploader {
    let transport = try CurlTransport.patient(limiter: limiter)
    return FirebaseUploader(
      try StorageBucket(bucket, prefix: "videos", emulator: origin), transport: transport,
      tokens: try await tokens(transport), checkpoints: checkpoints, publicBaseURL: publicBaseURL,
      partSize: partSize)
  }

  /// What keeps the posts, with a connection and a token of its own. It does not wait.
  func posts(project: String = FakeGoogle.project) async throws -> FirestorePosts {
    let transport = try CurlTransport.patient()
    return FirestorePosts(
      try #require(FirestoreDatabase(project: project, emulator: origin)),
      of: Destination("firebase://\(Self.bucket)/videos"), transport: transport,
      tokens: try await tokens(transport), pause: HurriedClock())
  }

  /// The object of that key, behind the prefix.
  func object(_ key: ObjectKey) -> Object? { state.withLock { $0.objects["videos/\(key)"] } }

  /// Uploads that were begun and have not ended.
  var openSessions: Int { state.withLock { $0.sessions.values.count { $0.generation == nil } } }
}

/// A clock on which nobody waits long.
struct HurriedClock: Clock {
  private let clock = ContinuousClock()
  var now: ContinuousClock.Instant { clock.now }
  var minimumResolution: Duration { clock.minimumResolution }

  func sleep(until deadline: ContinuousClock.Instant, tolerance: Duration?) async throws {
    try Task.checkCancellation()
    await Task.yield()
  }
}

/// A post of a video that nobody has.
func newPost(_ metadata: PostMetadata = PostMetadata(), id: PostID? = nil) throws -> Post {
  let randomness = SystemRandomness()
  let key = ObjectKey(random: randomness, container: .mp4)
  let digest = try #require(ContentDigest(sha256: randomness.bytes(32)))
  var media = MediaInfo(container: .mp4, size: 7)
  media.duration = 5
  return Post(
    draft: PostDraft(
      media: media, provenance: ProbeProvenance(method: .header, isolation: .full, ffmpeg: "59.27.100"),
      metadata: metadata, commentID: randomness.name(length: 22)),
    intent: Intent(
      id: id ?? PostID(at: Date(), random: randomness), key: key,
      publication: Publication(digest: digest, destination: Destination("x"), authorID: nil), attempt: 1),
    stored: StoredObject(key: key, url: "https://host.example/\(key)", size: 7, digest: digest),
    pageNumber: 99, createdAt: Date(timeIntervalSince1970: 1_795_292_158.123))
}
