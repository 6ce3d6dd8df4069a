import ReelCore

/// The first look at a batch: a file that an earlier run knows in this very state has its end here, for the price of a
/// look into the catalog. It is not opened, and a reader is started for it at most to say of which version it is.
struct KnownFileFilter: Sendable {
  let context: IngestContext

  /// A file that has to be opened.
  struct Admitted: Sendable {
    let item: NumberedItem
    /// Its digest, where an earlier run has seen it in this state.
    let known: ContentDigest?
  }

  /// What became of a batch.
  struct Filtered {
    var admitted: [Admitted] = []
    /// Of those that have ended.
    var events: [IngestEvent.Body] = []
    var notes: [CatalogNote] = []
  }

  /// Ends those that are known, and gives the others. Blocks.
  /// - Throws: what ends the run: a catalog that can't be read, a reader that isn't there.
  func filter(_ batch: [NumberedItem]) throws -> Filtered {
    let records = try cachedRecords(of: batch)
    let outcomes = try outcomes(of: records)
    var filtered = Filtered()
    for (item, record) in zip(batch, records) {
      if let record, let end = end(of: item, record, outcomes[record.digest]) {
        filtered.events += [.fileStarted(item.file, size: item.size)] + end.events
        filtered.notes += end.notes
      } else {
        filtered.admitted.append(Admitted(item: item, known: record?.digest))
      }
    }
    return filtered
  }

  // MARK: Looking up

  private func cachedRecords(of batch: [NumberedItem]) throws -> [CachedRecord?] {
    let found = batch.map { try? $0.candidate() }
    let questions = zip(found, batch).compactMap { found, item in
      found.map { context.question(about: $0, item.file) }
    }
    guard !questions.isEmpty else { return batch.map { _ in nil } }
    var answers = try context.services.catalog.recall(
      questions, readingPosts: context.options.tellsKnownPosts)[...]
    return found.map { $0 == nil ? nil : answers.popFirst() ?? nil }
  }

  /// What was found in those that are not posts. The reader is asked who it is only for what it has read: most files
  /// that are not videos are known for it by their first bytes.
  private func outcomes(
    of records: [CachedRecord?]
  ) throws -> [ContentDigest: ProbeOutcome] {
    let digests = records.compactMap { $0 }.filter { !$0.isPublished }.map(\.digest)
    var outcomes: [ContentDigest: ProbeOutcome] = [:]
    if let firstLook = context.services.prober.firstLookVersion {
      outcomes = try self.outcomes(of: digests, by: firstLook)
    }
    let others = digests.filter { outcomes[$0] == nil }
    guard !others.isEmpty, let reader = try reader() else { return outcomes }
    return try self.outcomes(of: others, by: reader).merging(outcomes) { _, first in first }
  }

  private func outcomes(
    of digests: [ContentDigest], by reader: ReaderVersion
  ) throws -> [ContentDigest: ProbeOutcome] {
    guard !digests.isEmpty else { return [:] }
    let outcomes = try context.services.catalog.probeOutcomes(of: digests, by: reader)
    let known = zip(digests, outcomes).compactMap { digest, outcome in outcome.map { (digest, $0) } }
    return Dictionary(known) { first, _ in first }
  }

  /// Nil when it can't say just now, for lack of processes or descriptors: the files then hear why, one by one.
  private func reader() throws -> ReaderVersion? {
    do {
      return try context.reader()
    } catch {
      if case .endsTheRun = StepFailure(error) { throw error }
      return nil
    }
  }

  // MARK: Ending

  private typealias End = (events: [IngestEvent.Body], notes: [CatalogNote])

  /// Nil when the file has to be opened after all.
  private func end(of item: NumberedItem, _ record: CachedRecord, _ outcome: ProbeOutcome?) -> End? {
    let options = context.options
    // A sidecar may name another author, and one more post of a known video is a new post.
    guard !options.trustSidecars, options.duplicates == .skip else { return nil }
    if record.isPublished {
      // Its state says what it was. What is to be taken away must be read.
      if options.provesDuplicates { return nil }
      let note = record.failureCode.map { _ in context.note(nil, of: item.file) }
      return ([.fileDuplicate(item.file, FileDuplicate(post: record.post))], note.map { [$0] } ?? [])
    }
    // To stop at the first failure is to come to them one after the other.
    guard options.onError == .continue, let outcome else { return nil }
    if outcome.looksCutOff, context.feed?.awaitsMore(of: item.file) == true { return nil }
    return end(of: item, record, outcome)
  }

  private func end(of item: NumberedItem, _ record: CachedRecord, _ outcome: ProbeOutcome) -> End? {
    var events: [IngestEvent.Body] = []
    let failure: StepFailure
    switch outcome {
    case .failure(let error): failure = StepFailure(error)
    case .media(let report):
      // Mended, it may be another.
      if context.mends(of: report.media, at: item.file.path) != nil { return nil }
      let violations = context.policy(for: item.file).violations(in: report.media, of: item.file.path)
      guard let refusal = FileRefused(violations) else { return nil }
      events.append(.fileProbed(item.file, report))
      failure = .refused(refusal)
    }
    events.append(failure.result.event(of: item.file))
    let isNoted = record.failureCode == failure.failure.code.rawValue || context.options.dryRun
    let note =
      isNoted ? nil : context.record(failure).map { context.note($0, of: item.file) }
    return (events, note.map { [$0] } ?? [])
  }
}

extension ProbeOutcome {
  fileprivate var looksCutOff: Bool {
    switch self {
    case .media(let report): report.media.truncated == true
    case .failure(let error): FileFailure(error).isOfMissingBytes
    }
  }
}
