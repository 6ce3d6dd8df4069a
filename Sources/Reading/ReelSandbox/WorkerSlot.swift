import ReelCore
import ReelWire

/// A place in the pool, which reads one file at a time with its current worker.
///
/// `@unchecked Sendable`: only the caller to whom the ``WorkerPool`` has lent the slot touches its worker, and the
/// pool lends it to one caller at a time.
final class WorkerSlot: @unchecked Sendable {
  private let settings: WorkerSettings
  private let losses: WorkerLosses
  private let source: any WorkerSource

  init(_ starter: WorkerStarter, _ server: ForkServer?) {
    settings = starter.settings
    losses = starter.losses
    source =
      if let server, settings.isolation == .strict { FreshWorkers(settings, server) } else {
        PersistentWorker(starter, server)
      }
  }

  /// Starts the worker before there is a file for it, and returns its version. Blocks.
  func prepare(_ cancellation: CancellationFlag) throws(ProbeError) -> ReaderVersion {
    try source.prepare(cancellation)
  }

  /// Returns how strictly a worker is confined. Blocks while one starts.
  func isolation(_ cancellation: CancellationFlag) throws(ProbeError) -> IsolationLevel {
    let ready = try source.worker(alone: false, cancellation)
    source.takeBack(ready, sound: true)
    return ready.hello.isolation
  }

  /// Reads a file. Blocks.
  ///
  /// If a worker does not survive a file, or if a worker that has read other files reports it unreadable, the file
  /// is read once more, alone, in a fresh worker: an earlier file may have corrupted the first one.
  ///
  /// - Parameters:
  ///   - patience: How long the reading may take before `postpones` is called, once. A worker that has not had its
  ///     share of processor time meanwhile gets eight times as long.
  ///   - postpones: Returns whether to abandon the reading, which ends its worker.
  /// - Returns: Nil if the reading was abandoned.
  func read(
    _ job: ReadJob, for patience: Duration? = nil, postpones: () -> Bool = { false }
  ) throws(ProbeError) -> ProbeReport? {
    var current = try begin(job, .shared)
    var patience = patience
    var waits = 0
    while true {
      guard let outcome = current.outcome(until: patience.map { .now + $0 }) else {
        waits += 1
        if waits < 8, let patience, !current.hasUsed(patience / 2) { continue }
        patience = nil
        guard postpones() else { continue }
        current.abandon()
        losses.add()
        source.takeBack(current.reader, sound: false)
        return nil
      }
      switch outcome {
      case .report(let report):
        source.takeBack(current.reader, sound: current.attempt != .suspect)
        return report
      case .withheld(let error):
        source.takeBack(current.reader, sound: current.attempt != .suspect)
        throw error
      case .failure(let error) where current.worker.files == 1:
        source.takeBack(current.reader, sound: current.attempt != .suspect)
        throw error
      case .failure:
        current = try begin(job, .alone)
      case .loss(let error):
        if error.code != .cancelled { losses.add() }
        source.takeBack(current.reader, sound: false)
        guard current.attempt == .shared, error.deservesAnotherReader else { throw error }
        current = try begin(job, .suspect)
      }
    }
  }

  /// Has pictures made by a fresh worker, which then ends. Blocks.
  func pictures(_ job: PictureJob) throws(PosterError) -> (PictureReply, [UInt8]) {
    let reader = try rethrowing(as: PosterError.init) { () throws(ProbeError) in
      try source.workerForPictures(job.cancellation)
    }
    return try PictureExchange(job: job, worker: reader.worker, settings: settings).run()
  }

  private func begin(_ job: ReadJob, _ attempt: Exchange.Attempt) throws(ProbeError) -> Exchange {
    guard !job.cancellation.isSet else { throw .cancelled }
    let reader = try source.worker(alone: attempt != .shared, job.cancellation)
    return try Exchange(of: job, with: reader, attempt, settings)
  }
}
