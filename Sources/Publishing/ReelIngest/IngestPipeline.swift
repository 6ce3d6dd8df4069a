import Dispatch
import ReelCore
import ReelSource

/// One run. A walk finds files and puts them into a bounded queue of batches. Lanes, each on its own thread, process
/// them. Once it has its intents, each batch continues in its own task.
struct IngestPipeline: Sendable {
  let services: IngestServices
  let options: IngestOptions
  let hub: EventHub

  /// The number of files per job that may be under way after the lanes.
  private static let waitingForEachJob = 32

  /// Runs to the end, or until the surrounding task is cancelled. Emits `run.started` first and `run.finished` last.
  ///
  /// - Parameter makeWalk: makes the walk; called again with true to count ahead.
  func run(_ makeWalk: @Sendable (Bool) -> any FileFeed) async -> RunSummary {
    let start = ContinuousClock.now
    hub.emit(.runStarted(RunStarted(destination: services.uploader.destination, dryRun: options.dryRun)))
    let ending = await takeAllIn(makeWalk)
    let elapsed = (ContinuousClock.now - start).components
    let seconds = Double(elapsed.seconds) + Double(elapsed.attoseconds) * 1e-18
    var summary = RunSummary(ending, of: hub.snapshot, seconds: seconds)
    if let wording = services.wording { summary.error = summary.error?.worded(wording) }
    hub.emit(.runFinished(summary))
    hub.finish()
    return summary
  }

  private func takeAllIn(_ makeWalk: (Bool) -> any FileFeed) async -> RunEnding {
    do {
      try await prepare()
    } catch {
      let failure = StepFailure(error).failure
      return failure.isCancellation ? .cancelled : .aborted(failure)
    }
    let stop = StopSignal()
    let queue = BatchQueue<[NumberedItem]>(capacity: 2 * jobs)
    let (walk, ahead) = (makeWalk(false), options.countsAhead ? makeWalk(true) : nil)
    // This also covers a run that a lane aborts: the walk may be waiting for a server.
    let walking = stop.cancellation.onSet {
      walk.cancel()
      ahead?.cancel()
      queue.close()
    }
    defer { stop.cancellation.clear(walking) }
    return await withTaskCancellationHandler {
      await withTaskGroup { group in
        let report = ScanReport(hub)
        group.addTask { await scan(walk, into: queue, stop, report) }
        if let ahead { group.addTask { await count(ahead, stop, report) } }
        group.addTask { await takeIn(queue, of: walk, stop) }
      }
      return stop.ending ?? (stop.cancellation.isSet ? .cancelled : .completed)
    } onCancel: {
      stop.cancellation.set()
    }
  }

  private func prepare() async throws {
    if !options.dryRun {
      try await services.uploader.prepare()
      try await services.recorder?.prepare()
    }
    try services.prober.checkInstallation()
  }

  /// At most 64, because libdispatch provides no more than 255 threads at once.
  private var jobs: Int { min(max(1, options.jobs), 64, max(1, options.maxInFlight ?? .max)) }

  // MARK: The walk

  private func scan(
    _ walk: any FileFeed, into queue: BatchQueue<[NumberedItem]>, _ stop: StopSignal, _ report: ScanReport
  ) async {
    defer { queue.close() }
    let thread = DispatchQueue(label: "reel.walk")
    var cutter = BatchCutter(jobs: jobs, most: mostInBatch)
    var scan = ScanCount()
    while !stop.isSet, !scan.isComplete {
      let items = await thread.run { walk.next(upTo: BatchCutter.most) { stop.isSet } }
      scan.isComplete = items.isEmpty
      let numbered = items.compactMap { scan.count($0.item, $0.ticket) }
      await warn(items.compactMap { MetadataWarning($0.item) })
      if scan.isComplete || !options.countsAhead { report.tell(scan.facts, isLast: scan.isComplete) }
      let batches = cutter.cut(numbered)
      if batches.isEmpty { continue }
      await hub.observersToCatchUp()
      await thread.run { for batch in batches where !stop.isSet { _ = queue.put(batch) } }
    }
    queue.close()
    guard let captions = options.captions else { return }
    let folders = ListedFolders()
    for start in stride(from: 0, to: captions.count, by: 256) where !stop.isSet {
      let missing = await thread.run { captions.missing(among: start..<start + 256, in: folders) }
      await warn(missing.map { MetadataWarning(missing: $0) })
    }
  }

  /// Emits the warnings and waits for slow observers: a list may have a million rows about missing files, and their
  /// warnings must not pile up.
  private func warn(_ warnings: [MetadataWarning]) async {
    guard !warnings.isEmpty else { return }
    hub.emit(warnings.map { .metadataWarning($0) })
    await hub.observersToCatchUp()
  }

  /// The number of files in a batch. A lane holds up to four descriptors for each file, and as many belong to files
  /// being stored and to files in the queue. Uploads that a store takes one by one are also begun one by one.
  private var mostInBatch: Int {
    guard options.onError == .continue else { return 1 }
    guard services.uploader.batches != nil || services.uploader.traits.isLatencyBound else { return 1 }
    let inFlight = (options.maxInFlight ?? .max) / (2 * jobs)
    let most = max(1, min(BatchCutter.most, (Descriptor.limit - 40) / (12 * jobs), inFlight))
    guard options.posters != .none else { return most }
    return max(1, min(most, Self.mostPosterPixels / (options.poster.size * options.poster.size)))
  }

