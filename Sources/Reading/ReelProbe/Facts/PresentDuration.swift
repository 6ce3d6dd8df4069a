import CFFmpeg

/// How much of a file that was cut off is there.
struct PresentDuration {
  let structure: FileStructure
  let streams: StreamChoice
  /// Bytes of the file.
  let size: Int64
  let blank: BlankContent?

  /// Seconds by the index of an ISO base media file: up to the first sample that is not all there. For a file of
  /// fragments the index is what the fragments say; where their media is all there, that is what is there.
  ///
  /// - Parameter whole: seconds of the file as its header has it; nil when it does not tell.
  func byIndex(whole: Double?) -> Double? {
    guard let iso = structure.iso, let stream = streams.video ?? streams.audios.first else { return nil }
    let index = reel_index_summary(stream)
    let missing = min(reel_index_first_time_beyond(stream, size), blank?.firstTime ?? .max)
    let base = stream.pointee.time_base
    guard index.entries > 0, base.num > 0, base.den > 0 else { return nil }
    let tick = Double(base.num) / Double(base.den)
    if missing < .max {
      return min(max(0, (Double(missing) - Double(index.first_time)) * tick), whole ?? .infinity)
    }
    guard iso.fragments > 0 else { return nil }
    let step = Double(index.last_time) - Double(index.time_before_last)
    return max(0, (Double(index.last_time) - Double(index.first_time) + step) * tick)
  }

  /// A fact that is good to have is not worth the time that a whole film takes to read.
  private static let mostBytes: Int64 = 32 << 20

  /// Seconds that the packets span: all of them in a small file, else the first, and the rest is taken to be like
  /// them.
  func byPackets(_ scan: inout PacketScan) -> Double? {
    scan.run(untilRead: Self.mostBytes)
    guard let span = scan.sum(of: streams.videos + streams.audios)?.seconds else { return nil }
    if scan.end == .file { return span }
    return scan.share(of: size).map { span / $0 }
  }
}
