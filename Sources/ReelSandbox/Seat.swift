import ReelModel

/// One place in the pool: reads one file at a time, with whatever worker it has.
///
/// `@unchecked Sendable`: its worker is touched only by whoever the ``SeatLine`` has given the seat to, and the line
/// gives it to one at a time.
final class Seat: @unchecked Sendable {
  private let settings: WorkerSettings
  private let source: any WorkerSource

  init(_ starter: WorkerStarter) {
    settings = starter.settings
    source = starter.settings.isolation == .strict ? FreshWorkers(starter) : KeptWorker(starter)
  }

  /// Starts the worker before there is a file for it. Blocks.
  func prepare(_ interruption: Interruption) throws(ProbeError) -> ReaderVersion {
    try source.prepare(interruption)
  }

  /// Reads a file. Blocks.
  ///
  /// A file that its worker did not survive is read once more, alone, in a fresh worker, before it is called the
  /// culprit: what an earlier file left behind in the first one may have been the cause.
  func read(_ job: ReadJob) throws(ProbeError) -> ProbeReport {
    switch try attempt(job, alone: false) {
    case .report(let report): return report
    case .failure(let error): throw error
    case .loss(let error) where !error.deservesAnotherReader: throw error
    case .loss: break
    }
    switch try attempt(job, alone: true) {
    case .report(let report): return report
    case .failure(let error), .loss(let error): throw error
    }
  }

  private func attempt(_ job: ReadJob, alone: Bool) throws(ProbeError) -> ReadOutcome {
    let worker = try source.worker(alone: alone, job.interruption)
    let outcome = job.read(by: worker, settings)
    switch outcome {
    case .report, .failure: source.takeBack(worker, sound: !alone)
    case .loss: source.takeBack(worker, sound: false)
    }
    return outcome
  }
}