  /// The total pixels of the posters in a batch, because a lane holds their JPEGs in memory.
  private static let mostPosterPixels = BatchCutter.most * 1024 * 1024

  /// Counts the files ahead, while the lanes work on them.
  private func count(_ walk: any FileFeed, _ stop: StopSignal, _ report: ScanReport) async {
    let thread = DispatchQueue(label: "reel.count")
    var scan = ScanCount()
    while !stop.isSet {
      let items = await thread.run { walk.next(upTo: 256) { stop.isSet } }
      for item in items { _ = scan.count(item.item) }
      scan.isComplete = items.isEmpty
      report.tell(scan.facts)
      if items.isEmpty { return }
    }
  }

  // MARK: The files

  private func takeIn(_ queue: BatchQueue<[NumberedItem]>, of feed: any FileFeed, _ stop: StopSignal) async {
    let context = IngestContext(
      services: services, options: options, hub: hub, stop: stop, feed: feed)
    let publisher = BatchPublisher(
      context: context, readers: BlockingQueue(label: "reel.slow-readers", width: max(2, jobs)),
      stores: BlockingQueue(label: "reel.stores", width: jobs),
      writers: BlockingQueue(label: "reel.writers", width: jobs))
    let tasks = PublishingTasks(
      publisher, limits, leavesSlowOnes: options.maxInFlight == nil && !feed.isEndless)
    let (expected, expectation) = AsyncStream.makeStream(
      of: Void.self, bufferingPolicy: .bufferingOldest(jobs))
    async let warming: Void = warmUp(expected)
    await withDiscardingTaskGroup { group in
      for number in 0..<jobs {
        group.addTask {
          await DispatchQueue(label: "reel.lane.\(number)").run {
            var lane = Lane(context: context, tasks: tasks) { expectation.yield() }
            lane.run(queue)
          }
        }
      }
    }
    expectation.finish()
    await tasks.end()
    await warming
  }

  /// How much may be under way after the lanes before they wait. Each file holds a folder, a source and a copy open.
  private var limits: PublishingTasks.Limits {
    // Each lane holds one batch, which it begins only if there is room.
    let most = max(1, (options.maxInFlight ?? .max) - jobs * mostInBatch + 1)
    guard options.onError == .continue else {
      return PublishingTasks.Limits(files: min(jobs, most), unstored: .max)
    }
    let files =
      services.uploader.traits.isLatencyBound
      ? min(jobs * Self.waitingForEachJob, Descriptor.limit / 6) : jobs
    return PublishingTasks.Limits(
      files: min(max(jobs, files), most),
      // Each lane's batch is stored while the lane reads the next one; the copies of an unstored batch are not on the
      // disk yet.
      unstored: services.uploader.batches == nil ? .max : jobs)
  }

  /// Starts readers for the first files that will have to be read, all at once, while the walk and the hashing
  /// continue. A run whose files are all published starts none.
  private func warmUp(_ expected: AsyncStream<Void>) async {
    await withDiscardingTaskGroup { group in
      var left = jobs
      for await _ in expected {
        group.addTask { await services.prober.warmUp(for: 1) }
        left -= 1
        if left == 0 { return }
      }
    }
  }
}

/// Cuts the files of the walk into batches: small ones first, so that a few files keep every lane busy, then as large
/// as pays off for one transaction. A large file gets a batch of its own.
struct BatchCutter {
  /// The largest number of files in a batch.
  static let most = 32
  /// The largest number of bytes in a batch of several files. It is too small for two copies that need reserved room:
  /// one of them would wait for the other to give its room back, and the other for the batch to end.
  private static let mostBytes = 2 * PrivateCopy.leastReserved - 1

  private let jobs: Int
  private let most: Int
  private var cut = 0

  /// - Parameter most: the largest number of files in a batch of this run, at most ``most``.
  init(jobs: Int, most: Int) {
    self.jobs = jobs
    self.most = most
  }

  mutating func cut(_ items: [NumberedItem]) -> [[NumberedItem]] {
    var batches: [[NumberedItem]] = []
    var batch: [NumberedItem] = []
    var bytes: Int64 = 0
    for item in items {
      let size = item.size ?? 0
      if !batch.isEmpty, batch.count >= largest || bytes.addingClamped(size) > Self.mostBytes {
        batches.append(batch)
        (batch, bytes) = ([], 0)
      }
      batch.append(item)
      bytes = bytes.addingClamped(size)
      cut += 1
    }
    return batch.isEmpty ? batches : batches + [batch]
  }

  private var largest: Int { min(most, 1 + cut / (4 * jobs)) }
}

extension DispatchQueue {
  /// Runs `body`, which may block, on the queue's thread.
  func run<Value: Sendable>(_ body: @escaping @Sendable () -> Value) async -> Value {
    await withCheckedContinuation { continuation in
      async { continuation.resume(returning: body()) }
    }
  }
}
