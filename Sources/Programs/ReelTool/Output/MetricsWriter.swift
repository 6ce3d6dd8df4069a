import FoundationEssentials
import ReelCore
import ReelIngest
import ReelSandbox
import ReelTerminal
import Synchronization

/// Adds up what the stages of a run take.
final class StageTimes: Sendable {
  private let times = Mutex<[IntakeStage: Duration]>([:])

  func add(_ stage: IntakeStage, _ time: Duration) {
    times.withLock { $0[stage, default: .zero] += time }
  }

  var seconds: [IntakeStage: Double] { times.withLock { $0.mapValues { $0 / .seconds(1) } } }
}

/// Writes the numbers of a run to a file (`--metrics`), now and then and at the end, each time as a whole.
struct MetricsWriter: Sendable {
  let path: String
  private let times: StageTimes
  private let prober: SandboxedProber
  private let startedAt = Date()
  /// Of the folders that are watched.
  var watched: @Sendable () -> WatchNumbers? = { nil }

  private static let interval = Duration.seconds(15)

  init(path: String, times: StageTimes, prober: SandboxedProber) {
    self.path = path
    self.times = times
    self.prober = prober
  }

  /// The file's name without its ending.
  private var run: String {
    let name = path.split(separator: "/").last ?? ""
    return String(name.hasSuffix(".prom") ? name.dropLast(5) : name)
  }

  /// - Throws: ``CommandFailure`` when it can't be written.
  func write(_ state: IngestState) throws {
    var metrics = RunMetrics(
      run: run, state: state, startedAt: startedAt, now: Date(), stages: times.seconds,
      replacedWorkers: prober.replacedWorkers)
    metrics.watch = watched()
    let file = try WholeFile(at: path)
    try file.write(metrics.text())
    try file.finish(durably: false)
  }

  /// What could not be written at the end is told; how the run went is told all the same.
  func writeLast(_ state: IngestState) {
    do { try write(state) } catch { CommandFailure(error)?.tell() }
  }

  /// Writes until cancelled. A file that can't be written now may be later; the last writing tells.
  func write(_ model: IngestModel) async {
    while (try? await Task.sleep(for: Self.interval)) != nil { try? write(await model.state) }
  }
}
