import Foundation

/// Where a test begins to draw.
package enum TestSeed {
  /// `REEL_SEED`, or another one each time. `scripts/test` sets it by the commit's files, so that everybody who checks
  /// a commit sees the same draws; the long form sets none.
  package static func drawn(
    _ environment: [String: String] = ProcessInfo.processInfo.environment
  ) -> UInt64 {
    environment["REEL_SEED"].flatMap { UInt64($0) } ?? UInt64.random(in: 0...(.max))
  }
}
