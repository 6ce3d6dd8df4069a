import ReelCore
import ReelWire

/// How strictly the reading of untrusted files is confined (`--isolation`).
public enum IsolationRequest: String, Codable, Sendable, CaseIterable {
  /// As strictly as the kernel allows; each post records what that was.
  case auto
  /// Both Landlock and a system call filter, and a fresh process for each file; refuses to run with less.
  case strict
  /// No confinement, for debugging.
  case none
}

/// The maximum cost of reading one file.
public struct ProbeLimits: Hashable, Sendable {
  /// Address space in bytes, beyond what the reader and its libraries occupy.
  public var memory: Int64
  /// How many bytes may be read from the file, counting repeated reads of the same byte.
  public var bytes: Int64
  /// Processor time in seconds.
  public var processorSeconds: Int

  /// Creates limits; see the properties.
  public init(memory: Int64 = 512 << 20, bytes: Int64 = 512 << 20, processorSeconds: Int = 10) {
    self.memory = memory
    self.bytes = bytes
    self.processorSeconds = processorSeconds
  }
}

/// How the workers of a pool are started and used.
struct WorkerSettings: Sendable {
  var location: WorkerLocation
  var isolation: IsolationRequest
  var limits: ProbeLimits
  /// The maximum time for one file, from when its descriptor is sent.
  var deadline: Duration
  /// The maximum time until a worker's first message.
  var startDeadline: Duration
  /// A worker is retired after this many files.
  var filesPerWorker: Int
  /// The age at which a process is replaced: until then it keeps using the FFmpeg that was installed when it
  /// started.
  var greatestAge = Duration.seconds(3600)
  /// Whether a fork server is started.
  var forks = false
  /// Whether some of the forked workers write files.
  var mends = false
  /// Whether every packet of a file is read.
  var isThorough = false

  /// The message to a process that is started rather than forked.
  var start: WorkerStart {
    WorkerStart(
      role: role, memory: min(max(limits.memory, 1 << 20), 1 << 40),
      // Forked workers have limits of their own.
      processorSeconds: mends ? 86_400 : fork(.reading).processorSeconds)
  }

  /// The request to a worker about a file. Its deadline is slightly earlier than ours, so that a slow but working
  /// reader ends with an answer rather than being killed.
  func request(size: Int64, container: MediaContainer) -> ReadRequest {
    ReadRequest(
      size: size, container: container, byteBudget: max(1, limits.bytes),
      milliseconds: Int(clamping: max(1, min(86_400_000, (deadline * 0.9).wholeMilliseconds))),
      isThorough: isThorough)
  }

  /// The request to a fork server.
  func fork(_ purpose: ForkRequest.Purpose) -> ForkRequest {
    ForkRequest(purpose, processorSeconds: min(max(limits.processorSeconds, 1), 86_400))
  }

  /// Allows `worker` the processor time for one more file; false if it is too old, or the limit could not be
  /// raised.
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
