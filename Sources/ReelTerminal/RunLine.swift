import ReelIngest

/// The line of the run: what fits of it, the most important first.
struct RunLine {
  let state: IngestState
  let throughput: RunThroughput
  let traits: TerminalTraits

  private struct Part {
    /// Of two that do not both fit, the one with the higher rank stays.
    let rank: Int
    let line: StyledLine

    init(_ rank: Int, _ text: String, _ style: StyledLine.TextStyle? = nil) {
      self.rank = rank
      line = StyledLine(text, style)
    }
  }

  /// At most the terminal's width less one cell.
  func line() -> StyledLine {
    let columns = traits.redrawColumns
    var kept = parts()
    while kept.count > 1, Self.joined(kept).columns > columns {
      guard let least = kept.indices.min(by: { kept[$0].rank < kept[$1].rank }) else { break }
      kept.remove(at: least)
    }
    return Self.joined(kept).cut(to: columns, mark: traits.ellipsis)
  }

  /// All of it, however wide.
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
    if state.duplicates > 0 {
      parts.append(Part(2, HumanNumber.count(state.duplicates, "duplicate", "duplicates"), .dim))
    }
    return parts
  }

  /// While the walk goes on the total is only what was found so far.
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
