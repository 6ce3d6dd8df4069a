import CFFmpeg

/// The time that the samples of a fragmented file cover: from the first fragment's first sample to the end of the
/// last one's last. It does not begin at zero where fragments start late, and the header may know nothing of it.
struct FragmentSpan: Hashable {
  /// Above 0.
  let seconds: Double
  /// Seconds that the first stream waits by an empty edit before its first sample. A player shows nothing then,
  /// and headers count it or not.
  let emptyEdit: Double

  /// Nil without samples. Moves the place where packets are read to the last fragment.
  ///
  /// - Parameter emptyEdit: seconds that the track with an id waits.
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

  /// Whether a header that claims this many seconds means these samples.
  func agrees(with claimed: Double) -> Bool {
    abs(claimed - seconds - emptyEdit) <= max(0.1, seconds * 0.01)
  }

  /// A segment index (`sidx`) makes FFmpeg read fragments only when they are asked for.
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
    // The index counts decoding times, a viewer sees presentation times: their stretch is the same, their start
    // is not.
    let covered = Double(lastEnd(index, stream)) - Double(index.first_time)
    let first = stream.pointee.start_time == reel_no_time ? index.first_time : stream.pointee.start_time
    let start = Double(first) * tick
    return (start, start + covered * tick)
  }

  /// Where the last sample ends: FFmpeg keeps that as the stream's duration, unless the header claims a longer
  /// one; then the sample lasts as long as the one before it.
  private static func lastEnd(_ index: ReelIndexSummary, _ stream: UnsafeMutablePointer<AVStream>) -> Int64 {
    let step = index.last_time &- index.time_before_last
    let (guess, overflow) = index.last_time.addingReportingOverflow(step)
    let (latest, tooFar) = guess.addingReportingOverflow(step)
    guard !overflow, !tooFar else { return index.last_time }
    let told = stream.pointee.duration
    return told != reel_no_time && told > index.last_time && told <= latest ? told : guess
  }
}
