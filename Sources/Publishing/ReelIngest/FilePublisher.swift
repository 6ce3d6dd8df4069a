import ReelCore

/// Takes one file through the rest of its steps, for all that has to wait: a slow reader, a network, another process, a
/// retry.
struct FilePublisher: Sendable {
  let context: IngestContext
  /// Where readers are waited for.
  let threads: BlockingQueue

  private var services: IngestServices { context.services }

  /// Takes the file to its one terminal event.
  func publish(_ file: DeferredFile) async {
    var notes: [CatalogNote] = []
    let report: IngestContext.Report
    do {
      report = context.report(try await ending(of: file, noting: &notes), of: file.file)
    } catch {
      report = context.report(StepFailure(error), of: file.file)
    }
    note(notes + report.notes)
    context.hub.emit(report.event)
    if let ending = report.ending { context.stop.set(ending) }
    guard case .postPublished(_, let post) = report.event else { return }
    services.onStep(.told)
    if !context.options.isAcknowledged { note([.announced([post.id])]) }
  }

  private func note(_ notes: [CatalogNote]) {
    if !context.options.dryRun, !notes.isEmpty { services.catalog.note(notes) }
  }

  private func ending(
    of file: DeferredFile, noting notes: inout [CatalogNote]
  ) async throws -> PublishResult {
    var accepted: AcceptedFile
    switch file {
    case .reading(let hashed, let probe, let reader):
      switch try await judge(hashed, probe, reader, noting: &notes) {
      case .ended(let ending): return ending
      case .accepted(let judged): accepted = judged
      }
    case .mending(let hashed, let report, let mends, let reader):
      switch try await judge(hashed, report, mending: mends, reader, noting: &notes) {
      case .ended(let ending): return ending
      case .accepted(let judged): accepted = judged
      }
    case .waiting(let one), .intended(let one, _), .notStored(let one, _, _), .notCompleted(let one, _, _):
      accepted = one
    }
    do {
      switch file {
      case .reading, .mending: accepted = try await withPoster(accepted)
      default: break
      }
      return try await publish(accepted, under: try await intent(of: file))
    } catch {
      if let reading = accepted.reading { notes.append(reading) }
      throw error
    }
  }

  private func judge(
    _ file: HashedFile, _ probe: any PendingProbe, _ reader: ReaderVersion, noting notes: inout [CatalogNote]
  ) async throws -> IngestContext.Decision {
    let report: ProbeReport
    do throws(ProbeError) {
      let watch = context.watch(.probe)
      defer { watch.end() }
      report = try await threads.run { () throws(ProbeError) in try probe.finish() }
    } catch {
      notes += file.notes(of: error, by: reader)
      throw error
    }
    try context.checkWhole(report, file.file)
    context.hub.emit(.fileProbed(file.file, report))
    guard let mends = context.mends(of: report.media, at: file.source.path) else {
      return try context.judge(file, report, readBy: reader, noting: &notes)
    }
    return try await judge(file, report, mending: mends, reader, noting: &notes)
  }

  /// Mends it first: what is judged is what would be published.
  private func judge(
    _ file: HashedFile, _ report: ProbeReport, mending mends: MendOptions, _ reader: ReaderVersion?,
    noting notes: inout [CatalogNote]
  ) async throws -> IngestContext.Decision {
    // What was read of the file as it came in spares reading it again when it does not become a post.
    let reading = reader.map { CatalogNote.outcome(.media(report), of: file.digest, by: $0) }
    do {
      let (mended, facts) = try await threads.run { [context] in
        try context.mend(file, report, mends)
      }
      return try context.judge(
        mended, facts, readBy: mended.arrived == nil ? reader : nil, noting: &notes)
    } catch {
      if let reading { notes.append(reading) }
      throw error
    }
  }

  private func withPoster(_ accepted: AcceptedFile) async throws -> AcceptedFile {
    let (posted, events) = try await threads.run { [context] in
      var (accepted, events) = (accepted, [IngestEvent.Body]())
      try context.makePoster(of: &accepted, telling: &events)
      return (accepted, events)
    }
    context.hub.emit(events)
    return posted
  }

  /// The intent that the file's next attempt goes on with; nil when it has to claim one.
  private func intent(of file: DeferredFile) async throws -> Intent? {
    switch file {
    case .reading, .mending, .waiting: return nil
    case .intended(_, let intent): return intent
    case .notStored(_, let intent, let error):
      if error.standing != nil {
        try await withdraw(intent, after: error)
        return nil
      }
      if error.code.isWorthARetry || error.code == .alreadyExists { return intent }
      try await services.catalog.release(intent, because: .retryLater)
      throw error
    case .notCompleted(_, let intent, let error):
      if error.code == .leaseLost { return nil }
      try? await services.catalog.release(intent, because: .retryLater)
      throw error
    }
  }

