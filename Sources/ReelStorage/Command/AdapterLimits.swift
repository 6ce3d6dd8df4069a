import ReelCore

/// How long an adapter may be silent, and how much it may say.
struct AdapterLimits: Hashable, Sendable {
  /// Without a line that tells something new (or, when it reads back, a byte of the object), it is ended.
  var silence: Duration
  /// Bytes of standard output, in all.
  var output: Int64
  /// Between being asked to end and being killed.
  var grace: Duration
  /// A commit that was begun when the run was cancelled may take so long to come to its end.
  var commitGrace: Duration = .seconds(10)

  /// A request that moves no bytes.
  init(silence: Duration, grace: Duration) {
    self.silence = silence
    self.grace = grace
    output = Self.least
  }

  /// One that moves `size` bytes: an adapter that reports no progress is given the time that 256 KiB/s (or less,
  /// when a limit was set) would take.
  init(silence: Duration, size: Int64, limitRate: Int64?, grace: Duration) {
    self.grace = grace
    let rate = min(limitRate ?? .max, 256 << 10)
    self.silence = silence + .seconds(Double(size) / Double(max(1, rate)))
    output = Self.least + size >> 10
  }

  private static let least: Int64 = 1 << 20
}
