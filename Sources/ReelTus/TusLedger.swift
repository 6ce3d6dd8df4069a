import ReelModel

/// What is written down of one object: where it is, and how far.
struct TusLedger: Sendable {
  let checkpoints: any UploadCheckpoints
  let key: ObjectKey
  let destination: Destination

  func kept() async throws(UploadError) -> UploadCheckpoint? {
    do throws(CatalogError) {
      return try await checkpoints.checkpoint(of: key, in: destination)
    } catch {
      throw UploadError(checkpoint: error)
    }
  }

  /// False when somebody else has written since.
  func exchange(
    _ old: UploadCheckpoint?, for new: UploadCheckpoint
  ) async throws(UploadError) -> Bool {
    do throws(CatalogError) {
      return try await checkpoints.exchange(old, for: new, of: key, in: destination)
    } catch {
      throw UploadError(checkpoint: error)
    }
  }

  func forget(_ checkpoint: UploadCheckpoint) async throws(UploadError) {
    do throws(CatalogError) {
      try await checkpoints.forget(checkpoint, of: key, in: destination)
    } catch {
      throw UploadError(checkpoint: error)
    }
  }
}
