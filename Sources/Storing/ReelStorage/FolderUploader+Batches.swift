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
    let outcomes = batch(in: store.root).place(copies.map(\.copy), cancellation)
    for ((index, _), outcome) in zip(copies, outcomes) {
      results[index] = outcome.flatMap { results[index] }
    }
    return results
  }

  /// As ``remove(_:)`` for each, with one sync of the folder for all.
  public func remove(_ keys: [ObjectKey]) -> [Result<ObjectRemoval, UploadError>] {
    do throws(UploadError) {
      return batch(in: try rootFolder()).remove(keys)
    } catch {
      return keys.map { _ in .failure(error) }
    }
  }
}

/// Makes copies durable and gives them their names, or takes names away, a batch at a time.
///
/// The order is what counts: every copy is synced before it gets its name, and none counts as stored before the folder
/// was synced after that. Each copy has an `fsync` of its own, so an error of the disk is that copy's alone.
struct ObjectBatch {
  typealias Outcome = Result<Void, UploadError>

  let root: Descriptor
  /// Where `root` must still be once the names are there.
  let path: String
  let failure: FolderFailure
  /// Makes the names in the folder of that descriptor durable; a test counts.
  var flush: (Descriptor) throws(SystemError) -> Void = { folder throws(SystemError) in
    try folder.syncFolder()
  }

  /// On return each copy whose outcome is a success has its name, and both are durable; the others have none. Blocks.
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
    // A name that is not durable is none.
    return settle().map { disown(copies, named, $0) } ?? named
  }

  /// On return each file whose outcome is a success is gone, durably; one that was not there, too: whoever removed it may
  /// have died before the folder was synced. Blocks.
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

  /// Makes the folder's names durable, once: a sync that failed is not asked again. Nil when they are, and the folder is
  /// the one that was meant.
  private func settle() -> UploadError? {
    do throws(SystemError) {
      try flush(root)
      try Failpoint.folderSynced.reach()
      return try StoreFolder.isFolder(root, at: path) ? nil : failure.moved
    } catch {
      return failure(error, "sync the folder")
    }
  }

  /// Those that a catalog names keep their names: another machine may have found one meanwhile.
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
