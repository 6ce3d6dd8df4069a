import CFFmpeg
import FoundationEssentials
import ReelCore

/// Warnings about boxes of an ISO base media file that contradict one another, so that not all of them can be true.
struct MovieWarnings {
  let tracks: MovieTracks
  let iso: ISOFileMap
  let streams: StreamChoice
  let media: MediaInfo
  /// The number of times that the clock of its fragments restarts; nil if it has no fragments.
  let fragmentJumps: Int?
  /// The places of the sounds that are of another codec than their header names.
  let otherSounds: Set<Int>
  /// The seconds that the first packet of a sound lasts by its codec, by the sound's place.
  let soundFrames: [Int: Double]

  /// Returns all warnings.
  ///
  /// - Parameter hasDuration: whether there already is a warning about the duration.
  func found(hasDuration: Bool) -> [MediaWarning] {
    let clock = clock
    return
      [
        hasDuration ? nil : clock?.duration, clock?.rate, tables, places, jumps, pause, another,
        shape,
        sound,
        dates,
      ]
      .compactMap { $0 } + fragments + changes + kinds + unread + rate + soundRates + soundClock + plainClock
      + untimed
      + edits
      + speeds
      + (clock?.rate == nil && video?.presentation?.speed == nil ? statedRate : [])
  }

  private var video: ISOTrack? { streams.video.flatMap { tracks.track(of: $0) } }

  private var shownTracks: [ISOTrack] { seenOrHeard.filter { $0.presentation != nil } }

  private var seenOrHeard: [ISOTrack] {
    ([streams.video].compactMap { $0 } + streams.audios).compactMap { tracks.track(of: $0) }
  }

  /// Warnings about a track whose own headers claim other times than its samples have.
  private var clock: (duration: MediaWarning, rate: MediaWarning?)? {
    for track in shownTracks {
      guard let presentation = track.presentation, let claim = contradiction(track, presentation) else {
        continue
      }
      let duration = MediaWarning(
        .durationMismatch,
        "the headers of a track say \(ProbeWarnings.text(claim.stated)) seconds, its samples last \(ProbeWarnings.text(claim.measured))",
        fact: "duration", stated: .number(claim.stated), measured: .number(claim.measured))
      guard track.id == video?.id, let measured = presentation.rate?.value, claim.stated > 0 else {
        return (duration, nil)
      }
      let stated = Double(claim.samples) / claim.stated
      guard abs(stated - measured) > FramePace.tolerance * measured else { return (duration, nil) }
      return (
        duration,
        MediaWarning(
          .frameRateMismatch,
          "the headers of its video mean \(ProbeWarnings.text(stated)) pictures a second, its samples \(ProbeWarnings.text(measured))",
          fact: "video.frameRate", stated: .number(stated), measured: .number(measured))
      )
    }
    return nil
  }

  /// Compares the media header against all samples, and the track header against those that are shown. Returns nil if
  /// neither contradicts its samples.
  private func contradiction(
    _ track: ISOTrack, _ presentation: TrackPresentation
  ) -> (stated: Double, measured: Double, samples: Int64)? {
    if let ticks = track.claimedTicks, let scale = track.timescale {
      let stated = Double(ticks) / Double(scale)
      let others = [presentation.sumOfSteps, presentation.mediaSeconds - presentation.lead]
      if isFar(stated, presentation.mediaSeconds, presentation),
        others.allSatisfy({ isFar(stated, $0, presentation) })
      {
        return (stated, presentation.mediaSeconds, presentation.samples)
      }
    }
    guard let ticks = track.header?.duration, let scale = iso.movieHeader?.timescale, presentation.shown > 0,
      isFar(Double(ticks) / Double(scale), presentation.seconds, presentation)
    else { return nil }
    // Some writers ignore the edits, or write the media's own ticks there.
    let others =
      [Double(ticks) / Double(scale)]
      + (hasOwnTicks ? track.timescale.map { [Double(ticks) / Double($0)] } ?? [] : [])
    guard
      presentation.mediaSeconds < 0.15
        || others.allSatisfy({ isFar($0, presentation.mediaSeconds, presentation) })
    else {
      return nil
    }
    return (Double(ticks) / Double(scale), presentation.seconds, presentation.shown)
  }

