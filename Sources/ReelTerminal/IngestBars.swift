import ReelCore
import ReelIngest

/// Progress as bars: a line for the run and one for each file in flight (`--progress bar`).
package enum IngestBars {
  /// Files that get a line of their own, unless said otherwise.
  package static let filesShown = 8

  /// The lines of a frame, none wider than the terminal less one cell.
  ///
  /// - Parameters:
  ///   - throughput: from a ``ThroughputWindow``; nil when it is not known.
  ///   - filesShown: at most so many lines for files; the rest is counted in one more.
  package static func lines(
    _ state: IngestState, throughput: RunThroughput? = nil, traits: TerminalTraits,
    filesShown: Int = filesShown
  ) -> [String] {
    frame(state, throughput: throughput, traits: traits, filesShown: filesShown).map { $0.text(traits) }
  }

  static func frame(
    _ state: IngestState, throughput: RunThroughput?, traits: TerminalTraits, filesShown: Int
  ) -> [StyledLine] {
    let shown = state.inFlight.prefix(max(0, room(traits, filesShown)))
    var lines = [RunLine(state: state, throughput: throughput ?? RunThroughput(), traits: traits).line()]
    lines += shown.map { FileLine(file: $0, traits: traits).line() }
    let hidden = state.inFlight.count - shown.count
    if hidden > 0, traits.rows.map({ lines.count < $0 - 1 }) ?? true {
      let more = "\(traits.ellipsis) and \(hidden) more"
      lines.append(StyledLine(more, .dim).cut(to: traits.redrawColumns, mark: traits.ellipsis))
    }
    return lines
  }

  /// A frame taller than the screen could not be drawn over. It needs a line for the run, one for those that are
  /// only counted, and one for the cursor.
  private static func room(_ traits: TerminalTraits, _ filesShown: Int) -> Int {
    traits.rows.map { min(filesShown, $0 - 3) } ?? filesShown
  }
}
