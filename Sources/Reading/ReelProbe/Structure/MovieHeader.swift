/// The movie header box (ISO/IEC 14496-12, 8.2.2).
struct MovieHeader: Hashable {
  /// Ticks a second; above 0.
  let timescale: UInt32
  /// In ticks; nil when it is 0, as in fragmented files, or all ones, by which the standard says that it is
  /// unknown.
  let duration: UInt64?
  /// When it was made, as ``MovieDate`` wants it; nil when it does not tell.
  let created: UInt64?

  init?(_ box: ISOBox, of file: some ByteReading) {
    guard let version = file.bigEndian(at: box.contents, width: 1) else { return nil }
    let width = version == 1 ? 8 : 4
    let times = box.contents + 4 + Int64(2 * width)
    guard let timescale = file.bigEndian(at: times, width: 4), timescale > 0,
      let ticks = file.bigEndian(at: times + 4, width: width)
    else { return nil }
    self.timescale = UInt32(timescale)
    duration = TrackHeader.known(ticks, width: width)
    created = file.bigEndian(at: box.contents + 4, width: width).flatMap { MovieDate.known($0, width: width) }
  }

  /// The duration in seconds.
  var seconds: Double? { duration.map { Double($0) / Double(timescale) } }
}