  /// Whether the track headers may count in the media's own ticks: a writer that mistakes the unit does so in all of
  /// them.
  private var hasOwnTicks: Bool {
    shownTracks.allSatisfy { track in
      guard let ticks = track.header?.duration, let scale = track.timescale, let shown = track.presentation
      else { return true }
      return !isFar(Double(ticks) / Double(scale), shown.mediaSeconds, shown)
    }
  }

  /// Whether both differ by more than the last sample and the rounding of clocks account for.
  private func isFar(_ stated: Double, _ measured: Double, _ presentation: TrackPresentation) -> Bool {
    let step = presentation.ordinaryRate.map { 1 / $0 } ?? Self.longestStep
    let tick = iso.movieHeader.map { 1 / Double($0.timescale) } ?? 0
    return abs(stated - measured) > max(min(Self.longestStep, 1.5 * step + 0.02 + tick), measured * 0.03)
  }

  private static let longestStep = 0.15

  /// Warnings about tracks whose last samples have another sample entry than the first, as in files that were joined.
  private var changes: [MediaWarning] {
    let sounds = streams.audios.enumerated().compactMap { place, stream -> MediaWarning? in
      guard let track = tracks.track(of: stream), let entry = track.entry else { return nil }
      return codecChange(
        entry, track.laterEntries, avformat_get_mov_audio_tags(), "sound", fact: "audio.\(place).codec")
        ?? entry.soundHeader.flatMap { first in
          track.laterEntries.lazy.compactMap(\.soundHeader)
            .compactMap { MediaWarning.changedSound(first, $0, place: place) }.first
        }
    }
    guard let video, let entry = video.entry else { return sounds }
    let codec = codecChange(
      entry, video.laterEntries, avformat_get_mov_video_tags(), "video", fact: "video.codec")
    return [codec].compactMap(\.self) + pictureChanges(entry, video.laterEntries) + sounds
  }

  /// Returns nil if no later entry is known to be of another codec.
  private func codecChange(
    _ first: SampleEntry, _ later: [SampleEntry], _ tags: OpaquePointer?, _ what: String, fact: String
  ) -> MediaWarning? {
    guard let codec = VideoFacts.codecName(first.codec(tags)) else { return nil }
    return later.lazy.compactMap { VideoFacts.codecName($0.codec(tags)) }.first { $0 != codec }.map {
      .changedCodec(codec, $0, what, fact: fact)
    }
  }

  private func pictureChanges(_ first: SampleEntry, _ later: [SampleEntry]) -> [MediaWarning] {
    let size = first.pictureSize.flatMap { first in
      later.compactMap(\.pictureSize).first { $0 != first }.map { MediaWarning.changedSize(first, $0) }
    }
    let shape = first.pixel.flatMap { pixel in
      later.lazy.filter { $0.pictureSize == first.pictureSize }.compactMap(\.pixel)
        .compactMap { MediaWarning.changedShape(pixel, $0) }.first
    }
    // If an entry does not state a transfer function, its pictures may.
    let range = media.video?.hdr?.kind
    let other = later.first { entry in
      entry.transfer != nil && entry.transfer != first.transfer && entry.range != range
        && (entry.range != nil || first.range != nil)
    }
    let sampling = size == nil ? samplingChange(first, later) : nil
    let found = [size, shape, sampling].compactMap(\.self)
    guard let other, range != .dolbyVision else { return found }
    return found + [.changedRange(range, other.range)]
  }

  private func samplingChange(_ first: SampleEntry, _ later: [SampleEntry]) -> MediaWarning? {
    let codec = first.codec(avformat_get_mov_video_tags())
    return later.lazy.filter { $0.codec(avformat_get_mov_video_tags()) == codec }
      .compactMap { ContentChanges.change(codec, first.configuration ?? [], $0.configuration ?? []) }.first
  }

