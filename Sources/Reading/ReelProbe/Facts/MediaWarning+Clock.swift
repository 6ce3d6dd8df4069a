import CFFmpeg
import ReelCore

extension MediaWarning {
  /// Warnings about a clock that its sound contradicts: about the duration, and about the frame rate unless the
  /// pictures state the same rate.
  ///
  /// - Parameters:
  ///   - stream: the pictures that have the same clock.
  ///   - ratio: how many times longer everything lasts by that clock; nil if that is not known.
  static func doubtedClock(
    _ what: String, _ media: MediaInfo, _ stream: StreamChoice.Stream?, slowed ratio: Double?
  ) -> [MediaWarning] {
    let isStated = media.video?.frameRate.flatMap { rate in
      stream.flatMap { BitstreamRate($0) }?.agrees(with: rate.value)
    }
    let found = doubtedClock(what, media, slowed: ratio)
    return stream == nil || isStated == true ? Array(found.prefix(1)) : found
  }

  /// The same warnings for pictures that state no rate.
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
