import ReelCore

/// What a fact may be at all. A file that says otherwise has said nothing; a worker that does lies, or was made to.
enum PlausibleRange {
  /// Seconds: above 0 and below a year.
  static let duration = Double.leastNonzeroMagnitude..<31_536_000
  /// Seconds: of a file that was cut off there may be nothing.
  static let presentDuration = 0.0..<31_536_000
  /// Pixels, as stored.
  static let stored: ClosedRange<Int64> = 1...65_536
  /// Pixels, as shown: a pixel may be a good deal wider than high.
  static let shown: ClosedRange<Int64> = 1...1_048_576
  static let rotation: ClosedRange<Int64> = 0...359
  static let ratioPart: ClosedRange<Int64> = 1...Int64(Int32.max)
  static let bitDepth: ClosedRange<Int64> = 1...64
  /// Of a file or a stream, in bits per second.
  static let bitRate: ClosedRange<Int64> = 1...10_000_000_000_000
  static let streams: ClosedRange<Int64> = 0...4096
  static let profile: ClosedRange<Int64> = 0...255
  static let channels: ClosedRange<Int64> = 1...1024
  /// Hertz.
  static let sampleRate: ClosedRange<Int64> = 1...100_000_000
  /// What a header claims: any number that is one.
  static let claim = -Double.greatestFiniteMagnitude..<Double.infinity
  /// Seconds since 1970.
  static let date = ISOTime.range
}

/// How many of each a frame takes.
enum WireCount {
  static let audioStreams = 1024
  static let warnings = MediaWarning.most
  /// Three facts of each stream of sound, and those of the file.
  static let evidence = 3 * audioStreams + 64
}