  /// Warnings about tracks that are handled as sound or as pictures, but whose sample entry is of the other kind, and
  /// about contradictory claims of encryption.
  private var kinds: [MediaWarning] {
    func isNamed(_ stream: StreamChoice.Stream, in table: OpaquePointer?) -> Bool {
      guard let parameters = stream.pointee.codecpar?.pointee, parameters.codec_id == AV_CODEC_ID_NONE else {
        return false
      }
      return av_codec_get_id([table, nil], parameters.codec_tag) != AV_CODEC_ID_NONE
    }
    let isOpen = iso.tracks.contains {
      ["encv", "enca"].contains($0.entry?.format) && $0.entry?.original == nil
    }
    let pictures = streams.audios.contains { isNamed($0, in: avformat_get_mov_video_tags()) }
    let sounds = streams.videos.contains { isNamed($0, in: avformat_get_mov_audio_tags()) }
    let scheme = MediaWarning(
      .claimUnchecked, "a track says that it is encrypted, but not how", fact: "encrypted")
    let isHidden = !iso.encrypted && iso.tracks.contains { $0.isSeenOrHeard && $0.entry?.isProtected == true }
    let hidden = MediaWarning(
      .claimUnchecked, "a track says how its samples are encrypted, but has the name of an unencrypted codec",
      fact: "encrypted", stated: .text("false"))
    return (pictures ? ["video", "audio"] : []).map { .misnamed("sound", whatIs: "pictures", fact: $0) }
      + (sounds ? ["audio"] : []).map { .misnamed("pictures", whatIs: "sound", fact: $0) }
      + (isOpen ? [scheme] : []) + (isHidden ? [hidden] : [])
  }

  /// A warning about samples that the tables list and FFmpeg does not find, as when they refer to a sample
  /// description that does not exist.
  private var unread: [MediaWarning] {
    guard media.video?.hasSamples == false, media.external != true, media.truncated != true,
      media.encrypted != true, streams.video.map({ iso.hidesSamples(of: $0) }) == false,
      max(video?.counts.sizes ?? 0, Int64(clamping: videoRun?.samples ?? 0)) > 0
    else { return [] }
    return [
      MediaWarning(
        .claimUnchecked, "its index lists samples of its video that cannot be read",
        fact: "video.hasSamples")
    ]
  }

  /// Warnings about a rate that cannot be right. Then the clock is wrong, and so is the duration of the pictures.
  private var rate: [MediaWarning] {
    guard media.video?.frameRate == nil, let rate = (video?.presentation?.rate ?? videoRun?.rate)?.value,
      rate >= VideoFacts.beyondSense
    else { return [] }
    let what = "its index gives \(ProbeWarnings.text(rate)) pictures a second, which cannot be right"
    return [
      MediaWarning(.frameRateMismatch, what, fact: "video.frameRate", stated: .number(rate)),
      MediaWarning(
        .claimUnchecked, what, fact: "duration", stated: media.duration.map { .number($0) }),
    ]
  }

  private var videoRun: MovieFragments.Run? { video?.id.flatMap { iso.fragmentTable?.runs[$0] } }

  /// Warnings about sound whose codec states another rate than its clock and its sample entry. If the entry agrees
  /// with the codec, nothing shows which of them is right.
  private var soundRates: [MediaWarning] {
    streams.audios.enumerated().flatMap { place, stream -> [MediaWarning] in
      guard !otherSounds.contains(place), let clock = SoundClock(stream, tracks, iso), !clock.agrees else {
        return []
      }
      let what =
        "its sound has a rate of \(clock.stated) Hz by the header of its codec, and of \(clock.measured) by its times"
      let (stated, measured) = (
        MediaWarning.Value.number(Double(clock.stated)), MediaWarning.Value.number(Double(clock.measured))
      )
      if media.audio.indices.contains(place), clock.isCorrected(media.audio[place].sampleRate) {
        return [
          MediaWarning(
            .soundMismatch, what, fact: "audio.\(place).sampleRate", stated: stated, measured: measured)
        ]
      }
      return [
        MediaWarning(
          .claimUnchecked, what, fact: "audio.\(place).sampleRate", stated: stated, measured: measured)
      ] + MediaWarning.doubtedClock(what, media, picturesBeside(tracks.track(of: stream)), slowed: nil)
    }
  }

