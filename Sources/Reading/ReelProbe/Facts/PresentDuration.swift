import CFFmpeg

/// How much of a truncated file is present.
struct PresentDuration {
  let structure: FileStructure
  let streams: StreamChoice
  /// The size of the file in bytes.
  let size: Int64
  let blank: BlankContent?

  /// Returns the seconds up to the first sample that is not completely present, by the index of an ISO base media
  /// file. In a fragmented file the index is made up of its fragments; if all of their media is present, they count
  /// as a whole.
  ///
  /// - Parameter whole: the duration of the file in seconds by its header; nil if that states none.
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

  /// The most bytes to read. The fact is useful, but not worth reading a whole film.
  private static let mostBytes: Int64 = 32 << 20

  /// Returns the seconds that the packets span: all of them in a small file, otherwise the first ones, and the rest
  /// is assumed to be like them.
  func byPackets(_ scan: inout PacketScan) -> Double? {
    scan.run(untilRead: Self.mostBytes)
    guard let span = scan.sum(of: streams.videos + streams.audios)?.seconds else { return nil }
    if scan.end == .file { return span }
    return scan.share(of: size).map { span / $0 }
  }
}
