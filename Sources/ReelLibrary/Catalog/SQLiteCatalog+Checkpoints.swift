import ReelCore

/// The checkpoints lie in the library's own catalog, which only its owner can read (the folder is 0700, the
/// database and its backups are 0600). That is where they belong: they are of use only as long as the intents
/// that stand beside them are, and a place of their own could be lost or kept apart from these.
extension SQLiteCatalog: UploadCheckpoints {
  /// What was kept last, from a commit before this call.
  public func checkpoint(
    of key: ObjectKey, in destination: Destination
  ) async throws(CatalogError) -> UploadCheckpoint? {
    try await connection.look { [place] db in
      try CheckpointTable.find(key, in: place.name(of: destination), db: db)
    }
  }

  /// Keeps it, committed on return.
  public func keep(
    _ checkpoint: UploadCheckpoint, of key: ObjectKey, in destination: Destination
  ) async throws(CatalogError) {
    let (now, store) = (clock.now().milliseconds, place.name(of: destination))
    try await writable().writer.commit { db in
      try CheckpointTable.put(checkpoint, of: key, in: store, at: now, db: db)
    }
  }

  /// Compares and keeps in one transaction, committed on return.
  public func exchange(
    _ old: UploadCheckpoint?, for new: UploadCheckpoint, of key: ObjectKey, in destination: Destination
  ) async throws(CatalogError) -> Bool {
    let (now, store) = (clock.now().milliseconds, place.name(of: destination))
    return try await writable().writer.commit { db in
      guard try CheckpointTable.find(key, in: store, db: db) == old else { return false }
      try CheckpointTable.put(new, of: key, in: store, at: now, db: db)
      return true
    }
  }

  /// Forgets it, committed on return.
  public func forget(
    _ checkpoint: UploadCheckpoint, of key: ObjectKey, in destination: Destination
  ) async throws(CatalogError) {
    let store = place.name(of: destination)
    try await writable().writer.commit { db in
      try CheckpointTable.remove(checkpoint, of: key, in: store, db: db)
    }
  }

  /// The keys that have one, by the primary key's order.
  public func keys(
    in destination: Destination, after key: ObjectKey?, limit: Int
  ) async throws(CatalogError) -> [ObjectKey] {
    try await connection.look { [place] db in
      try CheckpointTable.keys(in: place.name(of: destination), after: key, limit: limit, db: db)
    }
  }
}
