/// The movie header box (ISO/IEC 14496-12, 8.2.2).
struct MovieHeader: Hashable {
  /// The ticks per second; above 0.
  let timescale: UInt32
  /// The duration in ticks; nil if it is 0, as in fragmented files, or all ones, which by the standard means that it
  /// is unknown.
  let duration: UInt64?
  /// When it was created, in the form that ``MovieDate`` takes; nil if that is not stated.
  let created: UInt64?

  init?(_ box: ISOBox, of file: some ByteReading) {
    guard let version = file.bigEndian(at: box.contents, width: 1) else { return nil }
    let width = version == 1 ? 8 : 4
    let times = box.contents + 4 + Int64(2 * width)
    guard let timescale = file.bigEndian(at: times, width: 4), timescale > 0,
      let ticks = file.bigEndian(at: times + 4, width: width)
    else { return nil }
    self.timescale = UInt32(timescale)
    duration = ticks.known(width: width)
    created = file.knownTime(at: box.contents + 4, width: width)
  }

  /// The duration in seconds.
  var seconds: Double? { duration.map { Double($0) / Double(timescale) } }
}

extension UInt64 {
  /// Returns nil for 0 and for all ones in `width` bytes, which leave a duration or a date open.
  func known(width: Int) -> UInt64? {
    self == 0 || self == UInt64.max >> (64 - 8 * UInt64(width)) ? nil : self
  }
}

extension ByteReading {
  /// Returns a duration or a date in a movie's boxes; nil if it is left open.
  func knownTime(at offset: Int64, width: Int) -> UInt64? {
    bigEndian(at: offset, width: width).flatMap { $0.known(width: width) }
  }
}
