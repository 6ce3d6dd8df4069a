import Dispatch
import ReelCore
import ReelSource

/// Takes batches of files through all their steps, one step after the other for the whole batch (docs/publish.md). Runs
/// on a thread of its own, and blocks.
///
/// Whatever has to wait for something else than this machine's disk is handed over: uploads over a network, a video
/// that another file or another process is at just now, a file that its reader takes long for.
struct Lane {
  let context: IngestContext
  /// The files that have been handed over.
  let deferred: DeferredFileTasks
  /// Says that a file will most likely have to be read.
  let expectReading: @Sendable () -> Void
  /// Written with the next transaction.
  var notes: [CatalogNote] = []
  /// Notes of batches without a post that may wait for a transaction.
  private static let mostNotes = 256
  /// How long they may wait for the next batch: in a watched folder, that may be days away.
  private static let patience = DispatchTimeInterval.milliseconds(200)
  /// Told with the next emission.
  var events: [IngestEvent.Body] = []

  init(
    context: IngestContext, deferred: DeferredFileTasks, expectReading: @escaping @Sendable () -> Void
  ) {
    self.context = context
    self.deferred = deferred
    self.expectReading = expectReading
  }

  /// Takes batches until the queue ends.
  mutating func run(_ queue: BatchQueue<[NumberedItem]>) {
    while let batch = queue.take(after: Self.patience, { writeNotes() }) {
      if context.stop.isSet { continue }
      // Now, and not while it holds intents: those that are under way may be waiting for just these.
      deferred.waitForRoom()
      context.feed?.begin(batch.map(\.file))
      do {
        try takeIn(batch)
      } catch {
        let failure = StepFailure(error).failure
        // One that was cancelled ends because the run does.
        if !failure.isCancellation { context.stop.set(.aborted(failure)) }
      }
      emit()
      if notes.count >= Self.mostNotes {
        writeNotes()
        notes.removeAll(keepingCapacity: true)
      }
    }
    writeNotes()
  }

  private mutating func takeIn(_ batch: [NumberedItem]) throws {
    let watch = context.watch(.recall)
    let filtered = try KnownFileFilter(context: context).filter(batch)
    watch.end()
    events += filtered.events
    note(filtered.notes)
    guard !filtered.admitted.isEmpty else { return }
    publish(read(filtered.admitted))
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

  /// The file goes on in a task of its own; what was true of it before is reported first.
  mutating func handOver(_ file: DeferredFile) {
    emit()
    deferred.add(file)
  }

  /// Tells what has become true.
  mutating func emit() {
    guard !events.isEmpty else { return }
    context.hub.emit(events)
    let told = events.compactMap { event in
      if case .postPublished(_, let post) = event { post.id } else { nil }
    }
    for _ in told { context.services.onStep(.told) }
    events.removeAll(keepingCapacity: true)
    // At once: a run that is killed before it is written tells them again.
    if !told.isEmpty, !context.options.isAcknowledged { context.services.catalog.note([.announced(told)]) }
  }

  // MARK: Writing

  mutating func note(_ more: [CatalogNote]) {
    if !context.options.dryRun { notes += more }
  }

  /// What is noted is for a later run's convenience: that it can't be written is not a failure of this one.
  private mutating func writeNotes() {
    guard !notes.isEmpty else { return }
    _ = try? write { catalog, notes throws(CatalogError) in try catalog.complete([], noting: notes) }
  }

  /// Writes, and the notes with it; they stay where that fails.
  mutating func write<Value>(
    _ body: (any PostCatalog, [CatalogNote]) throws(CatalogError) -> Value
  ) throws(CatalogError) -> Value {
    let value = try body(context.services.catalog, notes)
    notes.removeAll(keepingCapacity: true)
    return value
  }
}

// Steps `intended` to `published`, for a batch.

extension Lane {
  /// A file with an intent.
  private struct Intended {
    var accepted: AcceptedFile
    let intent: Intent

    var poster: BatchUpload? {
      guard let source = accepted.poster?.source, let key = intent.poster else { return nil }
      return BatchUpload(source: source.intended, key: key)
    }
  }

  /// Those that go on, with their posters where posts are to have some.
  private mutating func withPosters(_ files: [AcceptedFile]) -> [AcceptedFile] {
    files.compactMap { accepted in
      var accepted = accepted
      do {
        try context.makePoster(of: &accepted, telling: &events)
        return accepted
      } catch {
        fail(accepted, StepFailure(error))
        return nil
      }
    }
  }

