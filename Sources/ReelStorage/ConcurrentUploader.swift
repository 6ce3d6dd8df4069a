import ReelCore

/// Lets so many uploads through at once; the others wait their turn. Everything else passes.
///
/// More files may be worked on (hashed, probed) than are uploaded.
public struct ConcurrentUploader: Uploader {
  private let base: any Uploader
  private let places: AsyncSemaphore

  /// - Parameter uploads: at once, at least 1.
  public init(base: any Uploader, uploads: Int) {
    self.base = base
    places = AsyncSemaphore(count: max(1, uploads))
  }

  /// As the base's.
  public var traits: UploadTraits { base.traits }

  /// As the base's.
  public var destination: Destination { base.destination }

  /// As the base's.
  public var staging: (any StagingArea)? { base.staging }

  /// As the base's.
  public var batches: (any BatchStore)? { base.batches }

  /// As the base's.
  public func prepare() async throws(UploadError) { try await base.prepare() }

  /// As the base's, when there is a place. One that is cancelled while it waits is told so by the base.
  public func upload(
    _ source: UploadSource, to key: ObjectKey, reporting: @escaping @Sendable (TransferProgress) -> Void
  ) async throws(UploadError) -> StoredObject {
    let place = await places.take()
    defer { places.giveBack(place) }
    return try await base.upload(source, to: key, reporting: reporting)
  }

  /// As the base's.
  public func find(_ key: ObjectKey) async throws(UploadError) -> StoredObject? { try await base.find(key) }

  /// As the base's.
  public func remove(_ key: ObjectKey) async throws(UploadError) { try await base.remove(key) }

  /// As the base's.
  public func readBack(_ key: ObjectKey) async throws(UploadError) -> ContentDigest? {
    try await base.readBack(key)
  }
}
