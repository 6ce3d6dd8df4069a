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

/// Makes copies durable and gives them their names, a batch at a time.
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
    do throws(SystemError) {
      try flush(root)
      try Failpoint.folderSynced.reach()
      if try StoreFolder.isFolder(root, at: path) { return named }
    } catch {
      // A name that is not durable is none. The sync is not asked again.
      return disown(copies, named, failure(error, "sync the folder"))
    }
    return disown(copies, named, failure.moved)
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
