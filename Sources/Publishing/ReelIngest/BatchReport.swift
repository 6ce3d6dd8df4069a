import ReelCore

/// The events and notes of a batch, and the two transactions that write the notes along with their own rows.
struct BatchReport: Sendable {
  let context: IngestContext
  /// Sent with the next emission.
  var events: [IngestEvent.Body] = []
  /// Written with the next transaction.
  var notes: [CatalogNote] = []

  init(_ context: IngestContext) {
    self.context = context
  }

  // MARK: Ends

  mutating func end(_ ending: PublishResult, _ file: FileReference) {
    end(context.report(ending, of: file))
  }

  mutating func end(_ failure: StepFailure, _ file: FileReference) {
    end(context.report(failure, of: file))
  }

  private mutating func end(_ report: IngestContext.Report) {
    events.append(report.event)
    note(report.notes)
    if let ending = report.ending { context.stop.set(ending) }
  }

  /// Ends a file that does not become a post. The facts read from it are noted, so that it need not be read again.
  mutating func fail(_ accepted: AcceptedFile, _ error: any Error) {
    if let reading = accepted.reading { note([reading]) }
    end(StepFailure(error), accepted.file)
  }

  // MARK: Emitting and writing

  mutating func note(_ more: [CatalogNote]) {
    if !context.options.dryRun { notes += more }
  }

  /// Emits the events collected so far.
  mutating func emit() {
    guard !events.isEmpty else { return }
    context.hub.emit(events)
    let told = events.compactMap { event in
      if case .postPublished(_, let post) = event { post.id } else { nil }
    }
    for _ in told { context.services.onStep(.told) }
    events.removeAll(keepingCapacity: true)
    // Immediately: if the process is killed before this is written, the next run tells them again.
    if !told.isEmpty, !context.options.isAcknowledged { context.services.catalog.note([.announced(told)]) }
  }

  /// Emits all events, and hands the notes to the catalog to be written soon.
  mutating func finish() {
    if !notes.isEmpty { context.services.catalog.note(notes) }
    notes.removeAll(keepingCapacity: true)
    emit()
  }

  /// Writes the notes. They only serve later runs, so failing to write them is not a failure of this run. Blocks.
  mutating func writeNotes() {
    guard !notes.isEmpty else { return }
    _ = try? write { catalog, notes throws(CatalogError) in try catalog.complete([], noting: notes) }
  }

  /// Runs `body` with the notes; on failure, the notes are kept for the next transaction.
  private mutating func write<Value>(
    _ body: (any PostCatalog, [CatalogNote]) throws(CatalogError) -> Value
  ) throws(CatalogError) -> Value {
    let value = try body(context.services.catalog, notes)
    notes.removeAll(keepingCapacity: true)
    return value
  }
}

// MARK: - Transactions

extension BatchReport {
  /// The catalog's answer about a file that is to be published.
  enum Answer: Sendable {
    case granted(ClaimedFile)
    /// The same video is being published, by another process or as another file of this run.
    case held(AcceptedFile)
    case published(AcceptedFile, PublishedPost)
    case removed(AcceptedFile, RemovedPost)
  }

  /// Transaction T1: claims the intents. A file that gets no answer has ended. Blocks.
  mutating func claim(_ files: [AcceptedFile]) -> [Answer] {
    let requests = files.map { context.request(for: $0) }
    let claims: [Result<Claim, CatalogError>]
    do throws(CatalogError) {
      claims = try write { catalog, notes throws(CatalogError) in
        try catalog.claim(requests, noting: notes)
      }
    } catch {
      for accepted in files { fail(accepted, error) }
      return []
    }
    return zip(files, claims).compactMap { accepted, claim in
      switch claim {
      case .success(.granted(let intent)): return .granted(granted(intent, to: accepted))
      case .success(.published(let existing)): return .published(accepted, existing)
      case .success(.removed(let removed)): return .removed(accepted, removed)
      case .success(.held): return .held(accepted)
      case .failure(let error):
        fail(accepted, error)
        return nil
      }
    }
  }

  mutating func granted(_ intent: Intent, to accepted: AcceptedFile) -> ClaimedFile {
    context.services.onStep(.intended)
    let named = FileNamed(id: intent.id, key: intent.key, attempt: intent.attempt)
    events.append(.fileNamed(accepted.file, named))
    return ClaimedFile(accepted: accepted, intent: intent)
  }

  /// Transaction T2: completes the posts, even if the run was cancelled meanwhile, because the objects are stored and
  /// proven. Returns the files that could not be completed, with the reasons. Blocks.
  mutating func complete(_ files: [ProvenFile]) -> [(ClaimedFile, CatalogError)] {
    let completions = files.map { file in
      Completion(intent: file.claimed.intent, draft: file.claimed.accepted.draft, stored: file.object)
    }
    let posts: [Result<Post, CatalogError>]
    do throws(CatalogError) {
      posts = try write { catalog, notes throws(CatalogError) in
        try catalog.complete(completions, noting: notes)
      }
    } catch {
      // A single file may be the cause, so complete them one by one.
      if files.count > 1, error.code != .cancelled { return files.flatMap { complete([$0]) } }
      return files.map { ($0.claimed, error) }
    }
    return zip(files, posts).compactMap { file, post in
      switch post {
      case .success(let post):
        context.services.onStep(.published)
        end(.published(post), file.claimed.accepted.file)
        return nil
      case .failure(let error): return (file.claimed, error)
      }
    }
  }
}
