import FoundationEssentials
import ReelCore
import ReelIngest

/// The metrics of a run for Prometheus' node exporter (`--metrics`), in the text exposition format, version 0.0.4.
package struct RunMetrics: Sendable {
  /// The label `run` of every sample, which distinguishes this run from others in the collector's folder.
  package var run: String
  package var state: IngestState
  package var startedAt: Date
  package var now: Date
  /// The seconds spent in each stage, over all files.
  package var stages: [IntakeStage: Double]
  /// The number of readers that were replaced.
  package var replacedWorkers: Int
  /// The numbers of the watched folders; nil if none is watched.
  package var watch: WatchNumbers?

  package init(
    run: String, state: IngestState, startedAt: Date, now: Date, stages: [IntakeStage: Double],
    replacedWorkers: Int
  ) {
    self.run = run
    self.state = state
    self.startedAt = startedAt
    self.now = now
    self.stages = stages
    self.replacedWorkers = replacedWorkers
  }

  /// The metrics, with a newline after each line.
  package func text() -> String {
    (files + transfers + walk + watched + workers + life).filter { !$0.samples.isEmpty }.map { family in
      var family = family
      family.samples = family.samples.map { ([("run", run)] + $0.labels, $0.value) }
      return family.text
    }.joined()
  }

  // MARK: The families

  private typealias Family = MetricFamily

  private var files: [Family] {
    let ends = [
      ("published", state.published), ("duplicate", state.duplicates), ("removed", state.removed),
      ("planned", state.planned),
      ("refused", state.refused), ("failed", state.failedOrCancelled),
    ]
    let postponed = watch == nil ? [] : [("postponed", state.postponed.values.reduce(0, +))]
    return [
      Family(
        "reel_run_files_total", .counter, "Files that are finished, by how they ended.", by: "end",
        ends + postponed),
      Family(
        "reel_run_problems_total", .counter,
        "Files that failed, were refused or were postponed, by the reason's code.",
        by: "code",
        state.reasonsOfAll.merging(state.postponed, uniquingKeysWith: +).sorted { $0.key < $1.key }.map {
          ($0.key, $0.value)
        }),
      Family(
        "reel_run_posters_failed_total", .counter, "Videos published without a poster.", state.postersFailed),
    ]
  }

  private var transfers: [Family] {
    [
      Family(
        "reel_run_published_bytes_total", .counter, "Bytes of the videos that became posts.",
        state.publishedBytes),
      Family(
        "reel_run_done_bytes_total", .counter, "Bytes of the files that are finished.", state.doneBytes),
      Family(
        "reel_run_stage_seconds_total", .counter,
        "Seconds that files took, by stage; those of several files at once add up.", by: "stage",
        IntakeStage.allCases.map { ($0.rawValue, seconds(stages[$0] ?? 0)) }),
    ]
  }

  private var walk: [Family] {
    [
      Family("reel_run_found_files", .gauge, "Files to ingest that were found.", state.found),
      Family("reel_run_found_bytes", .gauge, "Bytes of the files that were found.", state.foundBytes),
      Family("reel_run_ignored_files", .gauge, "Files that were passed by.", state.ignored),
      Family(
        "reel_run_left_alone_files", .gauge, "Files that were left alone, as they had just been changed.",
        state.leftAlone),
      Family(
        "reel_run_scan_complete", .gauge, "Whether all files have been found (1) or not (0).",
        state.scanComplete ? 1 : 0),
      Family(
        "reel_run_queue_files", .gauge, "Files that were found and not begun.",
        max(0, state.found - state.done - state.inFlight.count)),
      Family("reel_run_in_flight_files", .gauge, "Files that are being worked on.", state.inFlight.count),
    ]
  }

  private var watched: [Family] {
    guard let watch else { return [] }
    return [
      Family("reel_watch_waiting_files", .gauge, "Files that are not settled yet.", watch.waiting),
      Family(
        "reel_watch_folder_present", .gauge, "Whether the watched folder is there (1) or not (0).",
        by: "folder",
        watch.folders.map { ($0.path, $0.isThere ? 1 : 0) }),
    ]
  }

  private var workers: [Family] {
    [
      Family(
        "reel_run_workers_restarted_total", .counter,
        "Reading processes that crashed or were ended at a file, and were replaced.", replacedWorkers)
    ]
  }

  private var life: [Family] {
    var outcome: [(String, Int)] = []
    if case .finished(let summary) = state.phase { outcome = [(summary.outcome.rawValue, 1)] }
    return [
      Family(
        "reel_run_running", .gauge, "Whether the run continues (1) or has ended (0).", outcome.isEmpty ? 1 : 0
      ),
      Family(
        "reel_run_outcome", .gauge, "How the run ended: 1 for its outcome.", by: "outcome", outcome),
      Family(
        "reel_run_start_timestamp_seconds", .gauge, "When the run began, in Unix time.",
        seconds(startedAt.timeIntervalSince1970)),
      Family(
        "reel_run_update_timestamp_seconds", .gauge, "When this was written, in Unix time.",
        seconds(now.timeIntervalSince1970)),
      Family(
        "reel_build_info", .gauge, "The version of Reel; always 1.", by: "version", [(ReelVersion.current, 1)]
      ),
    ]
  }

  /// Rounded to the millisecond.
  private func seconds(_ value: Double) -> String { Decimals.text(value) }
}

extension MetricFamily {
  fileprivate init(_ name: String, _ kind: Kind, _ help: String, _ value: some CustomStringConvertible) {
    self.init(name: name, kind: kind, help: help, samples: [([], "\(value)")])
  }

  /// - Parameter values: the values by label value.
  fileprivate init(
    _ name: String, _ kind: Kind, _ help: String, by label: String,
    _ values: [(String, some CustomStringConvertible)]
  ) {
    self.init(name: name, kind: kind, help: help, samples: values.map { ([(label, $0.0)], "\($0.1)") })
  }
}
