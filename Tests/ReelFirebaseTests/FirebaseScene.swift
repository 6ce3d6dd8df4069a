import Foundation
import ReelCore
import ReelCrypto
import ReelFakeGoogle
import ReelHTTPFakes
import ReelStorage
import Testing

@testable import ReelRemoteStorage

extension FakeGoogle {
  /// Tokens for the service account that this fake knows.
  func tokens(
    _ transport: any HTTPTransport, clock: any WallClock = SystemWallClock()
  ) async throws -> ServiceAccountTokens {
    let key = try ServiceAccountKey(TestKey.file("\(origin)"), path: "key.json")
    return try await ServiceAccountTokens(key, transport: transport, clock: clock)
  }

  /// An uploader with its own connection and token.
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

  /// A recorder of posts with its own connection and token, which does not wait between attempts.
  func posts(project: String = FakeGoogle.project) async throws -> FirestorePosts {
    let transport = try CurlTransport.patient()
    return FirestorePosts(
      try #require(FirestoreDatabase(project: project, emulator: origin)),
      of: Destination("firebase://\(Self.bucket)/videos"), transport: transport,
      tokens: try await tokens(transport), pause: HurriedClock())
  }

  /// The object with this key under the prefix.
  func object(_ key: ObjectKey) -> Object? { state.withLock { $0.objects["videos/\(key)"] } }

  /// The number of unfinished uploads.
  var openSessions: Int { state.withLock { $0.sessions.values.count { $0.generation == nil } } }
}

/// A clock on which every wait is short.
struct HurriedClock: Clock {
  private let clock = ContinuousClock()
  var now: ContinuousClock.Instant { clock.now }
  var minimumResolution: Duration { clock.minimumResolution }

  func sleep(until deadline: ContinuousClock.Instant, tolerance: Duration?) async throws {
    try Task.checkCancellation()
    await Task.yield()
  }
}

/// A post of a video that does not exist.
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
