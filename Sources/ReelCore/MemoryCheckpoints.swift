import Synchronization

/// Checkpoints that live as long as this object: for tests, and for uploads that nothing is to remember.
public final class MemoryCheckpoints: UploadCheckpoints {
  private struct Place: Hashable {
    let destination: Destination
    let key: ObjectKey
  }
  private let kept = Mutex<[Place: UploadCheckpoint]>([:])

  /// None yet.
  public init() {}

  /// What was kept last.
  /// - Throws: `cancelled` in a cancelled task, as a catalog does.
  public func checkpoint(
    of key: ObjectKey, in destination: Destination
  ) async throws(CatalogError) -> UploadCheckpoint? {
    try checkCancellation()
    return kept.withLock { $0[Place(destination: destination, key: key)] }
  }

  /// Keeps it.
  public func keep(
    _ checkpoint: UploadCheckpoint, of key: ObjectKey, in destination: Destination
  ) async throws(CatalogError) {
    kept.withLock { $0[Place(destination: destination, key: key)] = checkpoint }
  }

  /// Keeps it, unless another one is kept than was thought.
  public func exchange(
    _ old: UploadCheckpoint?, for new: UploadCheckpoint, of key: ObjectKey, in destination: Destination
  ) async throws(CatalogError) -> Bool {
    let place = Place(destination: destination, key: key)
    return kept.withLock { kept in
      guard kept[place] == old else { return false }
      kept[place] = new
      return true
    }
  }

  /// Forgets it, unless another one was kept since.
  public func forget(
    _ checkpoint: UploadCheckpoint, of key: ObjectKey, in destination: Destination
  ) async throws(CatalogError) {
    let place = Place(destination: destination, key: key)
    kept.withLock { kept in
      if kept[place] == checkpoint { kept[place] = nil }
    }
  }

  /// The keys that have one.
  /// - Throws: `cancelled` in a cancelled task, as a catalog does.
  public func keys(
    in destination: Destination, after key: ObjectKey?, limit: Int
  ) async throws(CatalogError) -> [ObjectKey] {
    try checkCancellation()
    let names = kept.withLock { kept in
      kept.keys.filter { $0.destination == destination }.map(\.key.rawValue)
    }
    let behind = names.filter { $0 > key?.rawValue ?? "" }.sorted()
    return behind.prefix(max(0, limit)).compactMap { ObjectKey($0) }
  }

  private func checkCancellation() throws(CatalogError) {
    if Task.isCancelled { throw CatalogError(.cancelled, "cancelled while it looked for a checkpoint") }
  }
}
