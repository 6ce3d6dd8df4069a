import CFFmpeg
import ReelCore

/// Doubts about the clock, where packets that FFmpeg read are asked as well.
extension ContentEvidence {
  /// Whether FFmpeg's packets have to show how long each frame of sound lasts, because nothing else shows whether the
  /// times are right.
  var needsSound: Bool {
    guard let stream = streams.video, !streams.audios.isEmpty else { return false }
    return structure.container == .asf || structure.container.isMPEG && BitstreamRate(stream) == nil
  }

  /// Warnings about evidence against a file's clock: its sound, unless the clock was already compared against that
  /// without FFmpeg, and the rate that the pictures state.
  ///
  /// - Parameter paces: how many times longer the sounds last by their times than by their frames.
  func clockContradicted(_ media: MediaInfo, _ paces: [Int32: Double]) -> [MediaWarning] {
    guard !structure.container.isMatroska, !structure.hasScrambled(streams) else { return [] }
    let stated = streams.video.flatMap { BitstreamRate($0) }
    let found = media.video?.frameRate?.value
    let told = streams.audios.compactMap { paces[$0.pointee.index] }
    if structure.container == .asf || structure.container.isMPEG, let ratio = told.first, !told.contains(1) {
      // Pictures that come at the rate they state refute this. In a program stream the rate may be the stated one.
      let isDenied =
        structure.container != .mpegPS
        && found.flatMap { found in
          stated.map { BitstreamRate.isNear($0.rate.value, found, than: found * ratio) }
        } ?? false
      if !isDenied { return doubtedClock(Self.lastsOtherwise, media, slowed: ratio) }
    }
    guard let stated, let found, media.video?.variableFrameRate == false, stated.contradicts(found) else {
      return []
    }
    let what =
      "its pictures state a rate of \(ProbeWarnings.text(stated.rate.value)) per second, but come at \(ProbeWarnings.text(found))"
    return [
      MediaWarning(
        .frameRateMismatch, what, fact: "video.frameRate", stated: .number(stated.rate.value),
        measured: .number(found))
    ]
  }

  var jumpsFound: MediaWarning? {
    if let (parts, seconds) = structure.joinedFiles {
      return seconds == nil
        ? MediaWarning(
          .claimUnchecked, "it consists of several joined files, not all of which state their duration",
          fact: "duration")
        : .clockJumps(parts - 1)
    }
    return jumps > 0 ? .clockJumps(jumps) : nil
  }

  func durationUnchecked(_ media: MediaInfo) -> MediaWarning? {
    if clock?.isUnclear == true || frames?.isDamaged == true {
      return MediaWarning(
        .claimUnchecked, "its clock could not be followed everywhere, so its duration may be wrong",
        fact: "duration", stated: media.duration.map { .number($0) })
    }
    let isHeld = structure.container.isMatroska || structure.container == .flv || structure.container == .asf
    guard isHeld, structure.truncated != true, media.durationSource == .container,
      let seconds = media.duration
    else { return nil }
    if let sum, seconds - max(sum.seconds, end ?? 0) <= max(0.5, 0.5 * seconds) { return nil }
    return MediaWarning(
      .claimUnchecked,
      sum == nil
        ? "its last packets were not found, so its duration is only claimed"
        : "it has too few packets to tell whether it lasts as long as it claims",
      fact: "duration",
      stated: .number(seconds))
  }

  func rate(_ media: MediaInfo) -> MediaWarning? {
    guard let stream = streams.video, let stated = header.rates[stream.pointee.index],
      let found = media.video?.frameRate, abs(stated.value - found.value) > 0.02 * found.value,
      media.video?.variableFrameRate != true || stated.value > Self.fastest,
      // An AVI's header states the tick of its frames, some of which it may drop.
      structure.container != .avi
    else { return nil }
    return MediaWarning(
      .frameRateMismatch,
      "its header gives another frame rate than its pictures have, which counts", fact: "video.frameRate",
      stated: .text(FrameRate(stated).description), measured: .text(found.description))
  }

  /// Warnings about a Matroska file's clock. The times of all packets are multiples of one number in the header
  /// (`TimestampScale`). A rate that is stated beside it in nanoseconds shows that this number is wrong, or is wrong
  /// itself.
  func clockDoubted(_ media: MediaInfo) -> [MediaWarning] {
    guard structure.container.isMatroska, !isClockHeard, let seconds = media.duration, let clock else {
      return []
    }
    // Writers of films and recordings count in milliseconds. With that tick it is a stated rate that is wrong.
    let isUsual = clock.base.num == Self.usualScale
    var (other, doubted): (Double?, [String]) = (nil, ["duration"])
    if media.video?.variableFrameRate != true, let stream = streams.video, let key = key(of: stream),
      let pace = clock.pace(of: key), pace.steps >= Self.telling
    {
      if let stated = header.rates[stream.pointee.index]?.value,
        abs(stated - pace.ordinary) > 0.02 * pace.ordinary
      {
        other = stated
      } else if let stated = BitstreamRate(stream), stated.contradicts(pace.ordinary) {
        (other, doubted) = (stated.rate.value, ["duration", "video.frameRate"])
      } else if header.rates[stream.pointee.index] != nil || BitstreamRate(stream) != nil {
        return []
      }
      if let other {
        return doubted.filter { !isUsual || $0 != "duration" }.map { fact in
          MediaWarning(
            .claimUnchecked,
            "its times and the frame rate that it states differ, so its \(fact == "duration" ? "duration" : "frame rate") is uncertain",
            fact: fact, stated: .number(fact == "duration" ? seconds : pace.ordinary),
            measured: .number(fact == "duration" ? seconds * pace.ordinary / other : other))
        }
      }
    }
    guard !isUsual,
      !streams.audios.contains(where: { key(of: $0).map(clock.keepsStatedPace) == true })
    else { return [] }
    doubted = media.video?.frameRate == nil ? ["duration"] : ["duration", "video.frameRate"]
    return doubted.map { fact in
      MediaWarning(
        .claimUnchecked,
        "its clock has an unusual tick, and nothing else tells whether its \(fact == "duration" ? "duration" : "frame rate") is right",
        fact: fact,
        stated: fact == "duration" ? .number(seconds) : media.video?.frameRate.map { .text($0.description) })
    }
  }

  /// The usual length of a tick, in nanoseconds.
  private static let usualScale: Int32 = 1_000_000
}
