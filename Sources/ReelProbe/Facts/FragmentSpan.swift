import CFFmpeg

/// The time that the samples of a fragmented file cover: from the first fragment's first sample to the end of the
/// last one's last. It does not begin at zero where fragments start late, and the header may know nothing of it.
struct FragmentSpan {
  private let streams: [UnsafeMutablePointer<AVStream>]
  /// Seconds that a track waits by an empty edit before its first sample, by track id; they are shown too.
  private let emptyEdits: [UInt32: Double]

  init(_ streams: [UnsafeMutablePointer<AVStream>], emptyEdits: [UInt32: Double]) {
    self.streams = streams
    self.emptyEdits = emptyEdits
  }

  /// Seconds; nil without samples. Moves the place where packets are read to the last fragment.
  func seconds(_ context: UnsafeMutablePointer<AVFormatContext>) -> Double? {
    streams.forEach { indexLastFragment(for: $0, context) }
    let spans = streams.compactMap { span(of: $0) }
    guard let start = spans.map(\.start).min(), let end = spans.map(\.end).max() else { return nil }
    return end - start
  }

  /// A segment index (`sidx`) makes FFmpeg read fragments only when they are asked for.
  private func indexLastFragment(
    for stream: UnsafeMutablePointer<AVStream>, _ context: UnsafeMutablePointer<AVFormatContext>
  ) {
    _ = av_seek_frame(context, stream.pointee.index, 1 << 60, AVSEEK_FLAG_BACKWARD)
  }

  private func span(of stream: UnsafeMutablePointer<AVStream>) -> (start: Double, end: Double)? {
    let index = reel_index_summary(stream)
    let base = stream.pointee.time_base
    guard index.entries > 0, base.num > 0, base.den > 0 else { return nil }
    let tick = Double(base.num) / Double(base.den)
    // The index counts decoding times, a viewer sees presentation times: their stretch is the same, their start
    // is not.
    let covered = Double(lastEnd(index, stream)) - Double(index.first_time)
    let first = stream.pointee.start_time == reel_no_time ? index.first_time : stream.pointee.start_time
    let waits = emptyEdits[UInt32(truncatingIfNeeded: stream.pointee.id)] ?? 0
    let start = Double(first) * tick
    return (start - waits, start + covered * tick)
  }

  /// Where the last sample ends: FFmpeg keeps that as the stream's duration, unless the header claims a longer
  /// one; then the sample lasts as long as the one before it.
  private func lastEnd(_ index: ReelIndexSummary, _ stream: UnsafeMutablePointer<AVStream>) -> Int64 {
    let step = index.last_time &- index.time_before_last
    let (guess, overflow) = index.last_time.addingReportingOverflow(step)
    let (latest, tooFar) = guess.addingReportingOverflow(step)
    guard !overflow, !tooFar else { return index.last_time }
    let told = stream.pointee.duration
    return told != reel_no_time && told > index.last_time && told <= latest ? told : guess
  }
}
