import AsyncAlgorithms
import ReelModel
import ReelSource

/// One run: the walk feeds the files to a few jobs, each of which takes one file at a time through its steps.
struct IngestPipeline: Sendable {
  let services: IngestServices
  let options: IngestOptions
  let hub: EventHub

  /// Runs to the end, or until the surrounding task is cancelled. Tells `run.started` first and `run.finished`
  /// last.
  ///
  /// - Parameter makeWalk: begins the walk; called again to count ahead.
  func run(_ makeWalk: @Sendable () -> SourceWalk) async -> RunSummary {
    let start = ContinuousClock.now
    hub.emit(.runStarted(RunStarted(destination: services.uploader.destination, dryRun: options.dryRun)))
    let ending = await takeAllIn(makeWalk)
    let elapsed = (ContinuousClock.now - start).components
    let seconds = Double(elapsed.seconds) + Double(elapsed.attoseconds) * 1e-18
    let summary = RunSummary(ending, of: hub.snapshot, seconds: seconds)
    hub.emit(.runFinished(summary))
    hub.finish()
    return summary
  }

  private func takeAllIn(_ makeWalk: () -> SourceWalk) async -> RunEnding {
    let brake = RunBrake()
    do throws(StepFailure) {
      try await prepare()
      let jobs = max(1, options.jobs)
      let (expected, expectation) = AsyncStream.makeStream(
        of: Void.self, bufferingPolicy: .bufferingOldest(jobs))
      let intake = FileIntake(
        services: services, options: options, ledger: DryRunLedger(), hub: hub,
        expectReading: { expectation.yield() })
      let feed = AsyncChannel<NumberedItem>()
      let (walk, ahead) = (makeWalk(), options.countsAhead ? makeWalk() : nil)
      async let warming: Void = warmUp(expected, atMost: jobs)
      await withTaskGroup { group in
        group.addTask { await self.feed(walk, into: feed, brake) }
        if let ahead { group.addTask { await count(ahead, brake) } }
        for _ in 0..<jobs {
          group.addTask { await work(through: feed, intake, brake) }
        }
        for await _ in group where brake.isAborted { group.cancelAll() }
      }
      expectation.finish()
      await warming
    } catch {
      brake.press(.aborted(error.failure))
    }
    return brake.ending ?? (Task.isCancelled ? .cancelled : .completed)
  }

  private func prepare() async throws(StepFailure) {
    do throws(UploadError) {
      if !options.dryRun {
        try await services.uploader.prepare()
        try await services.recorder?.prepare()
      }
    } catch {
      throw StepFailure(error)
    }
    do throws(ProbeError) {
      try await services.prober.checkInstallation()
    } catch {
      throw StepFailure(error)
    }
  }

  /// Starts readers for the first files that will have to be read, all at once, while the walk and the hashing of
  /// others go on. A run whose files are all published starts none.
  private func warmUp(_ expected: AsyncStream<Void>, atMost jobs: Int) async {
    await withDiscardingTaskGroup { group in
      var left = jobs
      for await _ in expected {
        group.addTask { await services.prober.warmUp(for: 1) }
        left -= 1
        if left == 0 { return }
      }
    }
  }

  // MARK: The walk

  private func feed(_ walk: SourceWalk, into feed: AsyncChannel<NumberedItem>, _ brake: RunBrake) async {
    var scan = ScanCount()
    while !brake.isPressed, !Task.isCancelled {
      let items = await services.disk.run { walk.next(upTo: 64) }
      if items.isEmpty {
        scan.isComplete = true
        break
      }
      let numbered = items.compactMap { scan.count($0) }
      if !options.countsAhead { hub.emit(.runScanned(scan.facts)) }
      for item in numbered where !brake.isPressed { await feed.send(item) }
    }
    if !options.countsAhead { hub.emit(.runScanned(scan.facts)) }
    feed.finish()
  }

  /// Tells how much there is, while others work on it.
  private func count(_ walk: SourceWalk, _ brake: RunBrake) async {
    var scan = ScanCount()
    while !brake.isPressed, !Task.isCancelled {
      let items = await services.disk.run { walk.next(upTo: 256) }
      for item in items { _ = scan.count(item) }
      scan.isComplete = items.isEmpty
      hub.emit(.runScanned(scan.facts))
      if items.isEmpty { return }
    }
  }

  // MARK: The jobs

  private func work(through feed: AsyncChannel<NumberedItem>, _ intake: FileIntake, _ brake: RunBrake) async {
    for await item in feed {
      if brake.isPressed { continue }
      if let pressed = await end(item, intake) { brake.press(pressed) }
      if brake.isAborted { return }
    }
  }

  /// Takes the file through its steps and tells its one terminal event. Gives the end of the run, when the
  /// file's end is that too.
  private func end(_ item: NumberedItem, _ intake: FileIntake) async -> RunEnding? {
    let file = item.file
    hub.emit(.fileStarted(file, size: item.size))
    do throws(StepFailure) {
      switch try await intake.takeIn(try item.candidate(), as: file) {
      case .published(let post):
        await note(nil, file)
        hub.emit(.postPublished(file, post))
        services.onStep(.told)
        await services.catalog.announced([post.id])
      case .duplicate(let post):
        await note(nil, file)
        hub.emit(.fileDuplicate(file, FileDuplicate(post: post)))
      case .planned(let plan): hub.emit(.filePlanned(file, plan))
      }
      return nil
    } catch {
      return await tell(error, of: file)
    }
  }

  private func tell(_ failure: StepFailure, of file: FileReference) async -> RunEnding? {
    switch failure {
    case .refused(let refusal):
      await note(record(code: refusal.code, refusal.message, refused: true), file)
      hub.emit(.fileRefused(file, refusal))
      return nil
    case .failed(let failure):
      if !failure.isCancellation {
        await note(record(code: failure.code, failure.message, refused: false), file)
      }
      hub.emit(.fileFailed(file, failure))
      return options.onError == .stop && !failure.isCancellation ? .stopped : nil
    case .endsTheRun(let failure):
      hub.emit(.fileFailed(file, failure))
      return .aborted(failure)
    }
  }

  // MARK: What `reel status` shows

  private func record(code: String, _ message: String, refused: Bool) -> FailureRecord {
    FailureRecord(code: code, message: message, refused: refused, at: services.clock.now())
  }

  private func note(_ record: FailureRecord?, _ file: FileReference) async {
    guard !options.dryRun else { return }
    await services.catalog.remember(record, at: absolute(file.path))
  }

  private func absolute(_ path: SourcePath) -> SourcePath {
    guard let folder = options.workingDirectory, path.bytes.first != UInt8(ascii: "/") else { return path }
    return folder.appending(path.bytes)
  }
}
