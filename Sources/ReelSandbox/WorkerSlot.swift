import ReelCore
import Synchronization

/// One place in the pool: reads one file at a time, with whatever worker it has.
///
/// `@unchecked Sendable`: its worker and its exchange are touched only by whoever the ``WorkerPool`` has lent the slot
/// to, and the pool lends it to one at a time.
final class WorkerSlot: @unchecked Sendable {
  private let settings: WorkerSettings
  private let source: any WorkerSource
  /// What a worker was sent and has not answered yet.
  private var exchange: Exchange?

  init(_ starter: WorkerStarter, _ server: ForkServer?) {
    settings = starter.settings
    source =
      if let server, settings.isolation == .strict { FreshWorkers(server) } else {
        PersistentWorker(starter, server)
      }
  }

  /// Starts the worker before there is a file for it. Blocks.
  func prepare(_ cancellation: CancellationFlag) throws(ProbeError) -> ReaderVersion {
    try source.prepare(cancellation)
  }

  /// Reads a file, or reads on. Blocks; nil when it took longer than `patience`, to be called again.
  ///
  /// A file that its worker did not survive, or that one says can't be read which has read others before, is read once
  /// more, alone, in a fresh worker: what an earlier file left behind in the first one may have been the cause.
  func read(_ job: ReadJob, for patience: Duration?) throws(ProbeError) -> ProbeReport? {
    var current = if let exchange { exchange } else { try begin(job, .shared) }
    exchange = nil
    let end = patience.map { ContinuousClock.now + $0 }
    while true {
      guard let outcome = current.outcome(until: end) else {
        exchange = current
        return nil
      }
      switch outcome {
      case .report(let report):
        source.takeBack(current.reader, sound: current.attempt != .suspect)
        return report
      case .failure(let error) where current.worker.files == 1:
        source.takeBack(current.reader, sound: current.attempt != .suspect)
        throw error
      case .failure:
        current = try begin(job, .alone)
      case .loss(let error):
        source.takeBack(current.reader, sound: false)
        guard current.attempt == .shared, error.deservesAnotherReader else { throw error }
        current = try begin(job, .suspect)
      }
    }
  }

  /// Reads a file, or reads on, to its end. Blocks.
  func read(_ job: ReadJob) throws(ProbeError) -> ProbeReport {
    while true {
      if let report = try read(job, for: nil) { return report }
    }
  }

  /// The file that is being read is not wanted any more.
  func abandon() {
    exchange?.abandon()
    exchange = nil
  }

  private func begin(_ job: ReadJob, _ attempt: Exchange.Attempt) throws(ProbeError) -> Exchange {
    guard !job.cancellation.isSet else { throw .cancelled }
    let reader = try source.worker(alone: attempt != .shared, job.cancellation)
    return try Exchange(of: job, with: reader, attempt, settings)
  }
}

/// A file that has a slot of the pool, until it was read or is given up.
final class PooledReading: PendingProbe {
  private let job: ReadJob
  private let pool: WorkerPool
  private let slot: WorkerSlot
  private let isOver = Atomic(false)

  /// Blocks for a slot.
  init(_ job: ReadJob, in pool: WorkerPool) throws(ProbeError) {
    guard let slot = pool.take(job.cancellation) else { throw .cancelled }
    self.job = job
    self.pool = pool
    self.slot = slot
  }

  deinit {
    if isOver.load(ordering: .acquiring) { return }
    slot.abandon()
    pool.giveBack(job.cancellation)
  }

  func progress(within patience: Duration?) throws(ProbeError) -> ProbeProgress {
    guard let patience else { return .done(try finish()) }
    do throws(ProbeError) {
      guard let report = try slot.read(job, for: patience) else {
        return pool.setAside(job.cancellation) ? .pending(self) : .done(try finish())
      }
      end()
      return .done(report)
    } catch {
      end()
      throw error
    }
  }

  func finish() throws(ProbeError) -> ProbeReport {
    guard !isOver.exchange(true, ordering: .acquiringAndReleasing) else { throw .cancelled }
    defer { pool.giveBack(job.cancellation) }
    return try slot.read(job)
  }

  private func end() {
    isOver.store(true, ordering: .releasing)
    pool.giveBack(job.cancellation)
  }
}
