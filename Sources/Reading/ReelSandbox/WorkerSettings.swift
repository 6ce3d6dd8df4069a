import ReelCore
import ReelWire

/// How far the reading of strangers' files is confined (`--isolation`).
public enum IsolationRequest: String, Codable, Sendable, CaseIterable {
  /// As far as the kernel can: what that is, is recorded with each post.
  case auto
  /// Landlock and system call filter both, and a fresh process for each file; refuses to run with less.
  case strict
  /// Not at all, for debugging.
  case none
}

/// How much the reading of one file may cost.
public struct ProbeLimits: Hashable, Sendable {
  /// Bytes of address space beyond what the reader and its libraries take.
  public var memory: Int64
  /// Bytes that may be read from the file, each reading of the same byte counted.
  public var bytes: Int64
  /// Seconds of processor time.
  public var processorSeconds: Int

  /// - Parameters: as the properties.
  public init(memory: Int64 = 512 << 20, bytes: Int64 = 512 << 20, processorSeconds: Int = 10) {
    self.memory = memory
    self.bytes = bytes
    self.processorSeconds = processorSeconds
  }
}

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
  /// What has run for so long is replaced: until then it has the FFmpeg that was installed when it started.
  var greatestAge = Duration.seconds(3600)
  /// Whether what is started is a fork server.
  var forks = false
  /// Whether some of those that it forks write files.
  var mends = false
  /// Whether every packet of a file is read.
  var isThorough = false

  /// What a process is told that is started, not forked.
  var start: WorkerStart {
    WorkerStart(
      role: role, memory: min(max(limits.memory, 1 << 20), 1 << 40),
      // What is forked has limits of its own.
      processorSeconds: mends ? 86_400 : fork(.reading).processorSeconds)
  }

  /// What a worker is asked about a file. Its own deadline is a little before ours, so that what is slow without
  /// being stuck ends with an answer instead of a dead worker.
  func request(size: Int64, container: MediaContainer) -> ReadRequest {
    ReadRequest(
      size: size, container: container, byteBudget: max(1, limits.bytes),
      milliseconds: Int(clamping: max(1, min(86_400_000, (deadline * 0.9).wholeMilliseconds))),
      isThorough: isThorough)
  }

  /// What a fork server is asked for.
  func fork(_ purpose: ForkRequest.Purpose) -> ForkRequest {
    ForkRequest(purpose, processorSeconds: min(max(limits.processorSeconds, 1), 86_400))
  }

  /// Gives `worker` the processor time of one more file; false when that could not be had, or it is too old.
  func letsReadOn(_ worker: Worker) -> Bool {
    guard .now - worker.birth < greatestAge else { return false }
    return isolation == .none || worker.process.allow(processorSeconds: limits.processorSeconds)
  }

  private var role: WorkerStart.Role {
    switch isolation {
    case .none: .unconfined
    case .auto, .strict: !forks ? .confined : mends ? .mendingForkServer : .forkServer
    }
  }
}
