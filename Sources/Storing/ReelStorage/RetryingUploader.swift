import ReelCore
import Synchronization

/// Retries another uploader's calls after transient failures (`interrupted` and `unavailable`), within the limits of
/// its policy.
///
/// A reply may be lost after the store did its work. So before an upload is retried, the store is asked for the object:
/// one of the right length and digest is ours, and is not sent again.
public final class RetryingUploader: UploaderDecorator {
  package let base: any Uploader
  private let retries: RetryBudget

  /// - Parameters:
  ///   - base: the uploader whose calls are retried.
  ///   - policy: the limits of the retries.
  ///   - clock: used to wait; a test's does not wait.
  ///   - randomness: used to draw the waits.
  public init(
    base: any Uploader, policy: RetryPolicy = RetryPolicy(), clock: any Clock<Duration> = ContinuousClock(),
    randomness: any Randomness = SystemRandomness()
  ) {
    self.base = base
    retries = RetryBudget(policy, of: base.destination, clock: clock, randomness: randomness)
  }

  /// Prepares the base uploader, retrying where that may help. This begins a new run, with the full budget of retries.
  public func prepare() async throws(UploadError) {
    retries.beginRun()
    try await retries.run { () throws(UploadError) in try await self.base.prepare() }
  }

  /// Uploads through the base uploader, retrying where that may help. Each retry is announced by a report with the
  /// error of the attempt before it.
  /// - Throws: the last attempt's error; `conflict` if the object found after a lost reply is not what was sent;
  ///   `storeUnusable` if the store fell silent midway, and was still silent when asked for the object.
  public func upload(
    _ source: UploadSource, to key: ObjectKey, reporting: @escaping @Sendable (TransferProgress) -> Void
  ) async throws(UploadError) -> StoredObject {
    let report = AttemptReporter(total: source.size, reporting: reporting)
    do throws(UploadError) {
      return try await retries.run(announcing: report.announce, hasAdvanced: report.hasAdvanced) {
        attempt, last throws(UploadError) in
        if let last, let object = try await self.stored(source, key, after: last) {
          report.finish()
          return object
        }
        return try await self.upload(source, key, attempt, report)
      }
    } catch {
      // The last reply, too, may have been lost.
      guard error.isWorthARetry, let object = try? await stored(source, key) else { throw error }
      report.finish()
      return object
    }
  }

  /// Asks the base uploader, retrying where that may help.
  public func find(_ key: ObjectKey) async throws(UploadError) -> StoredObject? {
    try await retries.run { () throws(UploadError) in try await self.base.find(key) }
  }

  /// Removes through the base uploader, retrying where that may help.
  @discardableResult
  public func remove(_ key: ObjectKey) async throws(UploadError) -> ObjectRemoval {
    try await retries.run { () throws(UploadError) in try await self.base.remove(key) }
  }

  /// Reads back through the base uploader, retrying where that may help.
  public func readBack(_ key: ObjectKey) async throws(UploadError) -> ContentDigest? {
    try await retries.run { () throws(UploadError) in try await self.base.readBack(key) }
  }
}

extension RetryingUploader {
  /// Makes one attempt. If the object exists although it was not found before, it was stored late by an earlier
  /// attempt, or by somebody else who was faster.
  private func upload(
    _ source: UploadSource, _ key: ObjectKey, _ attempt: Int, _ report: AttemptReporter
  ) async throws(UploadError) -> StoredObject {
    do throws(UploadError) {
      return try await base.upload(source, to: key) { report.pass($0) }
    } catch {
      guard error.code == .alreadyExists, attempt > 1, let object = try await stored(source, key) else {
        throw error
      }
      report.finish()
      return object
    }
  }

  /// Looks for the object as ``stored(_:_:)`` does, after an attempt that ended with `failure`. If the store confirmed
  /// the object but did not show it, it is looked for during half a minute before it is sent again: some stores show an
  /// object later (`rclone serve s3` after some seconds).
  /// - Throws: `storeUnusable` if the store was silent both times: no other file would fare better.
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

  /// Returns what a seemingly failed attempt has stored after all, or nil.
  /// - Throws: `conflict` if something else is there.
  private func stored(
    _ source: UploadSource, _ key: ObjectKey
  ) async throws(UploadError) -> StoredObject? {
    guard var object = try await base.find(key) else { return nil }
    if object.size == source.size, object.digest != source.digest {
      // The store's digest may be of something other than the bytes. Only the bytes prove a difference.
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

/// Numbers the reports of attempts, and records how far they got.
private final class AttemptReporter: Sendable {
  private let total: Int64
  private let reporting: @Sendable (TransferProgress) -> Void
  /// The number of this attempt, the bytes that it has sent, and those of the furthest before it.
  private let reach = Mutex<(attempt: Int, now: Int64, before: Int64)>((1, 0, 0))

  init(total: Int64, reporting: @escaping @Sendable (TransferProgress) -> Void) {
    (self.total, self.reporting) = (total, reporting)
  }

  /// Whether the attempt that ends here got further than all before it. Begins to count the next one.
  func hasAdvanced() -> Bool {
    reach.withLock { reach in
      defer { (reach.now, reach.before) = (0, max(reach.now, reach.before)) }
      return reach.now > reach.before
    }
  }

  func announce(_ attempt: Int, _ failure: UploadError) {
    reach.withLock { $0.attempt = attempt }
    reporting(TransferProgress(sent: 0, total: total, attempt: attempt, retrying: failure))
  }

  func pass(_ progress: TransferProgress) {
    let attempt = reach.withLock { reach in
      reach.now = max(reach.now, progress.sent)
      return reach.attempt
    }
    reporting(TransferProgress(sent: progress.sent, total: progress.total, attempt: attempt))
  }

  /// Reports that all bytes were there already.
  func finish() {
    reporting(TransferProgress(sent: total, total: total, attempt: reach.withLock { $0.attempt }))
  }
}

/// Runs `body` to its end even if the surrounding task is cancelled meanwhile. Meant for a step after which an object
/// is visible: to abandon it midway would be to say "nothing is stored" without knowing.
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
