import CFFmpeg
import ReelCore

extension MediaWarning {
  /// A clock that its sound contradicts: the duration, and the frame rate unless the pictures state the same.
  ///
  /// - Parameters:
  ///   - stream: the pictures that have the same clock.
  ///   - ratio: by how much longer all lasts by it; nil where that is not known.
  static func doubtedClock(
    _ what: String, _ media: MediaInfo, _ stream: StreamChoice.Stream?, slowed ratio: Double?
  ) -> [MediaWarning] {
    let isStated = media.video?.frameRate.flatMap { rate in
      stream.flatMap { BitstreamRate($0) }?.agrees(with: rate.value)
    }
    let found = doubtedClock(what, media, slowed: ratio)
    return stream == nil || isStated == true ? Array(found.prefix(1)) : found
  }

  /// The same of pictures that state nothing.
  static func doubtedClock(_ what: String, _ media: MediaInfo, slowed ratio: Double?) -> [MediaWarning] {
    let duration = MediaWarning(
      .claimUnchecked, what, fact: "duration", stated: media.duration.map { .number($0) },
      measured: media.duration.flatMap { seconds in ratio.map { .number(seconds / $0) } })
    guard let rate = media.video?.frameRate else { return [duration] }
    return [
      duration,
      MediaWarning(
        .claimUnchecked, what, fact: "video.frameRate", stated: .text(rate.description),
        measured: ratio.map { .number(rate.value * $0) }),
    ]
  }
}
