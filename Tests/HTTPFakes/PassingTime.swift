import ReelStorage
import Synchronization

/// A clock that only waiting advances. Waits at the same time add up.
package final class PassingTime: Sendable {
  private let start = ContinuousClock.now
  private let waited = Mutex(Duration.zero)

  package init() {}

  /// The number of seconds waited so far.
  package var seconds: Double { waited.withLock { $0 } / .seconds(1) }

  /// A limiter that waits on this clock.
  package func limiter(_ bytesPerSecond: Int64) -> RateLimiter {
    RateLimiter(
      bytesPerSecond: bytesPerSecond, now: { self.start + self.waited.withLock { $0 } },
      sleep: { time in self.waited.withLock { $0 += time } },
      suspend: { time async throws(CancellationError) in self.waited.withLock { $0 += time } })
  }
}