  /// Warnings about tracks whose tables leave their duration open, so that there is only the header's claim.
  private var untimed: [MediaWarning] {
    let stopped = iso.tracks.contains {
      $0.isSeenOrHeard && $0.timescale == nil && $0.counts.sizes ?? 0 > 0
    }
    if stopped, iso.fragments == 0 {
      return [
        MediaWarning(
          .durationMismatch, "a track has samples, but its clock does not run", fact: "duration",
          stated: media.duration.map { .number($0) })
      ]
    }
    let untimed = tracks.untimed
    guard !untimed.isEmpty else { return [] }
    let rate = media.video?.frameRate.flatMap { rate in
      untimed.contains { $0.id == video?.id }
        ? MediaWarning(
          .claimUnchecked,
          "the times of its pictures cannot be determined, so its frame rate is only claimed",
          fact: "video.frameRate", stated: .text(rate.description)) : nil
    }
    return [
      MediaWarning(
        .claimUnchecked, "the times of a track cannot be determined, so its duration is only claimed",
        fact: "duration", stated: media.duration.map { .number($0) })
    ] + [rate].compactMap(\.self)
  }

  /// Warnings about sound whose samples last longer or shorter than its frames do by their own headers: a clock is
  /// wrong.
  private var soundClock: [MediaWarning] {
    for (place, stream) in streams.audios.enumerated() where !otherSounds.contains(place) {
      guard let parameters = stream.pointee.codecpar, let track = tracks.track(of: stream),
        !track.isPassedOver(by: stream), SoundClock(stream, tracks, iso) == nil,
        let seconds = soundFrames[place], let step = step(of: track),
        // Frames of AAC may have 960 samples instead of 1024, or the reverse, whatever the record says.
        !(parameters.pointee.codec_id == AV_CODEC_ID_AAC ? [1, 15.0 / 16, 16.0 / 15] : [1]).contains(where: {
          abs(step.seconds - $0 * seconds) <= step.tolerance * seconds
        })
      else { continue }
      return MediaWarning.doubtedClock(
        "the samples of its sound have another duration by its index than by their codec", media,
        picturesBeside(track), slowed: step.seconds / seconds)
    }
    return []
  }

  /// Returns the pictures, unless they last clearly longer or shorter than a sound whose clock is wrong. Otherwise
  /// their clock may be wrong, too.
  private func picturesBeside(_ sound: ISOTrack?) -> StreamChoice.Stream? {
    func seconds(_ track: ISOTrack?) -> Double? {
      // Regardless of what edits show of it.
      track?.presentation?.sumOfSteps ?? track?.id.flatMap { iso.fragmentTable?.runs[$0]?.length }
    }
    guard let own = seconds(video), let other = seconds(sound), abs(own - other) > 0.1 * own + 0.5 else {
      return streams.video
    }
    return nil
  }

  /// Returns how many seconds a sample lasts by the times, and the tolerance of that as a share.
  private func step(of track: ISOTrack) -> (seconds: Double, tolerance: Double)? {
    if let even = SoundClock.seconds(track, iso.fragmentTable) { return (even, 0.01) }
    let rate = track.id.flatMap { iso.fragmentTable?.runs[$0]?.ordinaryRate }
    return rate.map { (1 / $0, 0.03) }
  }

  /// Warnings about uncompressed sound whose rate is not the one in its entry, beside pictures that deviate from
  /// their own rate by the same factor: the clock of both is wrong.
  private var plainClock: [MediaWarning] {
    guard let found = media.video?.frameRate?.value,
      let stated = streams.video.flatMap({ BitstreamRate($0) }),
      !stated.agrees(with: found)
    else { return [] }
    for stream in streams.audios {
      guard let track = tracks.track(of: stream), let entry = track.entry?.sampleRate, entry > 1,
        let rate = PlainSound(stream, track)?.sampleRate, rate > 0,
        case let ratio = Double(entry) / Double(rate), stated.agrees(with: found * ratio)
      else { continue }
      return MediaWarning.doubtedClock(
        "its sound and its pictures both run at other rates than they state", media, streams.video,
        slowed: ratio)
    }
    return []
  }

