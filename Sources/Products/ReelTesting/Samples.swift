import FoundationEssentials
import ReelCore

extension Post {
  /// Returns a post for a preview or a test: the same for the same arguments, a different one for each number. Anything
  /// that is not an argument can be set afterwards.
  /// - Parameters:
  ///   - number: its place in the feed, from 1; each post is published a minute after the previous one.
  ///   - size: the size of the video in bytes.
  public static func sample(
    _ number: Int = 1, caption: String? = "First light", authorID: String? = "ada",
    authorName: String? = "Ada", music: String? = nil, width: Int = 1080, height: Int = 1920,
    duration: Double = 12.5, container: MediaContainer = .mp4, size: Int64 = 1_000_000
  ) -> Post {
    let moment = Date(timeIntervalSince1970: 1_700_000_000 + 60 * Double(number))
    let randomness = RepeatableRandomness(seed: UInt64(truncatingIfNeeded: number))
    let key = ObjectKey(random: randomness, container: container)
    let digest = ContentDigest(digest: randomness.bytes(32))
    let draft = PostDraft(
      media: .sample(container: container, width: width, height: height, duration: duration, size: size),
      provenance: .sample,
      metadata: PostMetadata(authorID: authorID, authorName: authorName, caption: caption, music: music),
      commentID: randomness.name(length: 22))
    let intent = Intent(
      id: PostID(at: moment, random: randomness), key: key,
      publication: Publication(digest: digest, destination: Destination("memory:store"), authorID: authorID),
      attempt: 1)
    let stored = StoredObject(key: key, url: "memory:store/\(key)", size: size, digest: digest)
    return Post(draft: draft, intent: intent, stored: stored, pageNumber: number, createdAt: moment)
  }
}

extension MediaInfo {
  /// Returns the facts of a video that the default policy accepts.
  public static func sample(
    container: MediaContainer = .mp4, width: Int = 1080, height: Int = 1920, duration: Double? = 12.5,
    size: Int64 = 1_000_000
  ) -> MediaInfo {
    var media = MediaInfo(container: container, size: size)
    media.duration = duration
    media.durationSource = duration == nil ? nil : .container
    var video = VideoFacts()
    video.codec = "h264"
    (video.width, video.height) = (width, height)
    video.hasSamples = true
    media.video = video
    return media
  }
}

extension ProbeProvenance {
  /// A provenance for facts that were not read from a file.
  public static let sample = ProbeProvenance(method: .full, isolation: .none, ffmpeg: "0.0.0")
}

/// Yields the same names, IDs and numbers again for the same seed. They are predictable, so use it only in tests.
public struct RepeatableRandomness: Randomness {
  private let state: RandomState

  /// Creates a source that begins at `seed`.
  public init(seed: UInt64) { state = RandomState(seed: seed) }

  /// Returns a nearly uniform number below `bound`, which must be above 0.
  public func number(below bound: UInt64) -> UInt64 { state.next() % bound }
}
