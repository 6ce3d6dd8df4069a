import ReelIngest

/// How fast a run goes, as far as that can be told.
package struct RunThroughput: Hashable, Sendable {
  /// Bytes stored in a second; nil when unknown or when nothing is being stored.
  package var bytesPerSecond: Double?
  /// Files that have had their end in a second; nil when unknown.
  package var filesPerSecond: Double?
  /// Nil when unknown: the walk still goes on, or too little was seen.
  package var secondsLeft: Double?

  /// What is nil is unknown.
  package init(bytesPerSecond: Double? = nil, filesPerSecond: Double? = nil, secondsLeft: Double? = nil) {
    self.bytesPerSecond = bytesPerSecond
    self.filesPerSecond = filesPerSecond
    self.secondsLeft = secondsLeft
  }
}

/// Measures the throughput of a run over the last seconds, from a sample for each frame that is drawn.
package struct ThroughputWindow: Sendable {
  private struct Sample {
    let at: ContinuousClock.Instant
    let stored: Double
    let worked: Double
    let files: Double
  }
  private let span: Duration
  private var samples: [Sample] = []

  /// - Parameter span: how far back it looks.
  package init(span: Duration = .seconds(10)) {
    self.span = span
  }

  /// Takes note of `state` as it is at `instant`, and gives the throughput until then.
  package mutating func throughput(of state: IngestState, at instant: ContinuousClock.Instant)
    -> RunThroughput
  {
    samples.append(
      Sample(
        at: instant, stored: Double(state.publishedBytes + state.sentBytes),
        worked: Double(state.workedBytes),
        files: Double(state.done)))
    // The newest of those that are too old is kept: it is where the window begins.
    while samples.count > 2, samples[1].at <= instant - span { samples.removeFirst() }
    return throughput(of: state)
  }

  private func throughput(of state: IngestState) -> RunThroughput {
    guard let first = samples.first, let last = samples.last else { return RunThroughput() }
    let seconds = (last.at - first.at) / .seconds(1)
    guard seconds >= 0.5 else { return RunThroughput() }
    let stored = (last.stored - first.stored) / seconds
    let files = (last.files - first.files) / seconds
    return RunThroughput(
      bytesPerSecond: stored > 0 ? stored : nil,
      filesPerSecond: files > 0 ? files : nil,
      secondsLeft: secondsLeft(state, worked: last.worked - first.worked, in: seconds))
  }

  /// The least that tells how fast bytes go, however few there are: a text of ten bytes that was refused does not.
  private static let tellingBytes = 65_536.0
  /// The share of all bytes that tells it, however few those are.
  private static let tellingShare = 0.01

  private func secondsLeft(_ state: IngestState, worked: Double, in seconds: Double) -> Double? {
    let telling = min(Self.tellingBytes, Double(state.foundBytes) * Self.tellingShare)
    guard state.scanComplete, worked > 0, worked >= telling else { return nil }
    let left = Double(max(0, state.foundBytes - state.workedBytes)) / worked * seconds
    // Above four days it is a guess that helps nobody.
    return left < 360_000 ? left : nil
  }
}

extension IngestState {
  /// Bytes sent of files in flight.
  var sentBytes: Int64 { inFlight.reduce(0) { $0 + ($1.progress?.sent ?? 0) } }

  /// Bytes of files that have had their end, and those sent of files in flight.
  var workedBytes: Int64 { doneBytes + sentBytes }
}
