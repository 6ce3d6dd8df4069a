import AsyncAlgorithms
import ReelModel
import ReelSource
import ReelSystem

/// One run. The walk goes ahead by a batch, and so does looking up what is known; the reception ends that; the others
/// are taken through their steps, each in a task of its own. Between the stages nothing piles up: each waits until the
/// next has room.
struct IngestPipeline: Sendable {
  let services: IngestServices
  let options: IngestOptions
  let hub: EventHub

  /// Names in a batch of the walk.
  private static let batch = 256
  /// How many files of each job may wait for the disk.
  private static let waitingForEachJob = 32
  /// Threads beyond those of the jobs, for the copies.
  private static let moreThreads = 4

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

  /// The events have been passed on.
  func acknowledge(_ events: [IngestEvent]) async {
    guard options.isAcknowledged else { return }
    let told = events.compactMap { event in
      if case .postPublished(_, let post) = event.body { post.id } else { nil }
    }
    await services.catalog.announced(told)
  }

  private func takeAllIn(_ makeWalk: () -> SourceWalk) async -> RunEnding {
    let brake = RunBrake()
    let teller = FileTeller(services: services, options: options, hub: hub)
    let (expected, expectation) = AsyncStream.makeStream(
      of: Void.self, bufferingPolicy: .bufferingOldest(jobs))
    let threads = BlockingThreads(label: "reel.ingest", count: jobs + Self.moreThreads)
    let intake = FileIntake(
      services: services, options: options, hub: hub, threads: threads, isOver: { brake.isPressed },
      expectReading: { expectation.yield() })
    let reception = Reception(intake: intake, teller: teller)
    do throws(StepFailure) {
      try await prepare()
    } catch {
      return .aborted(error.failure)
    }
    let found = AsyncChannel<[NumberedItem]>()
    let recalled = AsyncChannel<Reception.Recalled>()
    let remembered = AsyncChannel<Reception.Remembered>()
    let admitted = AsyncChannel<Reception.Admitted>()
    let (walk, ahead) = (makeWalk(), options.countsAhead ? makeWalk() : nil)
    async let warming: Void = warmUp(expected, atMost: jobs)
    await withTaskGroup { group in
      group.addTask { await scan(walk, into: found, brake) }
      if let ahead { group.addTask { await count(ahead, brake) } }
      group.addTask {
        await pass(found, into: recalled, brake) { items async throws(StepFailure) in
          try await reception.recall(items)
        }
      }
      group.addTask {
        await pass(recalled, into: remembered, brake) { batch async throws(StepFailure) in
          try await reception.remember(batch)
        }
      }
      group.addTask(executorPreference: threads) {
        await receive(remembered, reception, into: admitted, brake)
      }
      for _ in 0..<window {
        group.addTask(executorPreference: threads) { await work(through: admitted, intake, teller, brake) }
      }
      for await _ in group where brake.isAborted { group.cancelAll() }
    }
    expectation.finish()
    await warming
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
      try services.prober.checkInstallation()
    } catch {
      throw StepFailure(error)
    }
  }

  private var jobs: Int { max(1, options.jobs) }

  /// Files in flight at once. Each holds a folder, a source and a copy open.
  private var window: Int {
    guard services.uploader.traits.waitsTogether, options.onError == .continue, !options.dryRun else {
      return jobs
    }
    return max(jobs, min(jobs * Self.waitingForEachJob, Descriptor.limit / 6))
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

  private func scan(_ walk: SourceWalk, into found: AsyncChannel<[NumberedItem]>, _ brake: RunBrake) async {
    defer { found.finish() }
    var scan = ScanCount()
    while !brake.isPressed, !Task.isCancelled, !scan.isComplete {
      let items = await services.disk.run { walk.next(upTo: Self.batch) }
      scan.isComplete = items.isEmpty
      let numbered = items.compactMap { scan.count($0) }
      if !options.countsAhead { hub.emit(.runScanned(scan.facts)) }
      if !numbered.isEmpty { await found.send(numbered) }
    }
  }

  /// Tells how much there is, while others work on it.
  private func count(_ walk: SourceWalk, _ brake: RunBrake) async {
    var scan = ScanCount()
    while !brake.isPressed, !Task.isCancelled {
      let items = await services.disk.run { walk.next(upTo: Self.batch) }
      for item in items { _ = scan.count(item) }
      scan.isComplete = items.isEmpty
      hub.emit(.runScanned(scan.facts))
      if items.isEmpty { return }
    }
  }

  // MARK: The reception

  /// A step of the reception, batch by batch.
  private func pass<Batch: Sendable, Looked: Sendable>(
    _ batches: AsyncChannel<Batch>, into next: AsyncChannel<Looked>, _ brake: RunBrake,
    _ step: (Batch) async throws(StepFailure) -> Looked
  ) async {
    defer { next.finish() }
    do throws(StepFailure) {
      for await batch in batches where !brake.isPressed && !Task.isCancelled {
        await next.send(try await step(batch))
      }
    } catch {
      // One that was cancelled ends because the run does.
      if !error.failure.isCancellation { brake.press(.aborted(error.failure)) }
    }
  }

  private func receive(
    _ remembered: AsyncChannel<Reception.Remembered>, _ reception: Reception,
    into admitted: AsyncChannel<Reception.Admitted>, _ brake: RunBrake
  ) async {
    defer { admitted.finish() }
    for await batch in remembered where !brake.isPressed && !Task.isCancelled {
      await hub.observersToCatchUp()
      for one in await reception.receive(batch) where !brake.isPressed { await admitted.send(one) }
    }
  }

  // MARK: The files

  private func work(
    through admitted: AsyncChannel<Reception.Admitted>, _ intake: FileIntake, _ teller: FileTeller,
    _ brake: RunBrake
  ) async {
    for await one in admitted {
      if brake.isPressed { continue }
      if let pressed = await end(one, intake, teller) { brake.press(pressed) }
      if brake.isAborted { return }
    }
  }

  /// Takes the file through its steps and tells its one terminal event. Gives the end of the run, when the
  /// file's end is that too.
  private func end(_ one: Reception.Admitted, _ intake: FileIntake, _ teller: FileTeller) async -> RunEnding?
  {
    let file = one.item.file
    let found: FoundFile
    do throws(StepFailure) {
      found = try one.item.candidate()
    } catch {
      hub.emit(.fileStarted(file, size: one.item.size))
      return await teller.tell(error, of: file)
    }
    do throws(StepFailure) {
      if let ending = try await intake.takeIn(found, known: one.known, as: file) {
        await teller.tell(ending, of: file)
      }
      return nil
    } catch {
      return await teller.tell(error, of: file)
    }
  }
}
