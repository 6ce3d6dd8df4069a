import ReelCore

extension FolderUploader: BatchStore {
  /// The store itself.
  public var batches: (any BatchStore)? { self }

  /// Stores each as ``upload(_:to:reporting:)`` does, with one sync of the folder for all.
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
    let outcomes = batch(in: store.root).place(copies.map(\.copy), cancellation)
    for ((index, _), outcome) in zip(copies, outcomes) {
      results[index] = outcome.flatMap { results[index] }
    }
    return results
  }

  /// Removes each as ``remove(_:)`` does, with one sync of the folder for all.
  public func remove(_ keys: [ObjectKey]) -> [Result<ObjectRemoval, UploadError>] {
    do throws(UploadError) {
      return batch(in: try rootFolder()).remove(keys)
    } catch {
      return keys.map { _ in .failure(error) }
    }
  }
}

/// Makes copies durable and gives them their names, or removes names, one batch at a time.
///
/// The order matters: every copy is synced before it gets its name, and none counts as stored until the folder has been
/// synced after that. Each copy has an `fsync` of its own, so a disk error fails only that copy.
struct ObjectBatch {
  typealias Outcome = Result<Void, UploadError>

  let root: Descriptor
  /// The path at which `root` must still be once the names exist.
  let path: String
  let failure: FolderFailure
  /// Makes the names in the folder of that descriptor durable; a test's counts the calls.
  var flush: (Descriptor) throws(SystemError) -> Void = { folder throws(SystemError) in
    try folder.syncFolder()
  }

  /// Syncs and names the copies. On return each copy whose outcome is a success has its name, and both are durable. The
  /// others have none, except after a failed sync of the folder those that a catalog names. Blocks.
  func place(_ copies: [CopiedObject], _ cancellation: CancellationFlag) -> [Outcome] {
    let synced = copies.map { copy in
      Outcome { () throws(UploadError) in
        try cancellation.check()
        try copy.sync(failure)
      }
    }
    let named = zip(copies, synced).map { copy, outcome in
      outcome.flatMap {
        Outcome { () throws(UploadError) in
          try cancellation.check()
          try copy.name(in: root, failure)
        }
      }
    }
    guard named.contains(where: { (try? $0.get()) != nil }) else { return named }
    // A name that is not durable does not count.
    return settle().map { disown(copies, named, $0) } ?? named
  }

  /// Removes the files. On return each file whose outcome is a success is gone, durably. So is one that was not there:
  /// the process that removed it may have died before the folder was synced. Blocks.
  func remove(_ keys: [ObjectKey]) -> [Result<ObjectRemoval, UploadError>] {
    let removals = keys.map { key in
      Result { () throws(UploadError) in
        try StoredFile.remove(key, from: root, failure)
        return ObjectRemoval.gone
      }
    }
    guard let failure = settle() else { return removals }
    return removals.map { removal in removal.flatMap { _ in .failure(failure) } }
  }

  /// Makes the folder's names durable, with one sync that is not retried if it fails. Returns nil if they are, and the
  /// path still leads to the folder.
  private func settle() -> UploadError? {
    do throws(SystemError) {
      try flush(root)
      try Failpoint.folderSynced.reach()
      return try StoreFolder.isFolder(root, at: path) ? nil : failure.moved
    } catch {
      return failure(error, "sync the folder")
    }
  }

  /// Removes the names that are not durable, but not those that a catalog names: another machine may have found them
  /// meanwhile.
  private func disown(_ copies: [CopiedObject], _ named: [Outcome], _ reason: UploadError) -> [Outcome] {
    zip(copies, named).map { copy, outcome in
      outcome.flatMap {
        if copy.isIntended { return .failure(reason.leaving(copy.key)) }
        try? StoredFile.remove(copy.key, from: root, failure)
        return .failure(reason)
      }
    }
  }
}