  /// Again when the drawn name is taken by something else, or when somebody took the intent over meanwhile.
  private func publish(_ accepted: AcceptedFile, under first: Intent?) async throws -> PublishResult {
    var held = first
    var lost = LostAttempt.name
    for _ in 0..<3 {
      let intent: Intent
      if let granted = held.take() {
        intent = granted
      } else {
        switch try await claim(accepted) {
        case .published(let existing):
          if case .lease = lost { await recordAgain(existing.post) }
          return context.ending(of: existing)
        case .held: continue
        case .granted(let granted): intent = granted
        }
        services.onStep(.intended)
        context.hub.emit(
          .fileNamed(accepted.file, FileNamed(id: intent.id, key: intent.key, attempt: intent.attempt)))
      }
      switch try await attempt(accepted, under: intent) {
      case .ended(let ending): return ending
      case .lost(let what): lost = what
      }
    }
    throw failure(afterLosing: lost)
  }

  private func failure(afterLosing lost: LostAttempt) -> StepFailure {
    switch lost {
    case .lease(let error): StepFailure(error)
    case .name:
      .failed(
        FileFailure(
          code: .upload(.conflict),
          message:
            "something else writes into \(services.uploader.destination) under the names that Reel draws; "
            + "give Reel a destination of its own"))
    }
  }
}

extension FilePublisher {
  private enum Attempt {
    case ended(PublishResult)
    /// Another attempt is due.
    case lost(LostAttempt)
  }

  private enum LostAttempt {
    case name
    case lease(CatalogError)
  }

  /// - Throws: also what keeps the intent from being released, which ends the run: a copy of the same video would wait for
  ///   this process, which lives on.
  private func attempt(_ accepted: AcceptedFile, under intent: Intent) async throws -> Attempt {
    let stored: StoredObject
    var accepted = accepted
    var isPosterNamed = true
    do throws(UploadError) {
      let (hub, file) = (context.hub, accepted.file)
      stored = try await store(accepted.source, as: intent.key, under: intent) { progress in
        hub.emit(
          progress.retrying == nil ? .uploadProgress(file, progress) : .uploadRetrying(file, progress))
      }
      isPosterNamed = try await storePoster(of: &accepted, under: intent)
      if isPosterNamed {
        try accepted.checkUnchanged()
        services.onStep(.verified)
        try await record(accepted.draft, under: intent, stored)
        services.onStep(.recorded)
      }
    } catch {
      if error.standing != nil {
        try await withdraw(intent, after: error)
        return .lost(.name)
      }
      guard error.code == .conflict else {
        try await services.catalog.release(intent, because: .retryLater)
        throw error
      }
      return .lost(try await withdraw(intent))
    }
    guard isPosterNamed else {
      try await services.catalog.release(intent, because: .posterUnusable)
      return .lost(.name)
    }
    let watch = context.watch(.complete)
    defer { watch.end() }
    do throws(CatalogError) {
      // T2. It runs to its end even when the run is cancelled meanwhile: the object is stored and proven.
      let post = try await services.catalog.complete(intent, draft: accepted.draft, stored: stored)
      services.onStep(.published)
      return .ended(.published(post))
    } catch {
      if error.code == .leaseLost { return .lost(.lease(error)) }
      try? await services.catalog.release(intent, because: .retryLater)
      throw error
    }
  }

  /// Asks until the intent is ours or the video is a post; somebody alive who holds it gets time to finish.
  private func claim(_ accepted: AcceptedFile) async throws -> Claim {
    let watch = context.watch(.claim)
    defer { watch.end() }
    let request = context.request(for: accepted)
    var pause = Duration.milliseconds(5)
    while true {
      let claim = try await services.catalog.claim(request)
      guard case .held = claim else { return claim }
      do {
        try await Task.sleep(for: pause)
      } catch {
        throw StepFailure.failed(.cancelled)
      }
      pause = min(pause * 2, .milliseconds(250))
    }
  }
}

// MARK: - The store

extension FilePublisher {
  private func store(
    _ source: UploadSource, as key: ObjectKey, under intent: Intent,
    reporting: @escaping @Sendable (TransferProgress) -> Void
  ) async throws(UploadError) -> StoredObject {
    let watch = context.watch(.store)
    defer { watch.end() }
    let source = source.intended
    if intent.mayBeStored, let stored = try await services.uploader.find(key) {
      return try await proven(stored, is: source)
    }
    do throws(UploadError) {
      let stored = try await services.uploader.upload(source, to: key, reporting: reporting)
      services.onStep(.uploaded)
      return try await ours(stored, is: source)
    } catch {
      guard error.code == .alreadyExists else { throw error }
    }
    guard let stored = try await services.uploader.find(key) else {
      throw UploadError(
        .unavailable, "\(services.uploader.destination) says that \(key) exists, and then that it doesn't")
    }
    return try await proven(stored, is: source)
  }

