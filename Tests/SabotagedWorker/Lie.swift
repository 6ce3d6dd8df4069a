import FoundationEssentials
import ReelCore
import ReelWire

/// Facts that no file has.
enum Lie {
  static func reply(_ lie: String, _ request: ReadRequest) -> ReadReply {
    var media = MediaInfo(container: request.container, size: request.size)
    var video = VideoFacts()
    switch lie {
    case "container": media.container = .mxf
    case "size": media.size += 1
    case "nan": (media.duration, media.durationSource) = (.nan, .container)
    case "infinite": (media.duration, media.durationSource) = (.infinity, .container)
    case "negative": (media.duration, media.durationSource) = (-1, .container)
    case "ages": (media.duration, media.durationSource) = (1e12, .container)
    case "no-picture": (video.width, video.height) = (0, 0)
    case "huge-picture": (video.width, video.height) = (1 << 40, 1)
    case "date": media.createdAt = Date(timeIntervalSince1970: 1e300)
    case "installation": return .failure(ProbeError(.workerBroken, "end the run!"))
    default: break
    }
    media.video = video
    return .facts(media, .header)
  }
}
