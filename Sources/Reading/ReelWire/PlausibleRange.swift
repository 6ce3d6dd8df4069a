import ReelCore

/// The possible values of facts. A file that states any other value has stated nothing; a worker that reports one
/// is lying or compromised.
enum PlausibleRange {
  /// Seconds: above 0 and below a year.
  static let duration = Double.leastNonzeroMagnitude..<31_536_000
  /// Seconds: a file that was cut off may have nothing left.
  static let presentDuration = 0.0..<31_536_000
  /// Pixels, as stored in the file.
  static let stored: ClosedRange<Int64> = 1...65_536
  /// Pixels, as displayed: a pixel may be much wider than it is high.
  static let shown: ClosedRange<Int64> = 1...1_048_576
  static let rotation: ClosedRange<Int64> = 0...359
  static let ratioPart: ClosedRange<Int64> = 1...Int64(Int32.max)
  static let bitDepth: ClosedRange<Int64> = 1...64
  /// Bits per second, of a file or stream.
  static let bitRate: ClosedRange<Int64> = 1...10_000_000_000_000
  static let streams: ClosedRange<Int64> = 0...4096
  static let profile: ClosedRange<Int64> = 0...255
  static let channels: ClosedRange<Int64> = 1...1024
  /// Hertz.
  static let sampleRate: ClosedRange<Int64> = 1...100_000_000
  /// A header's claim: any finite number.
  static let claim = -Double.greatestFiniteMagnitude..<Double.infinity
  /// Seconds since 1970.
  static let date = ISOTime.range
}

/// The maximum number of list elements in a frame.
enum WireCount {
  static let audioStreams = 1024
  static let warnings = MediaWarning.most
  /// Three facts for each audio stream, and those of the file.
  static let evidence = 3 * audioStreams + 64
}
