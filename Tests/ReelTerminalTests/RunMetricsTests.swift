import FoundationEssentials
import ReelCore
import ReelIngest
import ReelTerminal
import Testing

@Suite struct RunMetricsTests {
  private func metrics(_ change: (inout IngestState) -> Void = { _ in }) -> RunMetrics {
    var state = IngestState()
    state.phase = .running
    change(&state)
    return RunMetrics(
      run: "r", state: state, startedAt: Date(timeIntervalSince1970: 1_700_000_000),
      now: Date(timeIntervalSince1970: 1_700_000_001.5), stages: [.probe: 1.25, .copy: 0.0004],
      replacedWorkers: 2)
  }

  private func lines(_ metrics: RunMetrics) -> Set<Substring> {
    Set(metrics.text().split(separator: "\n"))
  }

  @Test func aRunningOne() {
    let lines = lines(
      metrics { state in
        (state.found, state.published, state.failed, state.refused) = (20, 9, 2, 1)
        state.reasons = ["corrupt": 2, "policy": 1]
        state.publishedBytes = 5_000_000_000
        state.inFlight = [FileInFlight(file: Samples.file, size: 1, step: .reading)]
      })
    let expected = [
      "reel_run_files_total{run=\"r\",end=\"published\"} 9",
      "reel_run_files_total{run=\"r\",end=\"failed\"} 2",
      "reel_run_files_total{run=\"r\",end=\"duplicate\"} 0",
      "reel_run_problems_total{run=\"r\",code=\"corrupt\"} 2",
      "reel_run_published_bytes_total{run=\"r\"} 5000000000", "reel_run_queue_files{run=\"r\"} 7",
      "reel_run_in_flight_files{run=\"r\"} 1",
      "reel_run_stage_seconds_total{run=\"r\",stage=\"probe\"} 1.25",
      "reel_run_stage_seconds_total{run=\"r\",stage=\"copy\"} 0",
      "reel_run_workers_restarted_total{run=\"r\"} 2", "reel_run_running{run=\"r\"} 1",
      "reel_run_start_timestamp_seconds{run=\"r\"} 1700000000",
      "reel_run_update_timestamp_seconds{run=\"r\"} 1700000001.5",
    ]
    for line in expected { #expect(lines.contains(line[...]), "\(line)") }
    #expect(!lines.contains { $0.hasPrefix("reel_run_outcome") })
  }

  @Test func oneThatHasEnded() {
    let lines = lines(metrics { $0.phase = .finished(RunSummary(outcome: .stopped)) })
    #expect(
      lines.contains("reel_run_outcome{run=\"r\",outcome=\"stopped\"} 1")
        && lines.contains("reel_run_running{run=\"r\"} 0"))
    // A family without samples has no header either.
    #expect(!lines.contains { $0.contains("reel_run_problems_total") })
  }

  /// As `promtool check metrics` requires, each family is described once, before its consecutive samples.
  @Test func theFormIsThatOfPrometheus() throws {
    let text = metrics { $0.reasons = ["a\"b\\\nc": 1] }.text()
    #expect(text.hasSuffix("\n") && !text.contains("\n\n"))
    var described: [Substring] = []
    for line in text.split(separator: "\n") {
      let words = line.split(separator: " ")
      if words[0] == "#", words[1] == "HELP" {
        #expect(!described.contains(words[2]) && words.count > 3)
        described.append(words[2])
      } else if words[0] == "#" {
        #expect(words[1] == "TYPE" && words[2] == described.last)
        #expect((words[3] == "counter") == words[2].hasSuffix("_total"), "\(line)")
      } else {
        let sample = try #require(
          try #/^([a-z_]+)\{run="r"(,[a-z]+="([^"\\\n]|\\["\\n])*")?\} ([0-9.]+)$/#.wholeMatch(in: line),
          "\(line)")
        #expect(sample.1 == described.last, "\(line)")
      }
    }
    #expect(described.count > 15)
  }
}
