import FoundationEssentials
import ReelModel
import ReelSQLite

extension SQLiteCatalog {
  /// The digest of a file in this very state, from a commit before this call.
  public func knownFile(_ identity: FileIdentity) async throws(CatalogError) -> ContentDigest? {
    try await connection.look { db in try KnownFileTable.find(identity, in: db) }
  }

  /// Call it when the file has been hashed. A file whose status changed less than 2 s ago is not remembered:
  /// another change might leave the same times behind.
  public func remember(_ digest: ContentDigest, of identity: FileIdentity) async {
    guard let writing = writableIfAny, identity.isSettled(at: clock.now()) else { return }
    await writing.lazily { db in try KnownFileTable.put(digest, of: identity, in: db) }
  }

  /// What `reader` found in these bytes, from a commit before this call.
  public func probeOutcome(
    of digest: ContentDigest, by reader: ReaderVersion
  ) async throws(CatalogError) -> ProbeOutcome? {
    let document = try await connection.look { db in try ReadingTable.find(digest, by: reader, in: db) }
    return document.flatMap { ProbeOutcome(document: $0) }
  }

  /// What `reader` found in each of these, from a commit before this call.
  public func probeOutcomes(
    of digests: [ContentDigest], by reader: ReaderVersion
  ) async throws(CatalogError) -> [ProbeOutcome?] {
    let documents = try await connection.read { db in
      try digests.map { try ReadingTable.find($0, by: reader, in: db) }
    }
    var reading = OutcomeReading()
    return documents.map { $0.flatMap { reading.outcome($0) } }
  }

  /// What is known of each of these, from commits before this call. A failure is told beside a post, too: it is an
  /// older one then, to be forgotten.
  ///
  /// A post whose event is still to be told is left to ``published(_:)``, which sees to that.
  public func recall(
    _ files: [RecalledFile], readingPosts: Bool
  ) async throws(CatalogError) -> [Recollection?] {
    let steps = writableIfAny?.steps
    let found = try await connection.read { [place] db in
      try files.map { try RecallQuery.find($0, steps, at: place, in: db) }
    }
    guard readingPosts else {
      var answers: [Recollection?] = []
      for found in found { answers.append(try found?.recollection(readingPost: false, at: place)) }
      return answers
    }
    return try await Self.withPosts(found, at: place)
  }

  /// How many posts of a batch one task reads.
  private static let postsForEachTask = 64

  /// In the order of `found`.
  private static func withPosts(
    _ found: [RecallQuery.Found?], at place: CatalogPlace
  ) async throws(CatalogError) -> [Recollection?] {
    typealias Part = Result<[Recollection?], CatalogError>
    let starts = Array(stride(from: 0, to: found.count, by: postsForEachTask))
    let parts = await withTaskGroup(of: (Int, Part).self) { tasks in
      for start in starts {
        tasks.addTask {
          let part = found[start..<min(start + postsForEachTask, found.count)]
          return (
            start,
            Part { () throws(CatalogError) in
              var answers: [Recollection?] = []
              for found in part { answers.append(try found?.recollection(readingPost: true, at: place)) }
              return answers
            }
          )
        }
      }
      var parts: [Int: Part] = [:]
      for await (start, part) in tasks { parts[start] = part }
      return parts
    }
    var answers: [Recollection?] = []
    for start in starts { answers += try parts[start]?.get() ?? [] }
    return answers
  }

  /// Remembers what `reader` found; of failures only those that are about the bytes.
  public func remember(_ outcome: ProbeOutcome, of digest: ContentDigest, by reader: ReaderVersion) async {
    guard let writing = writableIfAny, outcome.isWorthRemembering,
      let document = try? JSONEncoder().encode(KeptReading(outcome))
    else { return }
    await writing.lazily { db in
      try ReadingTable.put(String(decoding: document, as: UTF8.self), of: digest, by: reader, in: db)
    }
  }

  /// Remembers that the file at `path` was not published, in place of what was remembered before.
  public func remember(_ failure: FailureRecord?, at path: SourcePath) async {
    guard let writing = writableIfAny else { return }
    await writing.lazily { db in try FailureTable.put(failure, at: path, in: db) }
  }

  /// How much is remembered, after all that was handed in before.
  public func cacheStatus() async throws(CatalogError) -> CacheStatus {
    try await writableIfAny?.group.settle()
    return try await connection.read { db in try CacheQuery.status(in: db) }
  }

  /// Forgets digests and readings, and gives their pages back to the file system.
  public func clearCache() async throws(CatalogError) -> CacheStatus {
    let writing = try writable()
    let before = try await writing.group.durably { db in
      let before = try CacheQuery.status(in: db)
      try KnownFileTable.clear(in: db)
      try ReadingTable.clear(in: db)
      return before
    }
    let freed = try await writing.group.alone { db in try CacheQuery.giveBackFreePages(of: db) }
    return CacheStatus(files: before.files, readings: before.readings, bytes: freed)
  }
}

extension FileIdentity {
  /// Whether any change from now on is sure to show: file systems keep times in steps of up to 2 s.
  func isSettled(at moment: Date) -> Bool {
    let age = moment.timeIntervalSince1970 - Double(changedAt) / 1_000_000_000
    return age >= 2
  }
}

extension ProbeOutcome {
  /// Whether the next reading of the same bytes would end alike.
  var isWorthRemembering: Bool {
    switch self {
    case .media: true
    case .failure(let error): error.code.isAboutTheBytes
    }
  }
}

extension ProbeOutcome {
  /// Nil for what another build wrote and this one can't read: that is found out anew.
  init?(document: String) {
    guard let kept = try? JSONDecoder().decode(KeptReading.self, from: Data(document.utf8)) else {
      return nil
    }
    self = kept.outcome
  }
}

/// Reads documents of which many are the same, as of files that are no videos: each of these once.
private struct OutcomeReading {
  private var known: [String: ProbeOutcome?] = [:]

  mutating func outcome(_ document: String) -> ProbeOutcome? {
    if let outcome = known[document] { return outcome }
    let outcome = ProbeOutcome(document: document)
    known[document] = .some(outcome)
    return outcome
  }
}
