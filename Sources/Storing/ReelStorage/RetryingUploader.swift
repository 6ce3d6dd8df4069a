import ReelCore
import Synchronization

/// Asks a store again after what may pass: `interrupted` and `unavailable`, within the limits of its policy.
///
/// A reply may be lost after the store did its work. So before an upload is tried again the store is asked
/// for the object: one of the right length and digest is ours, and is not sent a second time.
public final class RetryingUploader: UploaderDecorator {
  package let base: any Uploader
  private let retries: RetryBudget

  /// - Parameters:
  ///   - base: the uploader that is asked again.
  ///   - clock: waits; a test's does not.
  ///   - randomness: draws the waits.
  public init(
    base: any Uploader, policy: RetryPolicy = RetryPolicy(), clock: any Clock<Duration> = ContinuousClock(),
    randomness: any Randomness = SystemRandomness()
  ) {
    self.base = base
    retries = RetryBudget(policy, of: base.destination, clock: clock, randomness: randomness)
  }

  /// As the base's, asked again where that may help. A new run begins: its budget of retries is whole again.
  public func prepare() async throws(UploadError) {
    retries.beginRun()
    try await retries.run { () throws(UploadError) in try await self.base.prepare() }
  }

  /// As the base's, asked again where that may help. Each attempt above the first is announced by a report
  /// with what the one before it died of.
  /// - Throws: the last attempt's error; `conflict` when what is found after a lost reply is not what was
  ///   sent; `storeUnusable` when the store fell silent in the middle, and stayed so when it was asked for the object.
  public func upload(
    _ source: UploadSource, to key: ObjectKey, reporting: @escaping @Sendable (TransferProgress) -> Void
  ) async throws(UploadError) -> StoredObject {
    let report = AttemptReporter(total: source.size, reporting: reporting)
    do throws(UploadError) {
      return try await retries.run(announcing: report.announce, hasAdvanced: report.hasAdvanced) {
        attempt, last throws(UploadError) in
        if let last, let object = try await self.stored(source, key, after: last) {
          report.finish(attempt)
          return object
        }
        return try await self.upload(source, key, attempt, report)
      }
    } catch {
      // The last reply may be the one that was lost.
      guard error.isWorthARetry, let object = try? await stored(source, key) else { throw error }
      return object
    }
  }

  /// As the base's, asked again where that may help.
  public func find(_ key: ObjectKey) async throws(UploadError) -> StoredObject? {
    try await retries.run { () throws(UploadError) in try await self.base.find(key) }
  }

  /// As the base's, asked again where that may help.
  @discardableResult
  public func remove(_ key: ObjectKey) async throws(UploadError) -> ObjectRemoval {
    try await retries.run { () throws(UploadError) in try await self.base.remove(key) }
  }

  /// As the base's, asked again where that may help.
  public func readBack(_ key: ObjectKey) async throws(UploadError) -> ContentDigest? {
    try await retries.run { () throws(UploadError) in try await self.base.readBack(key) }
  }
}

extension RetryingUploader {
  /// One attempt. An object that is there although we looked is an earlier attempt's that came late, or
  /// somebody's who was faster.
  private func upload(
    _ source: UploadSource, _ key: ObjectKey, _ attempt: Int, _ report: AttemptReporter
  ) async throws(UploadError) -> StoredObject {
    do throws(UploadError) {
      return try await base.upload(source, to: key) { report.pass($0, attempt) }
    } catch {
      guard error.code == .alreadyExists, attempt > 1, let object = try await stored(source, key) else {
        throw error
      }
      report.finish(attempt)
      return object
    }
  }

  /// As ``stored(_:_:)``, after an attempt that ended with `failure`. What the store has said to have is looked for during
  /// half a minute before it is sent again: some show an object later (`rclone serve s3` after some seconds).
  /// - Throws: `storeUnusable` when the store says nothing, twice: no other file will fare better.
  private func stored(
    _ source: UploadSource, _ key: ObjectKey, after failure: UploadError
  ) async throws(UploadError) -> StoredObject? {
    do throws(UploadError) {
      for pause in failure.whole == .notShown ? Self.pauses : [] {
        if let object = try await stored(source, key) { return object }
        try await retries.wait(.seconds(pause))
      }
      return try await stored(source, key)
    } catch {
      guard error.silence != nil, failure.silence != nil else { throw error }
      throw UploadError(.storeUnusable, error.text)
    }
  }

  private static let pauses = [1, 2, 4, 8, 15]

  /// What an attempt that seemed to fail has stored after all, or nil.
  /// - Throws: `conflict` when it is something else.
  private func stored(
    _ source: UploadSource, _ key: ObjectKey
  ) async throws(UploadError) -> StoredObject? {
    guard var object = try await base.find(key) else { return nil }
    if object.size == source.size, object.digest != source.digest {
      // A digest that the store tells may be of something else than the bytes: only these prove a difference.
      let read = try await base.readFound(key)
      object = StoredObject(key: object.key, url: object.url, size: object.size, digest: read)
    }
    guard let difference = ObjectMismatch(object, key: key, source: source) else { return object }
    throw UploadError(
      .conflict,
      "the store \(destination) has something else under \(key): \(difference.words); see what it is, and "
        + "move it away")
  }
}

/// Numbers the reports of attempts, and knows how far they came.
private final class AttemptReporter: Sendable {
  private let total: Int64
  private let reporting: @Sendable (TransferProgress) -> Void
  /// Bytes: the attempt's, and those of the furthest before it.
  private let reach = Mutex<(now: Int64, before: Int64)>((0, 0))

  init(total: Int64, reporting: @escaping @Sendable (TransferProgress) -> Void) {
    (self.total, self.reporting) = (total, reporting)
  }

  /// Whether the attempt that ends here came further than all before it.
  func hasAdvanced() -> Bool {
    reach.withLock { reach in
      defer { reach = (0, max(reach.now, reach.before)) }
      return reach.now > reach.before
    }
  }

  func announce(_ attempt: Int, _ failure: UploadError) {
    reporting(TransferProgress(sent: 0, total: total, attempt: attempt, retrying: failure))
  }

  func pass(_ progress: TransferProgress, _ attempt: Int) {
    reach.withLock { $0.now = max($0.now, progress.sent) }
    reporting(TransferProgress(sent: progress.sent, total: progress.total, attempt: attempt))
  }

  /// The bytes were there already.
  func finish(_ attempt: Int) {
    reporting(TransferProgress(sent: total, total: total, attempt: attempt))
  }
}

/// Runs `body` to its end even when the surrounding task is cancelled meanwhile: for a step after which an object is
/// visible. To break off in the middle of it would be to say "nothing is stored" without knowing.
///
/// - Throws: what `body` throws.
package func shielded<Value: Sendable>(
  _ body: @escaping @Sendable () async throws(UploadError) -> Value
) async throws(UploadError) -> Value {
  let task = Task { () async -> Result<Value, UploadError> in
    do throws(UploadError) {
      return .success(try await body())
    } catch {
      return .failure(error)
    }
  }
  return try await task.value.get()
}
