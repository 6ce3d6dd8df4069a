import ReelCore

extension FolderUploader: BatchStore {
  /// The store itself.
  public var batches: (any BatchStore)? { self }

  /// As ``upload(_:to:reporting:)`` for each, with one sync of the folder for all.
  public func store(
    _ uploads: [BatchUpload], cancellation: CancellationFlag
  ) -> [Result<StoredObject, UploadError>] {
    let store: OpenStore
    do throws(UploadError) {
      store = try preparedStore()
    } catch {
      return uploads.map { _ in .failure(error) }
    }
    var results: [Result<StoredObject, UploadError>] = []
    var copies: [(index: Int, copy: CopiedObject)] = []
    for (index, upload) in uploads.enumerated() {
      do throws(UploadError) {
        try cancellation.check()
        copies.append((index, try copy(upload.source, to: upload.key, in: store, cancellation) { _ in }))
        results.append(.success(stored(upload.source, as: upload.key)))
      } catch {
        results.append(.failure(error))
      }
    }
    let outcomes = batch(in: store).place(copies.map(\.copy), cancellation)
    for ((index, _), outcome) in zip(copies, outcomes) {
      results[index] = outcome.flatMap { results[index] }
    }
    return results
  }
}
