import FoundationEssentials
import ReelCore
import ReelIngest

/// Writes what happens in a run to stderr, a line each (`--log-level`).
package struct RunLog: Sendable {
  private let level: LogLevel

  /// - Parameter level: of what is told at least.
  package init(_ level: LogLevel) { self.level = level }

  /// Whether it tells every file that failed or was refused, and every warning.
  package var tellsProblems: Bool { level <= .warning }

  /// Whether it tells that a file ended so.
  package func tells(_ result: PublishResult) -> Bool {
    switch result {
    case .failed: true
    case .refused: level <= .warning
    case .published, .duplicate, .removed, .planned, .cancelled: level <= .info
    }
  }

  package func write(_ line: LogLine) {
    guard line.level >= level else { return }
    // A run goes on where nobody reads its log.
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
