import ReelCore

/// A duration and where it comes from.
package struct FoundDuration: Hashable {
  let seconds: Double
  let source: DurationSource

  /// Returns nil if `seconds` is implausible: not above 0, a year or more, or so short that a file of `size` bytes
  /// would have an absurd bit rate.
  init?(_ seconds: Double?, _ source: DurationSource, size: Int64) {
    guard let seconds, Self.isPlausible(seconds, size: size) else { return nil }
    self.seconds = seconds
    self.source = source
  }

  /// Whether a file of `size` bytes may last so long.
  package static func isPlausible(_ seconds: Double, size: Int64) -> Bool {
    guard seconds.isFinite, seconds > 0, seconds < longest else { return false }
    return Double(size) * 8 / seconds <= highestBitRate
  }

  /// A year, in seconds.
  static let longest = 365.0 * 86_400
  /// Bits per second: above what uncompressed pictures of 8K need.
  static let highestBitRate = 1e12
}
