import CFFmpeg
import ReelModel

/// What in a file contradicts itself; a sentence each.
struct Contradictions {
  let header: HeaderFacts
  let iso: ISOFileMap?
  /// Seconds by the header.
  let claimedDuration: Double?
  let streams: StreamChoice
  let media: MediaInfo

  var sentences: [String] {
    [size, turn, duration, codec, samples, truncation].compactMap { $0 }
  }

  private var size: String? {
    guard let stream = streams.video, let claimed = header.sizes[stream.pointee.index],
      let width = media.video?.storedWidth, let height = media.video?.storedHeight,
      (Int(claimed.width), Int(claimed.height)) != (width, height)
    else { return nil }
    return "its header says \(claimed.width)x\(claimed.height), its pictures are \(width)x\(height)"
  }

  private var turn: String? {
    guard let video = media.video, video.rotation == nil else { return nil }
    return "its display matrix has no angle; it is shown as it is stored"
  }

  private var duration: String? {
    guard let claimed = claimedDuration, claimed != 0 else { return nil }
    guard let seconds = media.duration else {
      return "its header gives a duration that cannot be meant, and nothing else tells how long it is"
    }
    guard abs(claimed - seconds) > max(1, seconds * 0.1) else { return nil }
    return "its header says \(Self.text(claimed)) seconds, it really lasts \(Self.text(seconds))"
  }

  private var codec: String? {
    guard let stream = streams.video, media.video?.codec == nil else { return nil }
    let tag = stream.pointee.codecpar.pointee.codec_tag
    let name = tag == 0 ? "" : " (\(FourCharacterCode(codecTag: tag).text))"
    return "its video is in a codec that this FFmpeg does not know\(name)"
  }

  private var samples: String? {
    guard let stream = streams.video, iso?.hidesSamples(of: stream) == true else { return nil }
    return "its edit list hides every sample of its video"
  }

  private var truncation: String? {
    guard media.truncated == true else { return nil }
    guard let left = secondsLeft, let whole = media.duration else {
      return "it ends before its own account says: it was cut off"
    }
    return "it was cut off: \(Self.text(left)) of its \(Self.text(whole)) seconds are there"
  }

  /// How much of a cut file can be seen, by its index; nil where there is none, or it has only what is there.
  private var secondsLeft: Double? {
    guard iso?.fragments == 0, let stream = streams.video ?? streams.audios.first,
      let whole = media.duration
    else { return nil }
    let missing = reel_index_first_time_beyond(stream, media.size)
    let base = stream.pointee.time_base
    guard missing < .max, base.num > 0, base.den > 0 else { return nil }
    let ticks = Double(missing) - Double(reel_index_summary(stream).first_time)
    return min(max(0, ticks * Double(base.num) / Double(base.den)), whole)
  }

  private static func text(_ seconds: Double) -> String {
    guard seconds.isFinite, abs(seconds) < 1e15 else { return "absurdly many" }
    return "\((seconds * 10).rounded() / 10)"
  }
}
