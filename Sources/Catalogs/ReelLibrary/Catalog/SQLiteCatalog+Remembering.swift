import FoundationEssentials
import ReelCore

extension SQLiteCatalog {
  /// What `reader` found in each of these, from a commit before this call.
  public func probeOutcomes(
    of digests: [ContentDigest], by reader: ReaderVersion
  ) throws(CatalogError) -> [ProbeOutcome?] {
    let documents = try connection.readNow { db in
      try digests.map { try ProbeResultTable.find($0, by: reader, in: db) }
    }
    var reading = OutcomeReading()
    return documents.map { $0.flatMap { reading.outcome($0) } }
  }

  /// What is known of each of these, from commits before this call. A failure is told beside a post, too: it is an
  /// older one then, to be forgotten.
  ///
  /// A post whose event is still to be told is left to ``contents(of:)``, which sees to that.
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

  /// How much is remembered, after all that was handed in before.
  public func cacheStatus() async throws(CatalogError) -> CacheStatus {
    try await writableIfAny?.writer.flush()
    return try await connection.read { db in try CacheQuery.status(in: db) }
  }

  /// Forgets digests and readings, and gives their pages back to the file system.
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

/// Reads documents of which many are the same, as of files that are not videos: each of these once.
private struct OutcomeReading {
  private var known: [String: ProbeOutcome?] = [:]

  mutating func outcome(_ document: String) -> ProbeOutcome? {
    if let outcome = known[document] { return outcome }
    let outcome = ProbeOutcome(document: document)
    known[document] = .some(outcome)
    return outcome
  }
}

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
