import ReelCore

/// Takes batches from their intents to their posts (docs/publish.md). A file that had to wait for a slow reader, or for
/// an intent that another process or file holds, is claimed first and forms a batch of one. So does a file that is
/// retried.
struct BatchPublisher: Sendable {
  let context: IngestContext
  /// The threads that wait for readers.
  let readers: BlockingQueue
  /// The threads on which stores that take batches block, and on which sources are checked for changes.
  let stores: BlockingQueue
  /// The threads on which catalogs block.
  let writers: BlockingQueue

  var services: IngestServices { context.services }

  /// How often a file is claimed at most: its random name may be taken by another object, or another process may take
  /// over its intent.
  private static let attempts = 3

  enum Progress {
    /// The batch is no longer waiting to be stored together.
    case stored
    /// That many more files have ended.
    case ended(Int)
  }

  /// Takes each of the files to its one terminal event.
  func publish(_ work: PublishingWork, _ progress: @escaping @Sendable (Progress) -> Void) async {
    switch work {
    case .reading(let hashed, let probe, let reader):
      await publish(hashed.file) { notes in try await judge(hashed, probe, reader, noting: &notes) }
    case .mending(let hashed, let report, let mends, let reader):
      await publish(hashed.file) { notes in
        try await judge(hashed, report, mending: mends, reader, noting: &notes)
      }
    case .waiting(let accepted): await publish(accepted, attempts: Self.attempts)
    case .claimed(let batch): return await publish(batch, attempts: Self.attempts, progress)
    }
    progress(.ended(1))
  }

  // MARK: Reading and judging

  private func publish(
    _ file: FileReference, _ judge: (inout [CatalogNote]) async throws -> IngestContext.Decision
  ) async {
    var report = BatchReport(context)
    var notes: [CatalogNote] = []
    var accepted: AcceptedFile?
    do {
      switch try await judge(&notes) {
      case .accepted(let file): accepted = file
      case .ended(let ending): report.end(ending, file)
      }
    } catch {
      report.end(StepFailure(error), file)
    }
    report.note(notes)
    report.finish()
    guard let accepted else { return }
    do {
      await publish(try await withPoster(accepted), attempts: Self.attempts)
    } catch {
      fail(accepted, error)
    }
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

  /// Mends the file before judging it, because the mended file is what would be published.
  private func judge(
    _ file: HashedFile, _ report: ProbeReport, mending mends: MendOptions, _ reader: ReaderVersion?,
    noting notes: inout [CatalogNote]
  ) async throws -> IngestContext.Decision {
    // Remember the facts of the original, so that it need not be read again if it does not become a post.
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
  /// Why a file has to be claimed again.
  enum LostAttempt {
    case name
    case lease(CatalogError)
  }

  /// How far a file of a batch has come.
  private enum Advance {
    case proven(ProvenFile)
    case lost(AcceptedFile, LostAttempt)
    case failed
    /// Not the result of a file: the proven files have waited long enough for the rest of the batch.
    case waited
  }

  /// Claims the file again, unless it has used up its attempts.
  private func publish(_ accepted: AcceptedFile, after lost: LostAttempt? = nil, attempts: Int) async {
    do {
      guard attempts > 0 else { throw failure(afterLosing: lost ?? .name) }
      guard let claimed = try await claim(accepted, after: lost) else { return }
      await publish(ClaimedBatch([claimed]), attempts: attempts) { _ in }
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
            "another program writes to \(services.uploader.destination) under the random names that Reel draws; "
            + "give Reel a destination of its own"))
    }
  }

  /// Asks until the file has its intent. A live process that holds the intent gets time to finish. Returns nil if the
  /// file has ended.
  private func claim(_ accepted: AcceptedFile, after lost: LostAttempt?) async throws -> ClaimedFile? {
    let watch = context.watch(.claim)
    defer { watch.end() }
    let request = context.request(for: accepted)
    var report = BatchReport(context)
    defer { report.finish() }
    var pause = Duration.milliseconds(5)
    while true {
      // The asynchronous call: many tasks may ask at once, and a catalog answers them in groups.
      switch try await services.catalog.claim(request) {
      case .granted(let intent): return report.granted(intent, to: accepted)
      case .published(let existing):
        if case .lease = lost { await recordAgain(existing.post) }
        report.end(context.ending(of: existing), accepted.file)
        return nil
      case .removed(let removed):
        report.end(.removed(removed), accepted.file)
        return nil
      case .held: break
      }
      try await rethrowing(as: { _ in StepFailure.failed(.cancelled) }) { try await Task.sleep(for: pause) }
      pause = min(pause * 2, .milliseconds(250))
    }
  }

  /// Stores the files side by side and completes them together. Proven files wait for the others as long as the batch
  /// has taken up to then, but at most two seconds.
  private func publish(
    _ batch: ClaimedBatch, attempts: Int, _ progress: @escaping @Sendable (Progress) -> Void
  ) async {
    let start = ContinuousClock.now
    let tried = await storeTogether(batch.files)
    progress(.stored)
    await withDiscardingTaskGroup { others in
      func retry(_ accepted: AcceptedFile, _ lost: LostAttempt) {
        others.addTask {
          await publish(accepted, after: lost, attempts: attempts - 1)
          progress(.ended(1))
        }
      }
      await withTaskGroup(of: Advance.self) { group in
        for (file, tried) in zip(batch.take(), tried) { group.addTask { await advance(file, tried) } }
        var (left, proven) = (batch.count, [ProvenFile]())
        for await advance in group {
          var isDue = false
          switch advance {
          case .proven(let file):
            left -= 1
            proven.append(file)
            if proven.count == 1, left > 0 {
              let patience = min(.now - start, .seconds(2))
              group.addTask {
                try? await Task.sleep(for: patience)
                return .waited
              }
            }
          case .lost(let accepted, let lost):
            left -= 1
            retry(accepted, lost)
          case .failed:
            left -= 1
            progress(.ended(1))
          case .waited: isDue = true
          }
          // Only the task that waits is left.
          if left == 0 { group.cancelAll() }
          guard left == 0 || isDue, !proven.isEmpty else { continue }
          let failures = await complete(proven)
          progress(.ended(proven.count - failures.count))
          proven = []
          for (file, error) in failures {
            guard error.code != .leaseLost else {
              retry(file.accepted, .lease(error))
              continue
            }
            others.addTask {
              try? await services.catalog.release(file.intent, because: .retryLater)
              fail(file.accepted, error)
              progress(.ended(1))
            }
          }
        }
      }
    }
  }

  private func advance(_ file: ClaimedFile, _ tried: BatchAttempt?) async -> Advance {
    do {
      switch try await store(file, after: tried) {
      case .proven(let proven): return .proven(proven)
      case .lost(let lost): return .lost(file.accepted, lost)
      }
    } catch {
      fail(file.accepted, error)
      return .failed
    }
  }

  /// Completes the posts, emits their events, and returns the files that could not be completed.
  private func complete(_ files: [ProvenFile]) async -> [(ClaimedFile, CatalogError)] {
    let watch = context.watch(.complete)
    defer { watch.end() }
    return await writers.run { [context] in
      var report = BatchReport(context)
      let failures = report.complete(files)
      report.finish()
      return failures
    }
  }
}
