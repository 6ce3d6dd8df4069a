import FoundationEssentials
import ReelCore
import ReelIngest
import ReelTerminal

/// Writes what happens in a run to stderr, a line each (`--log-level`).
struct RunLog: Sendable {
  private let level: LogLevel

  /// Nil where nothing is logged.
  init?(_ settings: Settings) {
    guard let level = settings.logLevel else { return nil }
    self.level = level
  }

  /// Whether it tells every file that failed or was refused, and every warning.
  var tellsProblems: Bool { level <= .warning }

  /// Whether it tells that a file ended so.
  func tells(_ result: PublishResult) -> Bool {
    switch result {
    case .failed: true
    case .refused: level <= .warning
    case .published, .duplicate, .removed, .planned, .cancelled: level <= .info
    }
  }

  func write(_ line: LogLine) {
    guard line.level >= level else { return }
    // A run goes on where nobody reads its log.
    try? OutputStream.standardError.write(line.text(at: Date()))
  }

  /// Writes until the run's end.
  func write(_ events: IngestEvents) async {
    let queue = BlockingQueue(label: "reel.log", width: 1)
    for await batch in events.batches() {
      let text = batch.compactMap { event in
        LogLine(event).flatMap { $0.level >= level ? $0.text(at: event.at) : nil }
      }.joined()
      if !text.isEmpty { await queue.run { try? OutputStream.standardError.write(text) } }
    }
  }
}
