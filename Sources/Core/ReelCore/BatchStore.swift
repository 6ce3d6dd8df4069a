/// A store that accepts a batch of uploads at once, on a thread that may block.
///
/// It keeps the promises of an ``Uploader`` for each upload separately: one that fails leaves nothing under its
/// key.
public protocol BatchStore: Sendable {
  /// Stores each of `uploads`, and returns their results in the same order. On return, every object reported as
  /// stored is durable. Blocks.
  /// - Parameter cancellation: Checked before each step of each upload.
  func store(
    _ uploads: [BatchUpload], cancellation: CancellationFlag
  ) -> [Result<StoredObject, UploadError>]

  /// Removes each of `keys` as ``Uploader/remove(_:)`` does, and returns what is left of each in the same order. On
  /// return, every successful removal is durable. Blocks.
  func remove(_ keys: [ObjectKey]) -> [Result<ObjectRemoval, UploadError>]
}

/// One upload of a batch.
public struct BatchUpload: Sendable {
  /// The bytes to store.
  public let source: UploadSource
  /// Its name in the store.
  public let key: ObjectKey

  /// Creates an upload of `source` under `key`.
  public init(source: UploadSource, key: ObjectKey) {
    self.source = source
    self.key = key
  }
}
