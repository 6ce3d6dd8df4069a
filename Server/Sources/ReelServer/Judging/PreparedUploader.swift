import Reel
import Synchronization

/// Has a store made ready for many runs at once: each upload is a run of its own, and to make a folder ready takes syncs, to
/// ask a bucket a request.
final class PreparedUploader: Uploader {
  private struct Preparation {
    let task: Task<Result<Void, UploadError>, Never>
    let begun: ContinuousClock.Instant
  }
  private let base: any Uploader
  private let period: Duration
  private let newest = Mutex<Preparation?>(nil)

  /// - Parameter period: how long it counts. What became of the store meanwhile is found out by each upload, and the next
  ///   preparation; who was told to come again does so later than that.
  init(_ base: any Uploader, period: Duration = .seconds(10)) { (self.base, self.period) = (base, period) }

  var traits: UploadTraits { base.traits }
  var destination: Destination { base.destination }
  var staging: (any StagingArea)? { base.staging }
  var batches: (any BatchStore)? { base.batches }

  /// As the base's; one that failed does not count.
  func prepare() async throws(UploadError) {
    let now = ContinuousClock.now
    let preparation = newest.withLock { newest in
      if let newest, now - newest.begun < period { return newest }
      // Whoever else waits for it is not cancelled with who asked first.
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
