import ReelCore

/// An uploader that wraps another one, with a closure that may wait or fail before each upload.
public struct ScriptedUploader: Uploader {
  private let base: any Uploader
  private let isLatencyBound: Bool
  private let onUpload: @Sendable (ObjectKey) async throws(UploadError) -> Void

  /// - Parameters:
  ///   - base: stores what is uploaded, such as a `MemoryUploader`.
  ///   - isLatencyBound: whether the store is to count as latency-bound even if `base` does not say so.
  ///   - onUpload: called before each upload is forwarded; may wait, or fail.
  public init(
    base: any Uploader, isLatencyBound: Bool = false,
    onUpload: @escaping @Sendable (ObjectKey) async throws(UploadError) -> Void
  ) {
    (self.base, self.isLatencyBound, self.onUpload) = (base, isLatencyBound, onUpload)
  }

  /// The other uploader's traits.
  public var traits: UploadTraits {
    var traits = base.traits
    traits.isLatencyBound = isLatencyBound || traits.isLatencyBound
    return traits
  }
  /// The other uploader's destination.
  public var destination: Destination { base.destination }

  /// Prepares the other uploader.
  public func prepare() async throws(UploadError) { try await base.prepare() }

  /// Calls the closure, then uploads.
  public func upload(
    _ source: UploadSource, to key: ObjectKey, reporting: @escaping @Sendable (TransferProgress) -> Void
  ) async throws(UploadError) -> StoredObject {
    try await onUpload(key)
    return try await base.upload(source, to: key, reporting: reporting)
  }

  /// Asks the other uploader.
  public func find(_ key: ObjectKey) async throws(UploadError) -> StoredObject? { try await base.find(key) }
  /// Removes through the other uploader.
  @discardableResult
  public func remove(_ key: ObjectKey) async throws(UploadError) -> ObjectRemoval {
    try await base.remove(key)
  }
  /// Reads back through the other uploader.
  public func readBack(_ key: ObjectKey) async throws(UploadError) -> ContentDigest? {
    try await base.readBack(key)
  }
}
