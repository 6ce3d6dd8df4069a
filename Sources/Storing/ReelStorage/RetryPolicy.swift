import ReelCore
import Synchronization

/// How often a store is asked again, and how long is waited before.
///
/// Exponential backoff with full jitter: before the nth retry a time drawn uniformly from zero to
/// `firstDelay` · 2ⁿ⁻¹, at most `longestDelay`, so that many clients that failed together do not come back
/// together. A store that says how long to wait is obeyed.
public struct RetryPolicy: Hashable, Sendable {
  /// Attempts for one file, the first one included; at least 1.
  public var attempts: Int
  /// Retries in a whole run, all files together: a store that is down is not asked ten thousand times.
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
    guard error.isWorthARetry, attempt < attempts else { return nil }
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

/// Asks again after what may pass, within the limits of a policy: what all that retries shares.
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

  /// The budget of retries is whole again.
  func beginRun() { left.withLock { $0 = policy.retriesPerRun } }

  /// - Parameters:
  ///   - announce: told of each attempt above the first, with what the one before it died of.
  ///   - hasAdvanced: whether an attempt that failed came further than all before it: the policy's attempts are counted
  ///     from it, so that of something large each part has as many.
  ///   - body: an attempt, with what the one before it died of.
  /// - Throws: the last attempt's error; what was sent whole twice, in vain, is not sent again.
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

  /// As ``run(announcing:_:)``, where all attempts are the same.
  package func run<Value: Sendable>(
    _ body: () async throws(UploadError) -> Value
  ) async throws(UploadError) -> Value {
    try await run { _, _ throws(UploadError) in try await body() }
  }

  /// A run may have no end: what goes well at once makes up for a retry.
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

/// Asks a store's database again after what may pass. A reply that was lost does no harm: a recorder finds what it has
/// recorded.
public final class RetryingRecorder: PostRecorder {
  private let base: any PostRecorder
  private let retries: RetryBudget

  /// - Parameters:
  ///   - base: the recorder that is asked again.
  ///   - clock: waits; a test's does not.
  ///   - randomness: draws the waits.
  public init(
    base: any PostRecorder, policy: RetryPolicy = RetryPolicy(),
    clock: any Clock<Duration> = ContinuousClock(),
    randomness: any Randomness = SystemRandomness()
  ) {
    self.base = base
    retries = RetryBudget(policy, of: base.destination, clock: clock, randomness: randomness)
  }

  /// As the base's.
  public var destination: Destination { base.destination }

  /// As the base's.
  public var feed: Destination { base.feed }

  /// As the base's, asked again where that may help. A new run begins: its budget of retries is whole again.
  public func prepare() async throws(UploadError) {
    retries.beginRun()
    try await retries.run { () throws(UploadError) in try await self.base.prepare() }
  }

  /// As the base's, asked again where that may help.
  public func record(_ post: Post) async throws(UploadError) -> RecordedPost {
    try await retries.run { () throws(UploadError) in try await self.base.record(post) }
  }

  /// As the base's, asked again where that may help.
  public func find(_ id: PostID) async throws(UploadError) -> PostRecord? {
    try await retries.run { () throws(UploadError) in try await self.base.find(id) }
  }

  /// As the base's, asked again where that may help.
  @discardableResult
  public func update(_ post: Post, from earlier: Post?) async throws(UploadError) -> RecordedPost {
    try await retries.run { () throws(UploadError) in try await self.base.update(post, from: earlier) }
  }

  /// As the base's, asked again where that may help.
  public func withdraw(_ id: PostID) async throws(UploadError) {
    try await retries.run { () throws(UploadError) in try await self.base.withdraw(id) }
  }
}
