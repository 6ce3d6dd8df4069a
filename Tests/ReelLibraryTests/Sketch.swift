import Foundation
import ReelCore
import ReelTestSupport
import Testing

/// Values for tests, each different from the last.
struct Sketch: Sendable {
  let randomness: SeededRandomness

  init(seed: UInt64 = 1) { randomness = SeededRandomness(seed: seed) }

  func digest() -> ContentDigest {
    guard let digest = ContentDigest(sha256: randomness.bytes(32)) else { preconditionFailure("32 bytes") }
    return digest
  }

  func publication(
    _ digest: ContentDigest? = nil, to destination: String = "file:///media", by author: String? = nil
  ) -> Publication {
    Publication(digest: digest ?? self.digest(), destination: Destination(destination), authorID: author)
  }

  func request(
    _ publication: Publication, _ duplicates: DuplicateHandling = .skip, poster: PosterRequest? = nil,
    arrived: ContentDigest? = nil, again: Bool = false
  ) -> ClaimRequest {
    ClaimRequest(
      publication: publication, duplicates: duplicates, size: 1000,
      newID: PostID(at: Date(timeIntervalSince1970: 1_700_000_000), random: randomness),
      newKey: ObjectKey(random: randomness, container: .mp4), poster: poster, arrived: arrived, again: again)
  }

  func poster(_ digest: ContentDigest? = nil) -> PosterRequest {
    PosterRequest(
      digest: digest ?? self.digest(), size: 100, newKey: ObjectKey(posterNamedBy: randomness))
  }

  /// The poster that `intent` names, as stored.
  func shown(_ intent: Intent) throws -> PostPoster {
    let key = try #require(intent.poster)
    let poster = Poster(
      jpeg: [], width: 288, height: 512, blurHash: "L3F~gYof00ayayj[fQj[00fQ?bfQ", isCover: false, time: 1)
    return PostPoster(
      poster, stored: StoredObject(key: key, url: "file:///media/\(key)", size: 100, digest: nil))
  }

  func draft(caption: String? = nil, poster: PostPoster? = nil) -> PostDraft {
    var media = MediaInfo(container: .mp4, size: 1000)
    media.duration = 12.34
    media.video = VideoFacts()
    media.video?.width = 1080
    media.video?.height = 1920
    var draft = PostDraft(
      media: media, provenance: ProbeProvenance(method: .header, isolation: .full, ffmpeg: "59.27.100"),
      metadata: PostMetadata(caption: caption), commentID: randomness.name(length: 12))
    draft.poster = poster
    return draft
  }

  func stored(_ intent: Intent, size: Int64 = 1000) -> StoredObject {
    StoredObject(
      key: intent.key, url: "file:///media/\(intent.key)", size: size, digest: intent.publication.digest)
  }
}

extension Claim {
  var intent: Intent? { if case .granted(let intent) = self { intent } else { nil } }
  var post: PublishedPost? { if case .published(let post) = self { post } else { nil } }
  var isHeld: Bool { if case .held = self { true } else { false } }
}

extension PostCatalog {
  /// Claims and completes in one call.
  func publish(_ request: ClaimRequest, with sketch: Sketch) async throws -> Post? {
    guard let intent = try await claim(request).intent else { return nil }
    return try await complete(intent, draft: sketch.draft(), stored: sketch.stored(intent))
  }
}
