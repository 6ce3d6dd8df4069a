import ReelCore

/// How often a store is asked again, and how long is waited before.
///
/// Exponential backoff with full jitter: before the nth retry a time drawn uniformly from zero to
/// `firstDelay` · 2ⁿ⁻¹, at most `longestDelay`, so that many clients that failed together do not come back
/// together. A store that says how long to wait is obeyed.
public struct RetryPolicy: Hashable, Sendable {
  /// Attempts for one file, the first one included; at least 1.
  public var attempts: Int
  /// RetryBudget in a whole run, all files together: a store that is down is not asked ten thousand times.
  public var retriesPerRun: Int
  /// What the first wait is drawn from.
  public var firstDelay: Duration
  /// What no drawn wait exceeds.
  public var longestDelay: Duration
  /// A store that asks for more than this is given up.
  public var longestAsked: Duration
  /// A store that let so much time pass without a sign of life (no byte taken, no answer), attempts one after the other
  /// taken together, is not asked again.
  public var longestSilence: Duration

  /// Five attempts within seconds, two hundred retries in a run; none after a minute of silence.
  public init(
    attempts: Int = 5, retriesPerRun: Int = 200, firstDelay: Duration = .milliseconds(250),
    longestDelay: Duration = .seconds(20), longestAsked: Duration = .seconds(120),
    longestSilence: Duration = .seconds(60)
  ) {
    self.attempts = max(1, attempts)
    self.retriesPerRun = max(0, retriesPerRun)
    self.firstDelay = max(.zero, firstDelay)
    self.longestDelay = max(.zero, longestDelay)
    self.longestAsked = max(.zero, longestAsked)
    self.longestSilence = max(.zero, longestSilence)
  }

  /// The wait after attempt number `attempt` (from 1) failed with `error`; nil when it is not to be retried.
  /// Pure but for `randomness`.
  public func delay(
    after attempt: Int, _ error: UploadError, _ randomness: some Randomness
  ) -> Duration? {
    guard error.code.isWorthARetry, attempt < attempts else { return nil }
    let drawn = jitter(below: ceiling(after: attempt), randomness)
    guard let asked = error.retryAfter, asked.isFinite, asked > 0 else { return drawn }
    guard asked <= longestAsked / .seconds(1) else { return nil }
    return .seconds(asked) + jitter(below: min(firstDelay, longestDelay), randomness)
  }

  /// What the wait after `attempt` is drawn from.
  func ceiling(after attempt: Int) -> Duration {
    var ceiling = firstDelay
    for _ in 1..<max(1, attempt) {
      if ceiling >= longestDelay { break }
      ceiling *= 2
    }
    return min(ceiling, longestDelay)
  }

  private func jitter(below ceiling: Duration, _ randomness: some Randomness) -> Duration {
    let microseconds = ceiling / .microseconds(1)
    guard microseconds >= 1 else { return .zero }
    return .microseconds(Int64(randomness.number(below: UInt64(min(microseconds, 1e15)) + 1)))
  }
}
