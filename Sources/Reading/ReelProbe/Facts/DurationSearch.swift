import CFFmpeg
import ReelCore

/// Searches for a file's duration, the most trustworthy source first.
struct DurationSearch {
  let structure: FileStructure
  let header: HeaderFacts
  let streams: StreamChoice
  let size: Int64

  /// Returns a duration for which no packet has to be read; nil if there is no plausible one.
  func withoutPackets(_ context: UnsafeMutablePointer<AVFormatContext>) -> FoundDuration? {
    if let iso = structure.iso, iso.fragments > 0 { return ofFragments(iso, context) }
    if MovieTracks(structure)?.isEmpty == true { return nil }
    return inHeader ?? afterFullReading(context)
  }

  /// The header's own duration, for a file without fragments; nil if it has no plausible one.
  var inHeader: FoundDuration? {
    let tracks = MovieTracks(structure)
    if tracks?.isEmpty == true { return nil }
    if let tracks, let measured = found(tracks.measuredSeconds, .stream) {
      guard let claimed, tracks.agree(with: claimed) else { return measured }
      return found(claimed, .container) ?? measured
    }
    guard let claimed, !streamsContradict(claimed) else { return nil }
    return found(claimed, .container)
  }

  /// Returns the duration of a fragmented file. Its header states that of the whole stream, of which the file may be
  /// one segment.
  private func ofFragments(
    _ iso: ISOFileMap, _ context: UnsafeMutablePointer<AVFormatContext>
  ) -> FoundDuration? {
    if let sum = fragmentSum {
      if let claimed, sum.jumps == 0, agrees(claimed, with: sum.seconds, iso) {
        return found(claimed, .container)
      }
      return found(sum.seconds, .packets)
    }
    let streams = streams.videos + streams.audios
    guard let span = FragmentSpan(streams, emptyEdit: { iso.emptyEdit(ofTrack: $0) }, of: context) else {
      return found(claimed, .container)
    }
    if let claimed, span.agrees(with: claimed) { return found(claimed, .container) }
    return found(span.seconds, .packets)
  }

  /// The total time that the tables of all fragments give; nil if not all were read.
  var fragmentSum: StretchSum? {
    guard let iso = structure.iso, let table = iso.fragmentTable, let tracks = MovieTracks(structure) else {
      return nil
    }
    let runs = (streams.videos + streams.audios).compactMap { stream -> (Int64, [ClosedRange<Double>])? in
      guard let id = tracks.track(of: stream)?.id, let run = table.runs[id], run.samples > 0 else {
        return nil
      }
      return (run.samples, run.seconds)
    }
    return StretchSum(runs.sorted { $0.0 > $1.0 }.map(\.1))
  }

  /// Whether the claimed duration agrees with the fragments. While an empty edit delays a track, a player shows
  /// nothing; headers may or may not count that.
  private func agrees(_ claimed: Double, with seconds: Double, _ iso: ISOFileMap) -> Bool {
    let waits = iso.tracks.filter(\.isSeenOrHeard).compactMap(\.id).map { iso.emptyEdit(ofTrack: $0) }
    return ([0] + waits).contains { abs(claimed - seconds - $0) <= max(0.1, seconds * 0.01) }
  }

  /// The duration in seconds that the file's header claims. Nil if there is none, or if it does not mean pictures and
  /// sound: it may count only the samples in the index of a fragmented file, or tracks that are neither seen nor
  /// heard.
  var claimed: Double? {
    guard let iso = structure.iso else { return structure.metadataDuration ?? header.duration }
    let stated = iso.movieHeader?.seconds ?? (iso.fragments > 0 ? iso.fragmentsSeconds : nil)
    guard let stated, let tracks = MovieTracks(structure) else { return stated }
    let isOfPart =
      iso.fragments > 0
      ? iso.fragmentsTicks == nil && tracks.isOfIndex(stated)
      : tracks.measuredSeconds != nil && tracks.areOutlasted(until: stated)
    return isOfPart ? nil : stated
  }

  /// Whether the claimed duration is many times as long as the longest stream of any kind.
  private func streamsContradict(_ claimed: Double) -> Bool {
    guard let longest = longestStream else { return false }
    return claimed > 10 * longest + 10
  }

  private var longestStream: Double? {
    streams.all.compactMap { stream in
      let (ticks, base) = (stream.pointee.duration, stream.pointee.time_base)
      guard ticks != reel_no_time, ticks > 0, base.num > 0, base.den > 0 else { return nil }
      return Double(ticks) * Double(base.num) / Double(base.den)
    }.max()
  }

  /// Reads packets to the end of the file. If the limits are reached first, the rest of the file is assumed to be
  /// like what was read.
  func byPackets(_ scan: inout PacketScan) -> FoundDuration? {
    scan.runToTheEnd()
    let span = scan.sum(of: streams.videos + streams.audios)?.seconds
    switch scan.end {
    case .file: return found(span, .packets)
    case .limit, nil:
      guard let span, let share = scan.share(of: size) else { return nil }
      return found(span / share, .estimated)
    }
  }

  /// Returns what `avformat_find_stream_info` derived from the streams and from their first and last packets. Its
  /// guess from a bit rate is not used: a scan of the packets is better.
  private func afterFullReading(_ context: UnsafeMutablePointer<AVFormatContext>) -> FoundDuration? {
    if let seconds = streams.estimatedSeconds(context) { return found(seconds, .packets) }
    // FFmpeg also writes that guess into the streams.
    if context.pointee.duration_estimation_method == AVFMT_DURATION_FROM_BITRATE { return nil }
    // That of an FLV is the time of its last tag, which may hold nothing and have the time -1.
    if structure.container == .flv { return nil }
    return found(longestStream, .stream)
  }

  private func found(_ seconds: Double?, _ source: DurationSource) -> FoundDuration? {
    FoundDuration(seconds, source, size: size)
  }
}

extension StreamChoice {
  /// Returns the seconds between the first and the last packets of an MPEG multiplex, as FFmpeg has read them; nil if
  /// it has not. FFmpeg's duration of the whole file counts data and subtitles, too.
  func estimatedSeconds(_ context: UnsafeMutablePointer<AVFormatContext>) -> Double? {
    let whole = context.pointee.duration
    guard context.pointee.duration_estimation_method == AVFMT_DURATION_FROM_PTS, whole != reel_no_time
    else { return nil }
    let spans = (videos.filter { !absent.contains($0.pointee.index) } + audios).compactMap(Self.span)
    // Programs may have clocks of their own.
    guard context.pointee.nb_programs < 2, let start = spans.map(\.start).min(),
      let end = spans.map(\.end).max(), end > start
    else { return Double(whole) / Double(reel_time_base) }
    return (end - start) / Double(reel_time_base)
  }

  /// Returns the span in microseconds, rounded as FFmpeg rounds.
  private static func span(of stream: Stream) -> (start: Double, end: Double)? {
    let (first, lasts, base) = (stream.pointee.start_time, stream.pointee.duration, stream.pointee.time_base)
    guard first != reel_no_time, lasts != reel_no_time, base.num > 0, base.den > 0 else { return nil }
    let unit = AVRational(num: 1, den: Int32(reel_time_base))
    let start = Double(av_rescale_q(first, base, unit))
    return (start, start + Double(av_rescale_q(lasts, base, unit)))
  }
}