  /// Warnings about a rate stated in the pictures that the index contradicts, although they come evenly by it. In
  /// fragments this may be the only evidence of how fast the clock runs.
  private var statedRate: [MediaWarning] {
    guard let found = media.video?.frameRate, media.video?.variableFrameRate == false,
      let stated = streams.video.flatMap({ BitstreamRate($0) }),
      stated.contradicts(found.value, byFields: false),
      // A single picture may stay for long.
      video?.presentation?.samples != 1 || found.value > stated.rate.value
    else { return [] }
    let isAlone = iso.fragments > 0 && streams.audios.isEmpty && streams.videos.count == 1
    let what =
      "its pictures state a rate of \(ProbeWarnings.text(stated.rate.value)) per second, its index gives \(ProbeWarnings.text(found.value))"
    let rate = MediaWarning(
      .frameRateMismatch, what, fact: "video.frameRate", stated: .number(stated.rate.value),
      measured: .number(found.value))
    let isDoubtful = isAlone || isOutlasting(slowed: stated.rate.value / found.value)
    guard isDoubtful, let seconds = media.duration else { return [rate] }
    return [rate, MediaWarning(.claimUnchecked, what, fact: "duration", stated: .number(seconds))]
  }

  /// Whether the pictures of fragments last far longer than any sound, and none of the sounds refutes that the clock
  /// of the pictures is too slow by `factor`. As in a slide show, each picture may be shown for long.
  private func isOutlasting(slowed factor: Double) -> Bool {
    guard let pictures = videoRun?.length else { return false }
    let sounds = streams.audios.compactMap { tracks.track(of: $0)?.id }.compactMap {
      iso.fragmentTable?.runs[$0]?.length
    }
    return sounds.allSatisfy { pictures > 1.1 * $0 + 0.5 && pictures / factor > 0.9 * $0 - 0.5 }
  }

  /// Warnings about edits that show considerably less than there is: by intention, or because a clock in which they
  /// are counted is wrong. The clock of the pictures is right if they come as fast as they state themselves.
  private var edits: [MediaWarning] {
    if let fragmentEdit { return [fragmentEdit] }
    guard let presentation = video?.presentation, !presentation.isRetimed, presentation.shown > 0,
      presentation.shownSeconds < presentation.mediaSeconds * 0.97,
      presentation.mediaSeconds - presentation.shownSeconds > 0.15
    else { return [] }
    let what =
      "its edit list shows \(ProbeWarnings.text(presentation.shownSeconds)) of the \(ProbeWarnings.text(presentation.mediaSeconds)) seconds of its video"
    let duration = MediaWarning(
      .claimUnchecked, what, fact: "duration", stated: .number(presentation.shownSeconds),
      measured: .number(presentation.mediaSeconds))
    guard let rate = presentation.rate?.value else { return [duration] }
    let isSteady =
      presentation.sumOfSteps > 0
      && abs(Double(presentation.samples) / presentation.sumOfSteps - rate) <= 0.02 * rate
    if isSteady, streams.video.flatMap({ BitstreamRate($0) })?.agrees(with: rate) == true {
      return [duration]
    }
    let pace = MediaWarning(
      .claimUnchecked, what + ", and nothing else tells how fast its pictures come", fact: "video.frameRate",
      stated: .number(rate))
    return [duration, pace]
  }

  /// Warnings about edits that show a track faster or slower than it was recorded. Some players do that, and others
  /// ignore the speed.
  private var speeds: [MediaWarning] {
    guard let retimed = shownTracks.compactMap(\.presentation).first(where: { $0.speed != nil }) else {
      return []
    }
    let what = "its edit list shows it faster or slower than it was recorded, which not every player does"
    let duration = MediaWarning(
      .claimUnchecked, what, fact: "duration", stated: .number(retimed.seconds),
      measured: .number(retimed.shownSeconds))
    guard let pictures = video?.presentation, pictures.speed != nil else { return [duration] }
    let rate = MediaWarning(
      .claimUnchecked, what, fact: "video.frameRate",
      stated: media.video?.frameRate.map { .text($0.description) },
      measured: pictures.shownSeconds > 0 ? .number(Double(pictures.shown) / pictures.shownSeconds) : nil)
    return [duration, rate]
  }

