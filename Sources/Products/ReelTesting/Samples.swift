import FoundationEssentials
import ReelCore

extension Post {
  /// A post for a preview or a test: the same for the same arguments, another one for each number. What is not an argument
  /// can be set afterwards.
  /// - Parameters:
  ///   - number: its place in the feed, from 1; each is published a minute after the one before.
  ///   - size: bytes.
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
  /// The facts of a video that the default policy lets in.
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
  /// As if nobody had read the file.
  public static let sample = ProbeProvenance(method: .full, isolation: .none, ffmpeg: "0.0.0")
}

/// Draws the same names, ids and numbers again from the same seed. Nobody is kept from guessing them: for tests only.
public struct RepeatableRandomness: Randomness {
  private let state: RandomState

  /// A source that begins at `seed`.
  public init(seed: UInt64) { state = RandomState(seed: seed) }

  /// Nearly uniform below `bound`, which must be above 0.
  public func number(below bound: UInt64) -> UInt64 { state.next() % bound }
}
