import FoundationEssentials
import ReelIngest
import Synchronization

/// Adds up the time that the stages of a run take.
package final class StageTimes: Sendable {
  private let times = Mutex<[IntakeStage: Duration]>([:])

  package init() {}

  package func add(_ stage: IntakeStage, _ time: Duration) {
    times.withLock { $0[stage, default: .zero] += time }
  }

  package var seconds: [IntakeStage: Double] { times.withLock { $0.mapValues { $0 / .seconds(1) } } }
}

/// Writes the metrics of a run to a file (`--metrics`), periodically and at the end, each time replacing the whole
/// file.
package struct MetricsWriter: Sendable {
  package let path: String
  private let times: StageTimes
  private let replacedWorkers: @Sendable () -> Int
  private let startedAt = Date()
  /// The numbers of the watched folders.
  package var watched: @Sendable () -> WatchNumbers? = { nil }

  private static let interval = Duration.seconds(15)

  /// - Parameter replacedWorkers: returns the number of workers replaced so far.
  package init(path: String, times: StageTimes, replacedWorkers: @escaping @Sendable () -> Int) {
    (self.path, self.times, self.replacedWorkers) = (path, times, replacedWorkers)
  }

  /// The file's name without its extension.
  private var run: String {
    let name = path.split(separator: "/").last ?? ""
    return String(name.hasSuffix(".prom") ? name.dropLast(5) : name)
  }

  /// - Throws: ``OutputFailure`` if it can't be written.
  package func write(_ state: IngestState) throws {
    var metrics = RunMetrics(
      run: run, state: state, startedAt: startedAt, now: Date(), stages: times.seconds,
      replacedWorkers: replacedWorkers())
    metrics.watch = watched()
    let file = try WholeFile(at: path)
    try file.write(metrics.text())
    try file.finish(durably: false)
  }

  /// Writes periodically until cancelled. Errors are ignored, because a later write may succeed; the final write
  /// reports them.
  package func write(_ model: IngestModel) async {
    while (try? await Task.sleep(for: Self.interval)) != nil { try? write(await model.state) }
  }
}
