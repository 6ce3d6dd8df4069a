import CFFmpeg

/// The time that the samples of a fragmented file cover: from the first sample of the first fragment to the end of
/// the last sample of the last one. It does not begin at zero if fragments start late, and the header may not reflect
/// it.
struct FragmentSpan: Hashable {
  /// Always above 0.
  let seconds: Double
  /// The seconds by which an empty edit delays the first sample of the first stream. A player shows nothing then, and
  /// headers may or may not count it.
  let emptyEdit: Double

  /// Returns nil if there are no samples. Moves FFmpeg's read position to the last fragment.
  ///
  /// - Parameter emptyEdit: returns the seconds by which the track with the given ID is delayed.
  init?(
    _ streams: [UnsafeMutablePointer<AVStream>], emptyEdit wait: (UInt32) -> Double,
    of context: UnsafeMutablePointer<AVFormatContext>
  ) {
    streams.forEach { Self.indexLastFragment(for: $0, context) }
    let spans = streams.compactMap { stream in
      Self.span(of: stream).map { (stream: stream, start: $0.start, end: $0.end) }
    }
    guard let first = spans.min(by: { $0.start < $1.start }), let end = spans.map(\.end).max(),
      end > first.start
    else { return nil }
    seconds = end - first.start
    emptyEdit = wait(UInt32(truncatingIfNeeded: first.stream.pointee.id))
  }

  /// Whether a header that claims this many seconds refers to these samples.
  func agrees(with claimed: Double) -> Bool {
    abs(claimed - seconds - emptyEdit) <= max(0.1, seconds * 0.01)
  }

  /// Makes FFmpeg index the last fragment. If there is a segment index (`sidx`), it reads fragments only on demand.
  private static func indexLastFragment(
    for stream: UnsafeMutablePointer<AVStream>, _ context: UnsafeMutablePointer<AVFormatContext>
  ) {
    _ = av_seek_frame(context, stream.pointee.index, 1 << 60, AVSEEK_FLAG_BACKWARD)
  }

  private static func span(of stream: UnsafeMutablePointer<AVStream>) -> (start: Double, end: Double)? {
    let index = reel_index_summary(stream)
    let base = stream.pointee.time_base
    guard index.entries > 0, base.num > 0, base.den > 0 else { return nil }
    let tick = Double(base.num) / Double(base.den)
    // The index has decoding times, and a viewer sees presentation times. Both span the same time, but start at
    // different times.
    let covered = Double(lastEnd(index, stream)) - Double(index.first_time)
    let first = stream.pointee.start_time == reel_no_time ? index.first_time : stream.pointee.start_time
    let start = Double(first) * tick
    return (start, start + covered * tick)
  }

  /// Returns when the last sample ends. FFmpeg keeps that as the stream's duration, unless the header claims a longer
  /// one; then the sample is assumed to last as long as the one before it.
  private static func lastEnd(_ index: ReelIndexSummary, _ stream: UnsafeMutablePointer<AVStream>) -> Int64 {
    let step = index.last_time &- index.time_before_last
    let (guess, overflow) = index.last_time.addingReportingOverflow(step)
    let (latest, tooFar) = guess.addingReportingOverflow(step)
    guard !overflow, !tooFar else { return index.last_time }
    let told = stream.pointee.duration
    return told != reel_no_time && told > index.last_time && told <= latest ? told : guess
  }
}
