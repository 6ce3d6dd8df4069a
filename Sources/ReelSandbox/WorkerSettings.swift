import ReelModel
import ReelWire

/// How a pool's workers are started and treated.
struct WorkerSettings: Sendable {
  var location: WorkerLocation
  var isolation: IsolationRequest
  var limits: ProbeLimits
  /// For one file, from the moment that its descriptor is handed over.
  var deadline: Duration
  /// For a worker's first word.
  var startDeadline: Duration
  /// After so many files a worker retires.
  var filesPerWorker: Int

  /// What a started worker is told.
  var start: WorkerStart {
    WorkerStart(
      role: role, memory: min(max(limits.memory, 1 << 20), 1 << 40),
      processorSeconds: min(max(limits.processorSeconds, 1), 86_400))
  }

  /// What a worker is asked about a file. Its own deadline is a little before ours, so that what is slow without
  /// being stuck ends with an answer instead of a dead worker.
  func request(size: Int64, container: MediaContainer) -> ReadRequest {
    ReadRequest(
      size: size, container: container, byteBudget: max(1, limits.bytes),
      milliseconds: Int(clamping: max(1, min(86_400_000, (deadline * 0.9).wholeMilliseconds))))
  }

  /// Gives `worker` the processor time of one more file; false when that could not be had.
  func letsReadOn(_ worker: Worker) -> Bool {
    isolation == .none || worker.process.allow(processorSeconds: limits.processorSeconds)
  }

  private var role: WorkerStart.Role {
    switch isolation {
    case .auto: .confined
    case .strict: .nursery
    case .none: .unconfined
    }
  }
}
