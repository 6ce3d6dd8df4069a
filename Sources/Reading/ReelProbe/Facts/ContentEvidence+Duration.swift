import CFFmpeg
import ReelCore

/// How long the content lasts, and where it ends.
extension ContentEvidence {
  /// The duration in seconds that the header claims.
  var claimed: Double? { structure.metadataDuration ?? header.duration }

  /// Whether the duration of an Ogg file is counted from its pages, because FFmpeg relies on the time that each
  /// states.
  var pagesTell: Bool {
    guard structure.truncated != true, let ogg = structure.ogg, ogg.seconds != nil, !ogg.hasGap else {
      return false
    }
    return ogg.jumps || ogg.leavesTimesOut || ogg.links > 1 || ogg.picturesBeginLate || ogg.lateSeconds != nil
  }

  /// Returns the duration by the times of the packets, or the header's if that agrees with them; nil if the times are
  /// inconclusive.
  func duration(_ context: UnsafeMutablePointer<AVFormatContext>) -> FoundDuration? {
    if structure.container == .avi { return counted }
    if pagesTell, let found = structure.ogg?.seconds {
      return FoundDuration(found, .packets, size: size)
    }
    guard let clock, let sum, structure.truncated != true else { return nil }
    let seconds = sum.seconds / speed
    if structure.container.isMPEG {
      // FFmpeg's estimate leaves out pictures behind the last one that has a time.
      if sum.jumps == 0, !clock.counted.isEmpty {
        return FoundDuration(seconds, clock.isWhole ? .packets : .estimated, size: size)
      }
      // FFmpeg's estimate includes the duration of the last picture, but only one frame of the last packet of sound,
      // and ignores everything between the first and the last packets.
      if sum.jumps == 0, let estimated = streams.estimatedSeconds(context),
        abs(estimated - seconds) <= max(0.5, seconds * 0.01)
          // If few pictures have a timestamp, the last one would seem to last as long as several.
          || structure.container == .mpegPS && mayLackTimes && estimated < seconds
      {
        // FFmpeg's estimate is rounded to microseconds.
        guard seconds - estimated > 0.001, endsWithSound else { return nil }
      }
      return FoundDuration(seconds, clock.isWhole ? .packets : .estimated, size: size)
    }
    if let claimed, sum.jumps == 0, speed == 1,
      [seconds, endIfPrompt ?? seconds].contains(where: { abs($0 - claimed) <= max(0.1, claimed * 0.01) })
    {
      return FoundDuration(claimed, .container, size: size)
    }
    if let claimed, mayEnd(at: claimed) { return FoundDuration(claimed, .container, size: size) }
    let packets = clock.extents.values.reduce(0) { $0 + $1.packets }
    if let claimed, claimed > seconds, packets < Self.telling || clock.isEndLost,
      let found = FoundDuration(claimed, .container, size: size)
    {
      return found
    }
    return FoundDuration(seconds, .packets, size: size)
  }

  /// Whether the sound of a multiplex ends after its pictures.
  private var endsWithSound: Bool {
    guard let clock, clock.isWhole, let sound = clock.end(of: Set(streams.audios.compactMap { key(of: $0) }))
    else { return false }
    return clock.end(of: Set(streams.videos.compactMap { key(of: $0) })).map { sound > $0 } ?? true
  }

  /// The time at which the last packet ends, if the first begins about when it should; otherwise nil, because what
  /// comes before the first packet is not part of the content.
  private var endIfPrompt: Double? {
    guard let sum, let end, end - sum.seconds <= max(1, 0.1 * sum.seconds) else { return nil }
    return end
  }

  /// Whether the last picture may stay until `claimed`: none of the times says otherwise, and others stayed for as
  /// long.
  func mayEnd(at claimed: Double) -> Bool {
    guard let sum, sum.jumps == 0, speed == 1, let end, let ends else { return false }
    return ends.contains(claimed) && endIfPrompt != nil || ends.contains(claimed + end - sum.seconds)
  }

  /// Whether the duration that a Matroska file claims counts subtitles that stay when pictures and sound have ended.
  var countsSubtitles: Bool {
    guard structure.container.isMatroska, let claimed, let sum, let all = clock?.sum(), all.jumps == 0 else {
      return false
    }
    let most = max(1.5 * sum.seconds, sum.seconds + 60)
    return all.seconds > sum.seconds && all.seconds <= most
      && abs(all.seconds - claimed) <= max(0.1, claimed * 0.01)
  }

  /// The evidence for the total duration of files that were joined; nil for a single file.
  var joined: FactEvidence.Source? {
    if let (_, seconds) = structure.joinedFiles { return seconds == nil ? .header : .packets }
    return clock.map { $0.parts > 1 } == true ? .packets : nil
  }

  /// The number of times that the clock restarts.
  var jumps: Int { sum?.jumps ?? 0 }
}
