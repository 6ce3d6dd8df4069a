import ReelModel
import ReelSource

/// The first look at what the walk has found, a batch at a time: a file that an earlier run knows in this very state
/// has its end here, for the price of a look into the catalog. It is not opened, and a reader is started for it at most
/// to say of which version it is.
///
/// Its three steps are for three batches at once: what one looks up costs as much as the others.
struct Reception: Sendable {
  let intake: FileIntake
  let teller: FileTeller

  /// A file that has to be opened.
  struct Admitted: Sendable {
    let item: NumberedItem
    /// Its digest, where an earlier run has seen it in this state.
    let known: ContentDigest?
  }

  /// How a file ended without being opened.
  private struct KnownEnd {
    let file: FileReference
    let events: [IngestEvent.Body]
    let memory: Memory
  }

  /// What is to become of what `reel status` shows of a file.
  private enum Memory {
    case staysAsItIs
    case goes
    case becomes(FailureRecord)
  }

  /// A batch, and which of its files earlier runs know.
  struct Recalled: Sendable {
    fileprivate let items: [NumberedItem]
    fileprivate let recollections: [Recollection?]
  }

  /// A batch, and all that earlier runs know of it.
  struct Remembered: Sendable {
    fileprivate let recalled: Recalled
    fileprivate let outcomes: [ContentDigest: ProbeOutcome]
  }

  /// Ends those that are known, and gives the others.
  func receive(_ batch: Remembered) async -> [Admitted] {
    var admitted: [Admitted] = []
    var ends: [KnownEnd] = []
    for (index, item) in batch.recalled.items.enumerated() {
      let recollection = batch.recalled.recollections[index]
      if let recollection, let end = end(of: item, recollection, batch.outcomes[recollection.digest]) {
        ends.append(end)
      } else {
        admitted.append(Admitted(item: item, known: recollection?.digest))
      }
    }
    await tell(ends)
    return admitted
  }

  // MARK: Looking

  /// Which of these earlier runs know.
  /// - Throws: what ends the run: a catalog that can't be read.
  func recall(_ items: [NumberedItem]) async throws(StepFailure) -> Recalled {
    let found = items.map { try? $0.candidate() }
    let questions = found.compactMap { $0 }.map { intake.question(about: $0) }
    guard !questions.isEmpty else { return Recalled(items: items, recollections: items.map { _ in nil }) }
    do throws(CatalogError) {
      var answers = try await intake.services.catalog.recall(
        questions, readingPosts: intake.options.tellsKnownPosts)[...]
      return Recalled(
        items: items, recollections: found.map { $0 == nil ? nil : answers.popFirst() ?? nil })
    } catch {
      throw StepFailure(error)
    }
  }

  /// What is known of them beside.
  /// - Throws: what ends the run: a catalog that can't be read, a reader that isn't there.
  func remember(_ recalled: Recalled) async throws(StepFailure) -> Remembered {
    Remembered(recalled: recalled, outcomes: try await outcomes(of: recalled.recollections))
  }

  /// What was found in those that are no posts. The reader is asked who it is only for what it has read: most files
  /// that are no videos are known for it by their first bytes.
  private func outcomes(
    of recollections: [Recollection?]
  ) async throws(StepFailure) -> [ContentDigest: ProbeOutcome] {
    let digests = recollections.compactMap { $0 }.filter { !$0.isPublished }.map(\.digest)
    var outcomes: [ContentDigest: ProbeOutcome] = [:]
    if let firstLook = intake.services.prober.firstLookVersion {
      outcomes = try await self.outcomes(of: digests, by: firstLook)
    }
    let others = digests.filter { outcomes[$0] == nil }
    guard !others.isEmpty, let reader = try await reader() else { return outcomes }
    return try await self.outcomes(of: others, by: reader).merging(outcomes) { _, first in first }
  }

  private func outcomes(
    of digests: [ContentDigest], by reader: ReaderVersion
  ) async throws(StepFailure) -> [ContentDigest: ProbeOutcome] {
    guard !digests.isEmpty else { return [:] }
    do throws(CatalogError) {
      let outcomes = try await intake.services.catalog.probeOutcomes(of: digests, by: reader)
      let known = zip(digests, outcomes).compactMap { digest, outcome in outcome.map { (digest, $0) } }
      return Dictionary(known) { first, _ in first }
    } catch {
      throw StepFailure(error)
    }
  }

  /// Nil when it can't say just now, for lack of processes or descriptors: the files then hear why, one by one.
  private func reader() async throws(StepFailure) -> ReaderVersion? {
    do throws(StepFailure) {
      return try await intake.reader()
    } catch {
      if case .endsTheRun = error { throw error }
      return nil
    }
  }

  // MARK: Ending

  /// Nil when the file has to be opened after all.
  private func end(
    of item: NumberedItem, _ recollection: Recollection, _ outcome: ProbeOutcome?
  ) -> KnownEnd? {
    // A sidecar may name another author, and one more post of a known video is a new post.
    guard !intake.options.trustSidecars, intake.options.duplicates == .skip else { return nil }
    if recollection.isPublished {
      return KnownEnd(
        file: item.file,
        events: item.told([.fileDuplicate(item.file, FileDuplicate(post: recollection.post))]),
        memory: recollection.failureCode == nil ? .staysAsItIs : .goes)
    }
    // To stop at the first failure is to come to them one after the other.
    guard intake.options.onError == .continue, let outcome else { return nil }
    return end(of: item, recollection, outcome)
  }

  private func end(
    of item: NumberedItem, _ recollection: Recollection, _ outcome: ProbeOutcome
  ) -> KnownEnd? {
    var events: [IngestEvent.Body] = []
    let failure: StepFailure
    switch outcome {
    case .failure(let error): failure = StepFailure(error)
    case .media(let report):
      let violations = intake.services.policy.violations(in: report.media, of: item.file.path)
      guard let refusal = FileRefused(violations) else { return nil }
      events.append(.fileProbed(item.file, report))
      failure = .refused(refusal)
    }
    events.append(failure.event(of: item.file))
    return KnownEnd(
      file: item.file, events: item.told(events), memory: memory(of: failure, recollection.failureCode))
  }

  private func memory(of failure: StepFailure, _ rememberedCode: String?) -> Memory {
    guard rememberedCode != failure.failure.code, let record = teller.record(failure) else {
      return .staysAsItIs
    }
    return .becomes(record)
  }

  private func tell(_ ends: [KnownEnd]) async {
    for end in ends {
      switch end.memory {
      case .staysAsItIs: break
      case .goes: await teller.note(nil, end.file)
      case .becomes(let record): await teller.note(record, end.file)
      }
    }
    teller.hub.emit(ends.flatMap(\.events))
  }
}

extension NumberedItem {
  /// `events` behind the one that begins the file.
  fileprivate func told(_ events: [IngestEvent.Body]) -> [IngestEvent.Body] {
    [.fileStarted(file, size: size)] + events
  }
}
