import ReelCore

/// The first look at a batch. A file that an earlier run knows in its present state ends here, at the cost of a catalog
/// lookup. The file is not opened, and a reader is started at most to ask for its version.
struct KnownFileFilter: Sendable {
  let context: IngestContext

  /// A file that has to be opened.
  struct Admitted: Sendable {
    let item: NumberedItem
    /// Its digest, if an earlier run has seen the file in this state.
    let known: ContentDigest?
  }

  /// The result of filtering a batch.
  struct Filtered {
    var admitted: [Admitted] = []
    /// The events of the files that have ended.
    var events: [IngestEvent.Body] = []
    var notes: [CatalogNote] = []
  }

  /// Ends the known files, and returns the rest. Blocks.
  /// - Throws: errors that end the run: a catalog that can't be read, a reader that is missing.
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

  /// Returns the remembered outcomes of files that are not posts. The reader's version is requested only for files that
  /// took a reader: most files that are not videos were recognized by their first bytes.
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

  /// The reader's version; nil if it can't answer now for lack of processes or descriptors. Each file then fails with
  /// the reason when it is read.
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

  /// Nil if the file has to be opened after all.
  private func end(of item: NumberedItem, _ record: CachedRecord, _ outcome: ProbeOutcome?) -> End? {
    let options = context.options
    // A sidecar may name another author, and one more post of a known video is a new post.
    guard !options.trustSidecars, options.duplicates == .skip else { return nil }
    if record.isPublished {
      // The file's state only tells what it held then. A file that is to be removed must be read.
      if options.provesDuplicates { return nil }
      let note = record.failureCode.map { _ in context.note(nil, of: item.file) }
      return ([.fileDuplicate(item.file, FileDuplicate(post: record.post))], note.map { [$0] } ?? [])
    }
    // A run that stops at the first failure must reach the failures in order.
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
      // The mended file may be accepted.
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
