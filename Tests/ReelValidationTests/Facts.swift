import ReelCore
import ReelValidation

/// Facts for tests, all good unless stated otherwise.
enum Facts {
  static func media(_ change: (inout MediaInfo) -> Void = { _ in }) -> MediaInfo {
    var media = MediaInfo(container: .mp4, size: 1_000_000)
    media.duration = 10
    media.durationSource = .container
    media.truncated = false
    media.fastStart = true
    media.fragmented = false
    media.hasLocation = false
    media.contentCredentials = false
    media.encrypted = false
    media.bitRate = 800_000
    media.video = video()
    media.audio = [AudioFacts(codec: "aac", channels: 2, sampleRate: 48000)]
    change(&media)
    return media
  }

  static func video(_ change: (inout VideoFacts) -> Void = { _ in }) -> VideoFacts {
    var video = VideoFacts()
    video.codec = "h264"
    video.width = 1080
    video.height = 1920
    video.storedWidth = 1080
    video.storedHeight = 1920
    video.rotation = 0
    video.mirrored = false
    video.sampleAspectRatio = Rational(1, 1).map { SampleAspectRatio($0) }
    video.frameRate = Rational(30, 1).map { FrameRate($0) }
    video.variableFrameRate = false
    video.pixelFormat = "yuv420p"
    video.chroma = "4:2:0"
    video.bitDepth = 8
    video.bitRate = 700_000
    video.streams = 1
    video.hasCover = false
    video.hasSamples = true
    change(&video)
    return video
  }

  static func fixture(_ path: String = "clips/a.mp4", _ change: (inout MediaInfo) -> Void = { _ in })
    -> FixtureFacts
  {
    let media = media(change)
    return FixtureFacts(
      path: SourcePath(path), size: media.size, reading: .media(report(media)), likeness: .unique)
  }

  /// A fixture with another video stream.
  static func picture(_ change: (inout VideoFacts) -> Void) -> FixtureFacts {
    fixture { $0.video = video(change) }
  }

  static func report(_ media: MediaInfo) -> ProbeReport {
    ProbeReport(
      media: media, provenance: ProbeProvenance(method: .full, isolation: .full, ffmpeg: "59.27.100"))
  }

  static func unread(
    _ code: ProbeError.Code, _ message: String = "it is not", found: String? = nil,
    path: String = "clips/a.mp4"
  ) -> FixtureFacts {
    FixtureFacts(
      path: SourcePath(path), size: 100, reading: .unreadable(ProbeError(code, message, found: found)))
  }

  static let reader = ReaderVersion(reel: "0.1.0", ffmpeg: "59.27.100")
}

/// A library whose only files are given as texts.
func library(_ files: [String: String] = [:]) -> PolicyLibrary {
  PolicyLibrary { (name, _) throws(PolicyError) in
    guard let text = files[name] else {
      throw PolicyError([PolicyProblem(source: name, message: "no such file")])
    }
    return (Array(text.utf8), name)
  }
}

/// A policy from the given YAML.
func policy(_ yaml: String) throws(PolicyError) -> Policy {
  try library(["test.yaml": yaml]).policy("test.yaml")
}
