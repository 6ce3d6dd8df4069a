import Reel
import Synchronization

/// Prepares a store once for many runs. Each upload is a run of its own, and a preparation takes syncs in a folder, or
/// a request to a bucket.
final class PreparedUploader: Uploader {
  private struct Preparation {
    let task: Task<Result<Void, UploadError>, Never>
    let begun: ContinuousClock.Instant
  }
  private let base: any Uploader
  private let period: Duration
  private let newest = Mutex<Preparation?>(nil)

  /// - Parameter period: how long a preparation counts. A change in the store meanwhile is noticed by each upload, and
  ///   by the next preparation; a client that was told to try again does so only after this period.
  init(_ base: any Uploader, period: Duration = .seconds(10)) { (self.base, self.period) = (base, period) }

  var traits: UploadTraits { base.traits }
  var destination: Destination { base.destination }
  var staging: (any StagingArea)? { base.staging }
  var batches: (any BatchStore)? { base.batches }

  /// Prepares the base, unless a preparation still counts. One that failed does not count.
  func prepare() async throws(UploadError) {
    let now = ContinuousClock.now
    let preparation = newest.withLock { newest in
      if let newest, now - newest.begun < period { return newest }
      // A task of its own: if the first caller is cancelled, the others still get the result.
      let task = Task { [base] in await Self.result(of: base) }
      let preparation = Preparation(task: task, begun: now)
      newest = preparation
      return preparation
    }
    do throws(UploadError) {
      try await preparation.task.value.get()
    } catch {
      newest.withLock { if $0?.begun == preparation.begun { $0 = nil } }
      throw error
    }
  }

  private static func result(of base: any Uploader) async -> Result<Void, UploadError> {
    do throws(UploadError) {
      return .success(try await base.prepare())
    } catch {
      return .failure(error)
    }
  }

  func upload(
    _ source: UploadSource, to key: ObjectKey, reporting: @escaping @Sendable (TransferProgress) -> Void
  ) async throws(UploadError) -> StoredObject {
    try await base.upload(source, to: key, reporting: reporting)
  }

  func find(_ key: ObjectKey) async throws(UploadError) -> StoredObject? { try await base.find(key) }

  @discardableResult
  func remove(_ key: ObjectKey) async throws(UploadError) -> ObjectRemoval { try await base.remove(key) }

  func readBack(_ key: ObjectKey) async throws(UploadError) -> ContentDigest? { try await base.readBack(key) }
}
