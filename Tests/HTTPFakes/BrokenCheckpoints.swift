import ReelCore
import ReelStorage

/// Checkpoints that keep nothing: the catalog is out of reach, or another process was faster.
package struct BrokenCheckpoints: UploadCheckpoints {
  let throwing: Bool

  /// - Parameter throwing: whether the catalog is out of reach.
  package init(throwing: Bool) { self.throwing = throwing }

  package func exchange(
    _ old: UploadCheckpoint?, for new: UploadCheckpoint, of key: ObjectKey, in destination: Destination
  ) async throws(CatalogError) -> Bool {
    if throwing { throw CatalogError(.locked, "another process writes") }
    return false
  }

  package func checkpoint(
    of key: ObjectKey, in destination: Destination
  ) async throws(CatalogError) -> UploadCheckpoint? { nil }

  package func keep(
    _ checkpoint: UploadCheckpoint, of key: ObjectKey, in destination: Destination
  ) async throws(CatalogError) {}

  package func forget(
    _ checkpoint: UploadCheckpoint, of key: ObjectKey, in destination: Destination
  ) async throws(CatalogError) {}

  package func keys(
    in destination: Destination, after key: ObjectKey?, limit: Int
  ) async throws(CatalogError) -> [ObjectKey] { [] }
}

extension Uploader {
  /// Uploads in a task of its own, which may be cancelled meanwhile. Returns the code of its failure; nil if it
  /// succeeded.
  package func failureInATask(uploading source: UploadSource, to key: ObjectKey) async -> UploadError.Code? {
    await Task { () -> UploadError.Code? in
      do throws(UploadError) {
        _ = try await upload(source, to: key) { _ in }
        return nil
      } catch {
        return error.code
      }
    }.value
  }
}