  /// Its post shows the poster once that is stored. One that the store does not take keeps no video from being
  /// published, unless posters are required. False where one is, and something else has its name.
  private func storePoster(
    of accepted: inout AcceptedFile, under intent: Intent
  ) async throws(UploadError) -> Bool {
    accepted.draft.poster = nil
    guard let made = accepted.poster, let key = intent.poster else { return true }
    do throws(UploadError) {
      accepted.show(try await store(made.source, as: key, under: intent) { _ in })
    } catch {
      guard context.options.posters == .wanted else {
        if error.code == .conflict { return false }
        throw error
      }
      let isItsFault = [.rejected, .denied, .tooLarge, .conflict, .verificationFailed].contains(error.code)
      guard isItsFault else { throw error }
      context.hub.emit(.posterFailed(accepted.file, FileFailure(error)))
    }
    return true
  }

  /// As ``proven(_:is:)``, of what this very attempt has created.
  private func ours(_ stored: StoredObject, is source: UploadSource) async throws(UploadError) -> StoredObject
  {
    do throws(UploadError) {
      return try await proven(stored, is: source)
    } catch {
      guard error.code == .conflict else { throw error }
      throw UploadError(
        .verificationFailed,
        "\(services.uploader.destination) holds something other than what was sent as \(stored.key)"
      ).leaving(stored.key)
    }
  }

  /// `stored` with a proven digest, or with the one that a store was handed and acknowledges, which proves nothing more;
  /// `conflict` when it is not `source`.
  private func proven(_ stored: StoredObject, is source: UploadSource) async throws(UploadError)
    -> StoredObject
  {
    var digest = stored.digest ?? stored.clientDigest
    // A digest that the store tells may be of something else than the bytes: only these prove a difference.
    if stored.size == source.size, digest != source.digest {
      digest = try await services.uploader.readBack(stored.key)
    }
    guard stored.size == source.size, digest == source.digest else {
      throw UploadError(.conflict, "\(stored.key) in \(services.uploader.destination) is not what was sent")
    }
    return StoredObject(key: stored.key, url: stored.url, size: stored.size, digest: digest)
  }

  /// In a store that keeps posts: the object is whole, and the catalog does not say yet that it is published. Whoever
  /// dies or fails here leaves an intent that names the object and the post; the next attempt finds both.
  private func record(
    _ draft: PostDraft, under intent: Intent, _ stored: StoredObject
  ) async throws(UploadError) {
    guard let recorder = services.recorder else { return }
    let watch = context.watch(.record)
    defer { watch.end() }
    var post = Post(
      draft: draft, intent: intent, stored: stored, pageNumber: 0, createdAt: services.clock.now())
    // Its place in the store's feed is the recorder's to say.
    post.pageNumber = nil
    _ = try await recorder.record(post)
  }

  /// An attempt that had lost its lease may have put its own poster in place of the post's.
  private func recordAgain(_ post: Post) async {
    _ = try? await services.recorder?.record(post)
  }

  /// Something else has the intent's name. What an earlier attempt recorded of the object is not left behind; where
  /// another one has gone on with the intent meanwhile, its post is recorded again.
  private func withdraw(_ intent: Intent) async throws -> LostAttempt {
    if intent.mayBeStored, let recorder = services.recorder {
      do throws(UploadError) {
        try await recorder.withdraw(intent.id)
      } catch {
        try await services.catalog.release(intent, because: .retryLater)
        throw error
      }
    }
    guard try await !services.catalog.giveUp(intent) else { return .name }
    return .lease(CatalogError.leaseLost(intent, at: services.uploader.destination.name))
  }

  /// Under the intent's name stands what must not count. First nobody can publish under it any more; only then it goes:
  /// whoever took this process for dead may have found it, and published it.
  /// - Throws: `error`, unless another attempt, under another name, may succeed.
  private func withdraw(_ intent: Intent, after error: UploadError) async throws {
    let isGone = try await services.catalog.giveUp(intent) ? await clear(intent) : false
    if error.code.isWorthARetry { return }
    throw error.adding(
      isGone
        ? "it was removed; try again, and check the store if it happens again"
        : "it may still be there: reel doctor tells")
  }

  /// Removes what stands under the names of an intent that was given up, also in a cancelled task.
  private func clear(_ intent: Intent) async -> Bool {
    let (uploader, recorder) = (services.uploader, intent.mayBeStored ? services.recorder : nil)
    return await Task { () async -> Bool in
      do throws(UploadError) {
        try await recorder?.withdraw(intent.id)
        for key in [intent.key, intent.poster].compactMap(\.self) { try await uploader.remove(key) }
        return true
      } catch {
        return false
      }
    }.value
  }
}
