import ReelIngest

/// Draws frames of ``IngestBars`` in place. Call ``frame(_:throughput:above:traits:)`` on a clock, never once an event,
/// and ``clear(traits:)`` before anything else is written to the same terminal.
///
/// It holds what is on the screen, and nothing of the run. The sequences are those of ECMA-48 (cursor up, erase in
/// line, erase in page) and DEC's autowrap mode.
package struct BarsRenderer: Sendable {
  private let filesShown: Int
  /// Cells of each line on the screen.
  private var drawn: [Int] = []

  /// - Parameter filesShown: at most so many lines for files in flight.
  package init(filesShown: Int = IngestBars.filesShown) {
    self.filesShown = filesShown
  }

  /// What to write so that the screen shows `state`.
  ///
  /// - Parameters:
  ///   - above: lines that stay, from ``Announcements/lines(for:traits:)``; they scroll up above the bars.
  ///   - traits: of the terminal now: a window that was resized is measured anew.
  package mutating func frame(
    _ state: IngestState, throughput: RunThroughput? = nil, above: [String] = [], traits: TerminalTraits
  ) -> String {
    let lines = IngestBars.frame(state, throughput: throughput, traits: traits, filesShown: filesShown)
    var text = backToTop(traits)
    for line in above { text += line + Self.eraseToEndOfLine + "\n" }
    // Without wrapping a line that is wider than we think cannot become two.
    text += Self.wrapOff
    for line in lines { text += line.text(traits) + Self.eraseToEndOfLine + "\n" }
    text += Self.wrapOn + Self.eraseBelow
    drawn = lines.map(\.columns)
    return text
  }

  /// What to write to take the bars off the screen; the cursor stands where they began.
  package mutating func clear(traits: TerminalTraits) -> String {
    guard !drawn.isEmpty else { return "" }
    defer { drawn = [] }
    return backToTop(traits) + Self.eraseBelow
  }

  /// A window made narrower breaks a line that no longer fits into several, in every terminal that reflows.
  private func backToTop(_ traits: TerminalTraits) -> String {
    let width = max(1, traits.columns ?? 80)
    let rows = drawn.reduce(0) { $0 + max(1, ($1 + width - 1) / width) }
    guard rows > 0 else { return "" }
    let reachable = traits.rows.map { max(1, $0 - 1) } ?? rows
    return "\r\u{1B}[\(min(rows, reachable))A"
  }

  private static let eraseToEndOfLine = "\u{1B}[K"
  private static let eraseBelow = "\u{1B}[J"
  private static let wrapOff = "\u{1B}[?7l"
  private static let wrapOn = "\u{1B}[?7h"
}
