/// A store that takes a batch of uploads at once, on a thread that may block.
///
/// It keeps the promises of an ``Uploader``, for each upload apart: one that fails leaves nothing under its key.
public protocol BatchStore: Sendable {
  /// Stores each of `uploads`, and gives their results in the same order; on return every object that is said to be
  /// stored is durable. Blocks.
  /// - Parameter cancellation: looked at before each step of each upload.
  func store(
    _ uploads: [BatchUpload], cancellation: CancellationFlag
  ) -> [Result<StoredObject, UploadError>]

  /// Removes each of `keys` as ``Uploader/remove(_:)`` does, and gives what is left of each in the same order; on return
  /// every removal that succeeded is durable. Blocks.
  func remove(_ keys: [ObjectKey]) -> [Result<ObjectRemoval, UploadError>]
}

/// One upload of a batch.
public struct BatchUpload: Sendable {
  /// What is stored.
  public let source: UploadSource
  /// Its name in the store.
  public let key: ObjectKey

  /// An upload of `source` as `key`.
  public init(source: UploadSource, key: ObjectKey) {
    self.source = source
    self.key = key
  }
}
