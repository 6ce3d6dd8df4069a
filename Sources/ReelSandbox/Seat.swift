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
  func prepare(_ interruption: CancellationFlag) throws(ProbeError) -> ReaderVersion {
    try source.prepare(interruption)
  }

  /// Reads a file. Blocks.
  ///
  /// A file that its worker did not survive, or that one says can't be read which has read others before, is read once
  /// more, alone, in a fresh worker: what an earlier file left behind in the first one may have been the cause.
  func read(_ job: ReadJob) throws(ProbeError) -> ProbeReport {
    let first = try source.worker(alone: false, job.interruption)
    switch try job.read(by: first, settings) {
    case .report(let report):
      source.takeBack(first, sound: true)
      return report
    case .failure(let error) where first.worker.files == 1:
      source.takeBack(first, sound: true)
      throw error
    case .failure: return try readAlone(job, isSuspect: false)
    case .loss(let error):
      source.takeBack(first, sound: false)
      guard error.deservesAnotherReader else { throw error }
      return try readAlone(job, isSuspect: true)
    }
  }

  /// - Parameter isSuspect: whether a worker was lost over the file, so that no other file shares the next one with it.
  private func readAlone(_ job: ReadJob, isSuspect: Bool) throws(ProbeError) -> ProbeReport {
    let fresh = try source.worker(alone: true, job.interruption)
    switch try job.read(by: fresh, settings) {
    case .report(let report):
      source.takeBack(fresh, sound: !isSuspect)
      return report
    case .failure(let error):
      source.takeBack(fresh, sound: !isSuspect)
      throw error
    case .loss(let error):
      source.takeBack(fresh, sound: false)
      throw error
    }
  }
}
