import ReelCore

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
  public func withdraw(_ id: PostID) async throws(UploadError) {
    try await retries.run { () throws(UploadError) in try await self.base.withdraw(id) }
  }
}
