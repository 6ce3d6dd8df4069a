import ReelCore

/// What is written down of one object's upload; the catalog's failures as the upload's.
public struct CheckpointLedger: Sendable {
  private let checkpoints: any UploadCheckpoints
  private let key: ObjectKey
  private let destination: Destination

  /// The ledger of the object `key` in `destination`.
  public init(_ checkpoints: any UploadCheckpoints, of key: ObjectKey, in destination: Destination) {
    (self.checkpoints, self.key, self.destination) = (checkpoints, key, destination)
  }

  /// What was kept last, by whatever process; nil when nothing was.
  public func kept() async throws(UploadError) -> UploadCheckpoint? {
    do throws(CatalogError) {
      return try await checkpoints.checkpoint(of: key, in: destination)
    } catch {
      throw UploadError(checkpoint: error)
    }
  }

  /// Keeps `new` in place of `old`; false when somebody else has written since.
  public func exchange(
    _ old: UploadCheckpoint?, for new: UploadCheckpoint
  ) async throws(UploadError) -> Bool {
    do throws(CatalogError) {
      return try await checkpoints.exchange(old, for: new, of: key, in: destination)
    } catch {
      throw UploadError(checkpoint: error)
    }
  }

  /// Forgets `checkpoint` if it is still the one that is kept.
  public func forget(_ checkpoint: UploadCheckpoint) async throws(UploadError) {
    do throws(CatalogError) {
      try await checkpoints.forget(checkpoint, of: key, in: destination)
    } catch {
      throw UploadError(checkpoint: error)
    }
  }
}