  /// Publishes what the store takes by the batch, and hands the others over.
  mutating func publish(_ files: [AcceptedFile]) {
    guard !files.isEmpty else { return }
    if context.stop.cancellation.isSet {
      for accepted in files { fail(accepted, .failed(.cancelled)) }
      return
    }
    var fresh: [Intended] = []
    for intended in claim(withPosters(files)) {
      // One that an earlier attempt may have stored is looked for first.
      if intended.intent.mayBeStored || !takesBatches {
        handOver(.intended(intended.accepted, intended.intent))
      } else {
        fresh.append(intended)
      }
    }
    complete(store(fresh))
  }

  private var takesBatches: Bool {
    context.services.recorder == nil && context.services.uploader.batches != nil
  }

  // MARK: T1

  private mutating func claim(_ files: [AcceptedFile]) -> [Intended] {
    let watch = context.watch(.claim)
    defer { watch.end() }
    let requests = files.map { context.request(for: $0) }
    let claims: [Result<Claim, CatalogError>]
    do throws(CatalogError) {
      claims = try write { catalog, notes throws(CatalogError) in
        try catalog.claim(requests, noting: notes)
      }
    } catch {
      for accepted in files { fail(accepted, StepFailure(error)) }
      return []
    }
    var granted: [Intended] = []
    for (accepted, claim) in zip(files, claims) {
      switch claim {
      case .success(.granted(let intent)):
        context.services.onStep(.intended)
        granted.append(Intended(accepted: accepted, intent: intent))
        let named = FileNamed(id: intent.id, key: intent.key, attempt: intent.attempt)
        events.append(.fileNamed(accepted.file, named))
      case .success(.published(let existing)): end(context.ending(of: existing), accepted.file)
      // The same video is being published: as another file of this batch, for one.
      case .success(.held): handOver(.waiting(accepted))
      case .failure(let error): fail(accepted, StepFailure(error))
      }
    }
    return granted
  }

  /// A file that does not become a post: what was read of it spares reading it again.
  private mutating func fail(_ accepted: AcceptedFile, _ failure: StepFailure) {
    if let reading = accepted.reading { note([reading]) }
    end(failure, accepted.file)
  }

  // MARK: The store

  private mutating func store(_ files: [Intended]) -> [(Intended, StoredObject)] {
    guard !files.isEmpty, let store = context.services.uploader.batches else { return [] }
    let watch = context.watch(.store)
    defer { watch.end() }
    let videos = files.map { BatchUpload(source: $0.accepted.source.intended, key: $0.intent.key) }
    let results = store.store(videos + files.compactMap(\.poster), cancellation: context.stop.cancellation)
    var posters = results[videos.count...]
    var stored: [(Intended, StoredObject)] = []
    for (var file, result) in zip(files, results) {
      let poster = file.poster == nil ? nil : posters.popFirst()
      do throws(UploadError) {
        let object = try result.get()
        switch poster {
        case .success(let stored): file.accepted.show(stored)
        case .failure:
          // It is tried again by itself, where it is decided what that means for the video.
          handOver(.intended(file.accepted, file.intent))
          continue
        case nil: break
        }
        context.services.onStep(.uploaded)
        let size = file.accepted.source.size
        events.append(.uploadProgress(file.accepted.file, TransferProgress(sent: size, total: size)))
        try file.accepted.checkUnchanged()
        context.services.onStep(.verified)
        context.services.onStep(.recorded)
        stored.append((file, object))
      } catch {
        // It is tried again by itself, or given up.
        handOver(.notStored(file.accepted, file.intent, error))
      }
    }
    return stored
  }

  // MARK: T2

  /// Also when the run was cancelled meanwhile: the objects are stored and verified.
  private mutating func complete(_ files: [(file: Intended, stored: StoredObject)]) {
    guard !files.isEmpty else { return }
    let watch = context.watch(.complete)
    defer { watch.end() }
    let completions = files.map { file, stored in
      Completion(intent: file.intent, draft: file.accepted.draft, stored: stored)
    }
    let posts: [Result<Post, CatalogError>]
    do throws(CatalogError) {
      posts = try write { catalog, notes throws(CatalogError) in
        try catalog.complete(completions, noting: notes)
      }
    } catch {
      for (file, _) in files { handOver(.notCompleted(file.accepted, file.intent, error)) }
      return
    }
    for ((file, _), post) in zip(files, posts) {
      switch post {
      case .success(let post):
        context.services.onStep(.published)
        end(.published(post), file.accepted.file)
      case .failure(let error):
        handOver(.notCompleted(file.accepted, file.intent, error))
      }
    }
  }
}
