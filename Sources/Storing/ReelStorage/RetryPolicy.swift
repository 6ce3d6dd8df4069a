import ReelCore
import Synchronization

/// How often a store is tried again, and how long to wait before each retry.
///
/// Exponential backoff with full jitter: the wait before the nth retry is drawn uniformly from zero to `firstDelay` ·
/// 2ⁿ⁻¹, at most `longestDelay`, so that clients that failed together do not return together. If the store says how
/// long to wait, that is respected.
public struct RetryPolicy: Hashable, Sendable {
  /// The number of attempts for one file, including the first; at least 1.
  public var attempts: Int
  /// The number of retries in a whole run, for all files together: a store that is down is not tried ten thousand
  /// times.
  public var retriesPerRun: Int
  /// The upper bound from which the first wait is drawn.
  public var firstDelay: Duration
  /// The upper bound of every drawn wait.
  public var longestDelay: Duration
  /// The longest wait that a store may ask for. If it asks for more, there is no retry.
  public var longestAsked: Duration
  /// The longest time without a sign of life from the store (no byte taken, no answer), added up over consecutive
  /// attempts. After that there is no retry.
  public var longestSilence: Duration

  /// Five attempts within seconds, two hundred retries per run; none after a minute of silence.
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

  /// Returns the wait after attempt number `attempt` (from 1) failed with `error`, or nil if it is not to be retried.
  /// Pure except for `randomness`.
  public func delay(
    after attempt: Int, _ error: UploadError, _ randomness: some Randomness
  ) -> Duration? {
    guard error.isWorthARetry, attempt < attempts else { return nil }
    let drawn = jitter(below: ceiling(after: attempt), randomness)
    guard let asked = error.retryAfter, asked.isFinite, asked > 0 else { return drawn }
    guard asked <= longestAsked / .seconds(1) else { return nil }
    return .seconds(asked) + jitter(below: min(firstDelay, longestDelay), randomness)
  }

  /// The upper bound from which the wait after `attempt` is drawn.
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

/// Retries after transient failures, within the limits of a policy. Shared by all types that retry.
package final class RetryBudget: Sendable {
  private let policy: RetryPolicy
  private let destination: Destination
  private let clock: any Clock<Duration>
  private let randomness: any Randomness
  private let left: Mutex<Int>

  package init(
    _ policy: RetryPolicy, of destination: Destination, clock: any Clock<Duration>,
    randomness: any Randomness
  ) {
    self.policy = policy
    self.destination = destination
    self.clock = clock
    self.randomness = randomness
    left = Mutex(policy.retriesPerRun)
  }

  /// Restores the full budget of retries.
  func beginRun() { left.withLock { $0 = policy.retriesPerRun } }

  /// Runs attempts until one succeeds or must not be retried.
  /// - Parameters:
  ///   - announce: called before each retry, with its number and the error of the attempt before it.
  ///   - hasAdvanced: whether a failed attempt got further than all before it. If so, the policy's attempts are counted
  ///     from it, so that each part of a large object gets as many.
  ///   - body: makes an attempt, given its number and the error of the one before it.
  /// - Throws: the last attempt's error. An object that was sent completely twice, in vain, is not sent again.
  func run<Value: Sendable>(
    announcing announce: (Int, UploadError) -> Void = { _, _ in },
    hasAdvanced: () -> Bool = { false },
    _ body: (Int, UploadError?) async throws(UploadError) -> Value
  ) async throws(UploadError) -> Value {
    var (attempt, last, silence) = (1, UploadError?.none, Duration.zero)
    var inVain = 0
    while true {
      let failure: UploadError
      do throws(UploadError) {
        let value = try await body(attempt, last)
        if attempt == 1 { earn() }
        return value
      } catch {
        failure = error
      }
      silence = failure.silence.map { silence + .seconds(clamping: $0) } ?? .zero
      if silence >= policy.longestSilence { throw failure }
      inVain = hasAdvanced() ? 1 : inVain + 1
      if failure.whole != nil, last?.whole != nil { throw failure }
      guard let delay = policy.delay(after: inVain, failure, randomness) else { throw failure }
      try spend(after: failure)
      (attempt, last) = (attempt + 1, failure)
      announce(attempt, failure)
      try await wait(delay)
    }
  }

  /// Retries as ``run(announcing:hasAdvanced:_:)`` does, where all attempts are the same.
  package func run<Value: Sendable>(
    _ body: () async throws(UploadError) -> Value
  ) async throws(UploadError) -> Value {
    try await run { _, _ throws(UploadError) in try await body() }
  }

  /// Gives back a retry after a success at the first attempt, as a run may have no end.
  private func earn() { left.withLock { $0 = min(policy.retriesPerRun, $0 + 1) } }

  private func spend(after failure: UploadError) throws(UploadError) {
    let isLeft = left.withLock { left in
      if left == 0 { return false }
      left -= 1
      return true
    }
    if !isLeft { throw failure }
  }

  func wait(_ delay: Duration) async throws(UploadError) {
    try await rethrowing(
      as: { _ in UploadError(.cancelled, "cancelled while waiting for the store \(destination)") }
    ) { try await clock.sleep(for: delay) }
  }
}

/// Retries another recorder's calls after transient failures. A lost reply does no harm: a recorder finds what it has
/// already recorded.
public final class RetryingRecorder: PostRecorder {
  private let base: any PostRecorder
  private let retries: RetryBudget

  /// - Parameters:
  ///   - base: the recorder whose calls are retried.
  ///   - policy: the limits of the retries.
  ///   - clock: used to wait; a test's does not wait.
  ///   - randomness: used to draw the waits.
  public init(
    base: any PostRecorder, policy: RetryPolicy = RetryPolicy(),
    clock: any Clock<Duration> = ContinuousClock(),
    randomness: any Randomness = SystemRandomness()
  ) {
    self.base = base
    retries = RetryBudget(policy, of: base.destination, clock: clock, randomness: randomness)
  }

  /// The base recorder's destination.
  public var destination: Destination { base.destination }

  /// The base recorder's feed.
  public var feed: Destination { base.feed }

  /// Prepares the base recorder, retrying where that may help. This begins a new run, with the full budget of retries.
  public func prepare() async throws(UploadError) {
    retries.beginRun()
    try await retries.run { () throws(UploadError) in try await self.base.prepare() }
  }

  /// Records through the base recorder, retrying where that may help.
  public func record(_ post: Post) async throws(UploadError) -> RecordedPost {
    try await retries.run { () throws(UploadError) in try await self.base.record(post) }
  }

  /// Asks the base recorder, retrying where that may help.
  public func find(_ id: PostID) async throws(UploadError) -> PostRecord? {
    try await retries.run { () throws(UploadError) in try await self.base.find(id) }
  }

  /// Updates through the base recorder, retrying where that may help.
  @discardableResult
  public func update(_ post: Post, from earlier: Post?) async throws(UploadError) -> RecordedPost {
    try await retries.run { () throws(UploadError) in try await self.base.update(post, from: earlier) }
  }

  /// Withdraws through the base recorder, retrying where that may help.
  public func withdraw(_ id: PostID) async throws(UploadError) {
    try await retries.run { () throws(UploadError) in try await self.base.withdraw(id) }
  }
}
