import FoundationEssentials
import ReelCore

extension SQLiteCatalog {
  /// Returns what `reader` found in each of these, as committed before this call.
  public func probeOutcomes(
    of digests: [ContentDigest], by reader: ReaderVersion
  ) throws(CatalogError) -> [ProbeOutcome?] {
    let documents = try connection.readNow { db in
      try digests.map { try ProbeResultTable.find($0, by: reader, in: db) }
    }
    var reading = OutcomeReading()
    return documents.map { $0.flatMap { reading.outcome($0) } }
  }

  /// Returns what is known of each of these, as committed before this call. A failure may be returned beside a post;
  /// then it is older than the post, and to be forgotten.
  ///
  /// A post whose event is undelivered is left to ``contents(of:)``, which takes the event over.
  public func recall(
    _ files: [RecalledFile], readingPosts: Bool
  ) throws(CatalogError) -> [CachedRecord?] {
    let steps = writableIfAny?.steps
    let found = try connection.readNow { db in
      try files.map { try RecallQuery.find($0, steps, at: place, in: db) }
    }
    var answers: [CachedRecord?] = []
    for found in found {
      answers.append(try found?.recollection(readingPost: readingPosts, at: place))
    }
    return answers
  }

  /// Returns the size of the caches, after all that was handed in before.
  public func cacheStatus() async throws(CatalogError) -> CacheStatus {
    try await writableIfAny?.writer.flush()
    return try await connection.read { db in try CacheQuery.status(in: db) }
  }

  /// Forgets digests and readings, and returns their pages to the file system.
  public func clearCache() async throws(CatalogError) -> CacheStatus {
    let writing = try writable()
    let before = try await writing.writer.commit { db in
      let before = try CacheQuery.status(in: db)
      try KnownFileTable.clear(in: db)
      try ProbeResultTable.clear(in: db)
      return before
    }
    let freed = try await writing.writer.alone { db in try CacheQuery.giveBackFreePages(of: db) }
    return CacheStatus(files: before.files, readings: before.readings, bytes: freed)
  }
}

/// Decodes documents of which many are equal, such as those of files that are not videos, each distinct one only once.
private struct OutcomeReading {
  private var known: [String: ProbeOutcome?] = [:]

  mutating func outcome(_ document: String) -> ProbeOutcome? {
    if let outcome = known[document] { return outcome }
    let outcome = ProbeOutcome(document: document)
    known[document] = .some(outcome)
    return outcome
  }
}

/// The checkpoints are in the library's own catalog, which only its owner can read (the folder is 0700, the database
/// and its backups are 0600). They are useful only as long as the intents beside them, from which they could be
/// separated, or lost, in a place of their own.
extension SQLiteCatalog: UploadCheckpoints {
  /// Returns the checkpoint that was kept last, as committed before this call.
  public func checkpoint(
    of key: ObjectKey, in destination: Destination
  ) async throws(CatalogError) -> UploadCheckpoint? {
    try await connection.look { [place] db in
      try CheckpointTable.find(key, in: place.name(of: destination), db: db)
    }
  }

  /// Keeps the checkpoint, committed on return.
  public func keep(
    _ checkpoint: UploadCheckpoint, of key: ObjectKey, in destination: Destination
  ) async throws(CatalogError) {
    let (now, store) = (clock.now().milliseconds, place.name(of: destination))
    try await writable().writer.commit { db in
      try CheckpointTable.put(checkpoint, of: key, in: store, at: now, db: db)
    }
  }

  /// Compares and replaces the checkpoint in one transaction, committed on return.
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

  /// Forgets the checkpoint, committed on return.
  public func forget(
    _ checkpoint: UploadCheckpoint, of key: ObjectKey, in destination: Destination
  ) async throws(CatalogError) {
    let store = place.name(of: destination)
    try await writable().writer.commit { db in
      try CheckpointTable.remove(checkpoint, of: key, in: store, db: db)
    }
  }

  /// Returns the keys that have a checkpoint, in the order of the primary key.
  public func keys(
    in destination: Destination, after key: ObjectKey?, limit: Int
  ) async throws(CatalogError) -> [ObjectKey] {
    try await connection.look { [place] db in
      try CheckpointTable.keys(in: place.name(of: destination), after: key, limit: limit, db: db)
    }
  }
}