  /// A warning about an edit that ends before the fragments do. Some players continue to the end of the fragments.
  private var fragmentEdit: MediaWarning? {
    guard let track = video ?? seenOrHeard.first, let scale = iso.movieHeader?.timescale, let id = track.id,
      let edits = track.edits?.filter({ $0.start != nil }), edits.allSatisfy({ $0.duration > 0 }),
      !edits.isEmpty,
      let run = iso.fragmentTable?.runs[id]
    else { return nil }
    let shown = edits.reduce(0) { $0 + Double($1.duration) } / Double(scale)
    let all = run.seconds.reduce(0) { $0 + $1.upperBound - $1.lowerBound }
    guard shown < all * 0.97, all - shown > 0.15 else { return nil }
    return MediaWarning(
      .claimUnchecked,
      "its edit list shows \(ProbeWarnings.text(shown)) of the \(ProbeWarnings.text(all)) seconds of its fragments",
      fact: "duration", stated: .number(shown), measured: .number(all))
  }

  /// A warning about tables of one track that count different numbers of samples.
  private var tables: MediaWarning? {
    for track in seenOrHeard {
      guard let sizes = track.counts.sizes else { continue }
      let told = [track.times?.samples, track.counts.chunks].compactMap { $0 }
      if let other = told.first(where: { $0 != sizes }) {
        return MediaWarning(
          .indexMismatch,
          "a table of its index counts \(other) samples of a track, the table of sample sizes \(sizes)",
          fact: "duration", stated: .number(Double(other)), measured: .number(Double(sizes)))
      }
      if !track.counts.sizesAreThere {
        return MediaWarning(
          .indexMismatch, "the table of the sizes of its samples is not as long as it says", fact: "duration")
      }
    }
    return nil
  }

  /// A warning about an index that leads to boxes without samples: the samples were moved, and the index was not
  /// updated.
  private var places: MediaWarning? {
    guard iso.fragments == 0, media.external != true, media.truncated != true else { return nil }
    let leadsAstray = ([streams.video].compactMap { $0 } + streams.audios).contains { stream in
      let (first, last) = (reel_index_entry(stream, 0), reel_index_summary(stream).furthest_byte)
      return first.position >= 0 && first.size > 0
        && (iso.isWithoutMedia(first.position) || iso.isWithoutMedia(last - 1))
    }
    return leadsAstray
      ? MediaWarning(
        .indexMismatch,
        "its index leads to places that hold no pictures and no sound, as if these had been moved")
      : nil
  }

  /// Warnings about tables of fragments that cannot all be true.
  private var fragments: [MediaWarning] {
    if iso.losesFragments {
      return [
        MediaWarning(
          .indexMismatch,
          "fragments follow behind bytes that are no box, where players stop: a part of it was lost, repeated or replaced",
          fact: "duration")
      ]
    }
    guard let fault = iso.fragmentTable?.faults.sorted(by: { $0.rawValue < $1.rawValue }).first else {
      return []
    }
    let what =
      switch fault {
      case .shape: "a table of its fragments is not as long as it says"
      case .track: "a fragment is of a track that it does not have"
      case .bytes: "the samples of a fragment do not add up to the size of its media data"
      case .pace: "the times of its fragments do not follow from one another"
      case .tail: "its last picture comes far later than the others, and nothing else tells when it ends"
      }
    if fault == .tail {
      return ["duration", "video.frameRate"].map { MediaWarning(.claimUnchecked, what, fact: $0) }
    }
    return [MediaWarning(.indexMismatch, what, fact: "duration")]
  }

  private var jumps: MediaWarning? {
    guard let jumps = fragmentJumps, jumps > 0 else { return nil }
    return .clockJumps(jumps)
  }

