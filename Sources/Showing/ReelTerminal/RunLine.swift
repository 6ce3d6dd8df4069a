import ReelIngest

/// The line of the run: as many of its parts as fit, by importance.
struct RunLine {
  let state: IngestState
  let throughput: RunThroughput
  let traits: TerminalTraits

  private struct Part {
    /// If two parts do not both fit, the one with the higher rank stays.
    let rank: Int
    let line: StyledLine

    init(_ rank: Int, _ text: String, _ style: StyledLine.TextStyle? = nil) {
      self.rank = rank
      line = StyledLine(text, style)
    }
  }

  /// The line, at least one cell narrower than the terminal.
  func line() -> StyledLine {
    let columns = traits.redrawColumns
    var kept = parts()
    while kept.count > 1, Self.joined(kept).columns > columns {
      guard let least = kept.indices.min(by: { kept[$0].rank < kept[$1].rank }) else { break }
      kept.remove(at: least)
    }
    return Self.joined(kept).cut(to: columns, mark: traits.ellipsis)
  }

  func whole() -> StyledLine { Self.joined(parts()) }

  private static func joined(_ parts: [Part]) -> StyledLine {
    parts.dropFirst().reduce(parts.first?.line ?? StyledLine()) { $0 + "  " + $1.line }
  }

  private func parts() -> [Part] {
    var parts = [Part(9, files, .strong)]
    if state.dryRun { parts.append(Part(3, "dry run")) }
    if let bytes { parts.append(Part(5, bytes)) }
    if let speed { parts.append(Part(6, speed)) }
    if let left = throughput.secondsLeft { parts.append(Part(7, HumanNumber.clock(left) + " left")) }
    if state.failed > 0 { parts.append(Part(8, "\(state.failed) failed", .failure)) }
    if state.refused > 0 { parts.append(Part(4, "\(state.refused) refused", .warning)) }
    if state.removed > 0 { parts.append(Part(2, "\(state.removed) removed", .dim)) }
    if state.duplicates > 0 {
      parts.append(Part(2, HumanNumber.count(state.duplicates, "duplicate", "duplicates"), .dim))
    }
    return parts
  }

  /// During the walk, the total is only the number found so far.
  private var files: String {
    state.scanComplete
      ? "\(state.done)/\(state.found) files"
      : "\(state.done)/\(state.found)\(traits.unicode ? "…" : "+") files"
  }

  private var bytes: String? {
    guard state.foundBytes > 0 else { return nil }
    let worked = HumanNumber.bytes(state.workedBytes)
    return state.scanComplete ? "\(worked) of \(HumanNumber.bytes(state.foundBytes))" : worked
  }

  private var speed: String? {
    if let bytes = throughput.bytesPerSecond { return HumanNumber.rate(bytes) }
    return throughput.filesPerSecond.map { HumanNumber.decimal($0, places: $0 < 10 ? 1 : 0) + " files/s" }
  }
}

/// The speed of a run, as far as it is known.
package struct RunThroughput: Hashable, Sendable {
  /// Bytes stored per second; nil if unknown, or if nothing is being stored.
  package var bytesPerSecond: Double?
  /// Files ended per second; nil if unknown.
  package var filesPerSecond: Double?
  /// Nil if unknown, because the walk is not complete or too little has been measured.
  package var secondsLeft: Double?

  package init(bytesPerSecond: Double? = nil, filesPerSecond: Double? = nil, secondsLeft: Double? = nil) {
    self.bytesPerSecond = bytesPerSecond
    self.filesPerSecond = filesPerSecond
    self.secondsLeft = secondsLeft
  }
}

/// Measures the throughput of a run over the last seconds, with one sample for each frame.
package struct ThroughputWindow: Sendable {
  private struct Sample {
    let at: ContinuousClock.Instant
    let stored: Double
    let worked: Double
    let files: Double
  }
  private let span: Duration
  private var samples: [Sample] = []

  package init(span: Duration = .seconds(10)) {
    self.span = span
  }

  /// Adds a sample of `state` at `instant`, and returns the throughput up to then.
  package mutating func throughput(of state: IngestState, at instant: ContinuousClock.Instant)
    -> RunThroughput
  {
    samples.append(
      Sample(
        at: instant, stored: Double(state.publishedBytes + state.sentBytes),
        worked: Double(state.workedBytes),
        files: Double(state.done)))
    // Keep the newest sample that is too old, because the window begins there.
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

  /// The fewest bytes from which a speed can be estimated: a refused text of ten bytes is not enough.
  private static let tellingBytes = 65_536.0
  /// The share of all bytes from which it can be estimated, if that is fewer.
  private static let tellingShare = 0.01

  private func secondsLeft(_ state: IngestState, worked: Double, in seconds: Double) -> Double? {
    let telling = min(Self.tellingBytes, Double(state.foundBytes) * Self.tellingShare)
    guard state.scanComplete, worked > 0, worked >= telling else { return nil }
    let left = Double(max(0, state.foundBytes - state.workedBytes)) / worked * seconds
    // An estimate above four days is of no use.
    return left < 360_000 ? left : nil
  }
}

extension IngestState {
  /// The number of bytes sent of files in flight.
  var sentBytes: Int64 { inFlight.reduce(0) { $0 + ($1.progress?.sent ?? 0) } }

  /// The number of bytes of files that have ended, plus those sent of files in flight.
  var workedBytes: Int64 { doneBytes + sentBytes }
}

/// The style of the progress display (`--progress`).
package enum ProgressStyle: String, Hashable, Sendable, CaseIterable {
  /// Bars where they can be drawn and no CI runner keeps them as a log; otherwise plain lines; nothing if quiet.
  case auto
  case bar
  case plain
  case none

  /// Resolves `auto` for `traits`, and replaces bars that cannot be drawn there with `plain`; never returns `auto`.
  package func resolved(for traits: TerminalTraits, quiet: Bool) -> ProgressStyle {
    switch self {
    case .none, .plain: self
    case .bar: traits.canRedraw ? .bar : .plain
    case .auto: quiet ? .none : traits.canRedraw && !traits.isKept ? .bar : .plain
    }
  }
}
