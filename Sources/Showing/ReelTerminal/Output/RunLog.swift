import FoundationEssentials
import ReelCore
import ReelIngest

/// Writes the events of a run to stderr, one line each (`--log-level`).
package struct RunLog: Sendable {
  private let level: LogLevel

  /// - Parameter level: the lowest level that is logged.
  package init(_ level: LogLevel) { self.level = level }

  /// Whether every failed or refused file, and every warning, is logged.
  package var tellsProblems: Bool { level <= .warning }

  /// Whether the end of a file with this result is logged.
  package func tells(_ result: PublishResult) -> Bool {
    switch result {
    case .failed: true
    case .refused: level <= .warning
    case .published, .duplicate, .removed, .planned, .cancelled: level <= .info
    }
  }

  package func write(_ line: LogLine) {
    guard line.level >= level else { return }
    // The run continues even if its log can't be written.
    try? OutputStream.standardError.write(line.text(at: Date()))
  }

  /// Writes until the run's end.
  package func write(_ events: IngestEvents) async {
    let queue = BlockingQueue(label: "reel.log", width: 1)
    for await batch in events.batches() {
      let text = batch.compactMap { event in
        LogLine(event).flatMap { $0.level >= level ? $0.text(at: event.at) : nil }
      }.joined()
      if !text.isEmpty { await queue.run { try? OutputStream.standardError.write(text) } }
    }
  }
}
