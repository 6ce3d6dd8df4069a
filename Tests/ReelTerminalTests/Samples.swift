import FoundationEssentials
import ReelCore
import ReelIngest
import Testing

/// Values to display, the same in every run.
enum Samples {
  /// 2024-05-01T10:11:12.250Z
  static let moment = Date(timeIntervalSince1970: 1_714_558_272.25)
  static let file = FileReference(number: 3, path: SourcePath("clips/beach.mov"))
  static let provenance = ProbeProvenance(method: .header, isolation: .full, ffmpeg: "59.27.100")
  static let uploadError = UploadError(
    .unavailable, "the store is busy; it will be tried again", retryAfter: 1.5)

  static var video: VideoFacts {
    var video = VideoFacts()
    video.codec = "h264"
    video.width = 1080
    video.height = 1920
    video.storedWidth = 1920
    video.storedHeight = 1080
    video.rotation = 90
    video.mirrored = false
    video.sampleAspectRatio = Rational(1, 1).map(SampleAspectRatio.init)
    video.frameRate = Rational(30000, 1001).map(FrameRate.init)
    video.variableFrameRate = false
    video.pixelFormat = "yuv420p"
    video.chroma = "4:2:0"
    video.bitDepth = 8
    video.profile = "High"
    video.bitRate = 4_200_000
    video.hdr = HDR(kind: .pq, profile: nil)
    video.streams = 1
    video.hasCover = false
    video.hasSamples = true
    return video
  }

  static var media: MediaInfo {
    var media = MediaInfo(container: .mov, size: 1_203_944)
    media.duration = 12.512
    media.durationSource = .container
    media.truncated = false
    media.external = false
    media.fastStart = true
    media.fragmented = false
    media.video = video
    media.audio = [AudioFacts(codec: "aac", channels: 2, sampleRate: 48000)]
    media.createdAt = moment
    media.hasLocation = true
    media.contentCredentials = false
    media.encrypted = false
    media.bitRate = 4_500_000
    media.hasCover = false
    return media
  }

  static var report: ProbeReport { ProbeReport(media: media, provenance: provenance) }

  static func post(
    metadata: PostMetadata = PostMetadata(
      authorID: "u1", authorName: "Ann", caption: "At the beach", music: "Waves"),
    place: Int = 12, media: MediaInfo = media
  ) throws -> Post {
    let key = ObjectKey(random: FixedRandomness(), container: media.container)
    let digest = try #require(ContentDigest(sha256: Array(repeating: 0xAB, count: 32)))
    let publication = Publication(
      digest: digest, destination: Destination("file:///srv/media"), authorID: "u1")
    let intent = Intent(
      id: PostID(at: moment, random: FixedRandomness()), key: key, publication: publication, attempt: 1)
    return Post(
      draft: PostDraft(media: media, provenance: provenance, metadata: metadata, commentID: "c1"),
      intent: intent,
      stored: StoredObject(key: key, url: "file:///srv/media/\(key)", size: media.size, digest: digest),
      pageNumber: place, createdAt: moment)
  }

  static func event(_ body: IngestEvent.Body, sequence: Int = 1) -> IngestEvent {
    IngestEvent(sequence: sequence, at: moment, body: body)
  }

  static func failed(_ path: String, _ message: String, code: FileFailure.Code = "corrupt") -> IngestEvent {
    event(
      .fileFailed(
        FileReference(number: 1, path: SourcePath(path)), FileFailure(code: code, message: message)))
  }
}
