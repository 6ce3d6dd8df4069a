import ReelCore
import Synchronization

/// Asks again after what may pass, within the limits of a policy: what the decorators that retry share.
final class RetryBudget: Sendable {
  private let policy: RetryPolicy
  private let destination: Destination
  private let clock: any Clock<Duration>
  private let randomness: any Randomness
  private let left: Mutex<Int>

  init(
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
  ///   - body: an attempt, with what the one before it died of.
  /// - Throws: the last attempt's error.
  func run<Value: Sendable>(
    announcing announce: (Int, UploadError) -> Void = { _, _ in },
    _ body: (Int, UploadError?) async throws(UploadError) -> Value
  ) async throws(UploadError) -> Value {
    var (attempt, last, silence) = (1, UploadError?.none, Duration.zero)
    while true {
      let failure: UploadError
      do throws(UploadError) {
        return try await body(attempt, last)
      } catch {
        failure = error
      }
      silence = failure.silence.map { silence + .seconds($0) } ?? .zero
      if silence >= policy.longestSilence { throw failure }
      guard let delay = policy.delay(after: attempt, failure, randomness) else { throw failure }
      try spend(after: failure)
      (attempt, last) = (attempt + 1, failure)
      announce(attempt, failure)
      try await wait(delay)
    }
  }

  /// As ``run(announcing:_:)``, where all attempts are the same.
  func run<Value: Sendable>(
    _ body: () async throws(UploadError) -> Value
  ) async throws(UploadError) -> Value {
    try await run { _, _ throws(UploadError) in try await body() }
  }

  private func spend(after failure: UploadError) throws(UploadError) {
    let isLeft = left.withLock { left in
      if left == 0 { return false }
      left -= 1
      return true
    }
    if !isLeft { throw failure }
  }

  private func wait(_ delay: Duration) async throws(UploadError) {
    do {
      try await clock.sleep(for: delay)
    } catch {
      throw UploadError(.cancelled, "cancelled while waiting for the store \(destination)")
    }
  }
}
