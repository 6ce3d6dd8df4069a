import ReelCore

/// Takes batches of files from their intents to their posts (docs/publish.md), and first of all to an intent those that had
/// to wait for one, or for a slow reader. A file that is tried again is a batch of one.
struct BatchPublisher: Sendable {
  let context: IngestContext
  /// Where readers are waited for.
  let readers: BlockingQueue
  /// Where batches are stored and written.
  let writers: BlockingQueue

  var services: IngestServices { context.services }

  /// How often a file is claimed: the drawn name may be taken by something else, or somebody take the intent over.
  private static let attempts = 3

  /// Takes each of the files to its one terminal event.
  func publish(_ files: DeferredFiles) async {
    switch files {
    case .reading(let hashed, let probe, let reader):
      await publish(hashed.file) { notes in try await judge(hashed, probe, reader, noting: &notes) }
    case .mending(let hashed, let report, let mends, let reader):
      await publish(hashed.file) { notes in
        try await judge(hashed, report, mending: mends, reader, noting: &notes)
      }
    case .waiting(let accepted): await publish(accepted, attempts: Self.attempts)
    case .claimed(let batch): await publish(batch, attempts: Self.attempts)
    }
  }

  // MARK: Reading and judging

  private func publish(
    _ file: FileReference, _ judge: (inout [CatalogNote]) async throws -> IngestContext.Decision
  ) async {
    var report = BatchReport(context)
    var notes: [CatalogNote] = []
    let judged: Result<IngestContext.Decision, any Error>
    do {
      judged = .success(try await judge(&notes))
    } catch {
      judged = .failure(error)
    }
    report.note(notes)
    switch judged {
    case .success(.accepted(let accepted)):
      report.finish()
      do {
        await publish(try await withPoster(accepted), attempts: Self.attempts)
      } catch {
        fail(accepted, error)
      }
    case .success(.ended(let ending)): report.end(ending, file)
    case .failure(let error): report.end(StepFailure(error), file)
    }
    report.finish()
  }

  private func judge(
    _ file: HashedFile, _ probe: any PendingProbe, _ reader: ReaderVersion, noting notes: inout [CatalogNote]
  ) async throws -> IngestContext.Decision {
    let report: ProbeReport
    do throws(ProbeError) {
      let watch = context.watch(.probe)
      defer { watch.end() }
      report = try await readers.run { () throws(ProbeError) in try probe.finish() }
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
      let (mended, facts) = try await readers.run { [context] in
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
    let (posted, events) = try await readers.run { [context] in
      var (accepted, events) = (accepted, [IngestEvent.Body]())
      try context.makePoster(of: &accepted, telling: &events)
      return (accepted, events)
    }
    context.hub.emit(events)
    return posted
  }

  private func fail(_ accepted: AcceptedFile, _ error: any Error) {
    var report = BatchReport(context)
    report.fail(accepted, error)
    report.finish()
  }
}

// MARK: - From the claim to the post

extension BatchPublisher {
  /// Why a file has to be claimed once more.
  enum LostAttempt {
    case name
    case lease(CatalogError)
  }

  /// How far a file of a batch has come.
  private enum Advance {
    case stored(StoredFile)
    case lost(AcceptedFile, LostAttempt)
    case ended
    /// The stored ones have waited long enough for the others.
    case isDue
  }

  /// Claims the file again, unless it has had its attempts.
  private func publish(_ accepted: AcceptedFile, after lost: LostAttempt? = nil, attempts: Int) async {
    do {
      guard attempts > 0 else { throw failure(afterLosing: lost ?? .name) }
      guard let claimed = try await claim(accepted, after: lost) else { return }
      await publish([claimed], attempts: attempts)
    } catch {
      fail(accepted, error)
    }
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

  /// Asks until the intent is ours; somebody alive who holds it gets time to finish. Nil when the file has ended.
  private func claim(_ accepted: AcceptedFile, after lost: LostAttempt?) async throws -> ClaimedFile? {
    let watch = context.watch(.claim)
    defer { watch.end() }
    var pause = Duration.milliseconds(5)
    while true {
      if Task.isCancelled { throw StepFailure.failed(.cancelled) }
      switch await reporting({ report in report.claim([accepted]).first }) {
      case nil: return nil
      case .granted(let claimed): return claimed
      case .published(_, let existing):
        if case .lease = lost { await recordAgain(existing.post) }
        var report = BatchReport(context)
        report.end(context.ending(of: existing), accepted.file)
        report.finish()
        return nil
      case .held: break
      }
      do {
        try await Task.sleep(for: pause)
      } catch {
        throw StepFailure.failed(.cancelled)
      }
      pause = min(pause * 2, .milliseconds(250))
    }
  }

  /// Runs `body`, which may block, and tells what it reports.
  private func reporting<Value: Sendable>(
    _ body: @escaping @Sendable (inout BatchReport) -> Value
  ) async -> Value {
    await writers.run { [context] in
      var report = BatchReport(context)
      let value = body(&report)
      report.finish()
      return value
    }
  }

  /// The files are stored side by side, and completed together: those that are stored wait for the others as long as the
  /// first of them took, two seconds at most.
  private func publish(_ batch: [ClaimedFile], attempts: Int) async {
    let start = ContinuousClock.now
    let tried = await storeTogether(batch)
    await withDiscardingTaskGroup { retries in
      func retry(_ accepted: AcceptedFile, _ lost: LostAttempt) {
        retries.addTask { await publish(accepted, after: lost, attempts: attempts - 1) }
      }
      await withTaskGroup(of: Advance.self) { group in
        for (file, tried) in zip(batch, tried) { group.addTask { await advance(file, tried) } }
        var (left, stored, isDue) = (batch.count, [StoredFile](), false)
        for await advance in group {
          switch advance {
          case .stored(let file):
            stored.append(file)
            if stored.count == 1, left > 1 {
              let patience = min(.now - start, .seconds(2))
              group.addTask {
                try? await Task.sleep(for: patience)
                return .isDue
              }
            }
          case .lost(let accepted, let lost): retry(accepted, lost)
          case .ended: break
          case .isDue: isDue = true
          }
          if case .isDue = advance {} else { left -= 1 }
          guard left == 0 || isDue else { continue }
          for (accepted, lost) in await complete(stored) { retry(accepted, lost) }
          (stored, isDue) = ([], false)
          // Nobody but who measures the time is left.
          if left == 0 { group.cancelAll() }
        }
      }
    }
  }

  private func advance(_ file: ClaimedFile, _ tried: BatchAttempt?) async -> Advance {
    do {
      switch try await store(file, after: tried) {
      case .stored(let stored): return .stored(stored)
      case .lost(let lost): return .lost(file.accepted, lost)
      }
    } catch {
      fail(file.accepted, error)
      return .ended
    }
  }

  /// Gives those whose intent was lost meanwhile.
  private func complete(_ files: [StoredFile]) async -> [(AcceptedFile, LostAttempt)] {
    guard !files.isEmpty else { return [] }
    var lost: [(AcceptedFile, LostAttempt)] = []
    for (file, error) in await reporting({ report in report.complete(files) }) {
      if error.code == .leaseLost {
        lost.append((file.accepted, .lease(error)))
      } else {
        try? await services.catalog.release(file.intent, because: .retryLater)
        fail(file.accepted, error)
      }
    }
    return lost
  }
}
