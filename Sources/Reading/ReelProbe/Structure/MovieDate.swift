import FoundationEssentials

/// Dates in the boxes of movies and tracks: seconds since 1904 (ISO/IEC 14496-12, 8.2.2).
enum MovieDate {
  /// Returns nil for a date that no camera with a clock writes. Some writers count from 1970.
  static func date(_ seconds: UInt64?) -> Date? {
    guard let seconds, seconds < 1 << 40 else { return nil }
    let since1970 = seconds >= from1904 ? seconds - from1904 : seconds
    return CreationTime.plausible(Date(timeIntervalSince1970: Double(since1970)))
  }

  /// The seconds from the beginning of 1904 to that of 1970.
  private static let from1904: UInt64 = 2_082_844_800
}