  /// A warning about a gap in the clock of the fragments. Some players wait, and others continue at once.
  private var pause: MediaWarning? {
    guard let pause = iso.fragmentTable?.pause, pause > 0, let seconds = media.duration else { return nil }
    return MediaWarning(
      .claimUnchecked,
      "its fragments leave out \(ProbeWarnings.text(pause)) seconds, in which some players show a pause",
      fact: "duration", stated: .number(seconds), measured: .number(seconds - pause))
  }

  private var another: MediaWarning? {
    guard iso.hasAnother, iso.fragments == 0 else { return nil }
    return MediaWarning(
      .claimUnchecked, "a second file is appended to it, and players show only the first", fact: "duration",
      stated: media.duration.map { .number($0) })
  }

  private var shape: MediaWarning? {
    guard let stream = streams.video, let track = video, let width = media.video?.storedWidth,
      let height = media.video?.storedHeight
    else { return nil }
    let pictures = stream.pointee.codecpar?.pointee.sample_aspect_ratio ?? AVRational()
    let stated = track.entry?.pixel?.ratio
    let shape = TrackShape(track, width: width, height: height, own: pictures)
    // H.263 derives a shape from its size, whatever was put into it. AV1 derives one from the size at which it is to
    // be shown, which encoders set to the size of the picture.
    let codec = stream.pointee.codecpar?.pointee.codec_id
    let isFixed = codec == AV_CODEC_ID_H263 || codec == AV_CODEC_ID_AV1
    if let stated, !isFixed, pictures.num > 0, pictures.den > 0,
      abs(stated.value / av_q2d(pictures) - 1) > 0.01
    {
      return MediaWarning(
        .pixelShapeMismatch, "its header gives its pixels another shape than its pictures",
        fact: "video.sampleAspectRatio", stated: .text("\(stated.numerator):\(stated.denominator)"),
        measured: .text("\(pictures.num):\(pictures.den)"))
    }
    guard let shown = shape.contradiction else { return nil }
    let size = "\(Int(shown.width.rounded()))x\(Int(shown.height.rounded()))"
    return MediaWarning(
      .pixelShapeMismatch, "its track header shows it as \(size), its pictures are \(width)x\(height)",
      fact: "video.width", stated: .text(size), measured: .text("\(width)x\(height)"))
  }

  /// A warning about uncompressed sound whose samples have another size or another pace than its entry states.
  private var sound: MediaWarning? {
    for (place, stream) in streams.audios.enumerated() {
      guard let track = tracks.track(of: stream), let plain = PlainSound(stream, track),
        let entry = track.entry
      else {
        continue
      }
      let pairs = [
        ("channels", entry.channels, plain.channels), ("sampleRate", entry.sampleRate, plain.sampleRate),
      ]
      // An entry has no room for rates of 65536 and above, and version 2 of QuickTime's entries has neither fact
      // there.
      guard entry.sampleRate ?? 0 > 1, track.entry?.channels ?? 0 > 0 else { continue }
      for (fact, stated, measured) in pairs {
        // If a rate is too large for the field, some writers store its lower 16 bits there.
        guard let stated, let measured, stated != measured, stated != measured & 0xFFFF else { continue }
        return MediaWarning(
          .soundMismatch,
          "its header gives its sound other \(fact == "channels" ? "channels" : "rates") than its samples have",
          fact: "audio.\(place).\(fact)", stated: .number(Double(stated)), measured: .number(Double(measured))
        )
      }
    }
    return nil
  }

  private var dates: MediaWarning? {
    guard let other = tracks.otherDate else { return nil }
    return MediaWarning(
      .dateMismatch, "the dates of its tracks are not that of the movie", fact: "createdAt",
      stated: .text(ISOTime.text(other.movie, .secondsOrMilliseconds)),
      measured: .text(ISOTime.text(other.tracks, .secondsOrMilliseconds)))
  }
}

extension MediaWarning {
  /// A warning about a track that is declared as one kind of media, but whose codec is of another.
  static func misnamed(_ stated: String, whatIs found: String, fact: String) -> MediaWarning {
    MediaWarning(
      .claimUnchecked, "a track says that it holds \(stated), and its codec is one of \(found)", fact: fact)
  }
}
