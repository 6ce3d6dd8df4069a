import ReelCore
import Synchronization

/// Limits how many readings are postponed at once. Each keeps its file open.
final class Postponements: Sendable {
  private let most: Int
  private let count = Mutex(0)

  init(most: Int) {
    self.most = most
  }

  /// Takes a place; false if none is free.
  func take() -> Bool {
    count.withLock { count in
      if count >= most { return false }
      count += 1
      return true
    }
  }

  func giveBack() {
    count.withLock { $0 -= 1 }
  }

  /// For tests.
  var taken: Int { count.withLock { $0 } }
}

/// A file that took too long: its reading was abandoned, and will start again when there is time for it.
final class PostponedProbe: PendingProbe {
  private let job: ReadJob
  private let pool: WorkerPool
  private let places: Postponements

  /// - Parameter places: Where one place has been taken for this probe.
  init(_ job: ReadJob, in pool: WorkerPool, of places: Postponements) {
    self.job = job
    self.pool = pool
    self.places = places
  }

  deinit {
    places.giveBack()
  }

  func finish() throws(ProbeError) -> ProbeReport {
    guard let report = try pool.read(job) else { throw .cancelled }
    return report
  }
}

extension WorkerPool {
  /// Reads a file in the next slot. Blocks. Nil if the reading was abandoned
  /// (``WorkerSlot/read(_:for:postpones:)``).
  func read(
    _ job: ReadJob, for patience: Duration? = nil, postpones: () -> Bool = { false }
  ) throws(ProbeError) -> ProbeReport? {
    guard let slot = take(job.cancellation) else { throw .cancelled }
    defer { giveBack(job.cancellation) }
    return try slot.read(job, for: patience, postpones: postpones)
  }
}
