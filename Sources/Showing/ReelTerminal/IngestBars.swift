import ReelCore
import ReelIngest

/// Progress as bars: a line for the run and one for each file in flight (`--progress bar`).
package enum IngestBars {
  /// The default number of files that get a line of their own.
  package static let filesShown = 8

  /// The lines of a frame, each at least one cell narrower than the terminal.
  ///
  /// - Parameters:
  ///   - throughput: from a ``ThroughputWindow``; nil if unknown.
  ///   - filesShown: the largest number of lines for files; one more line counts the rest.
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

  /// The number of lines for files. A frame taller than the screen could not be redrawn, and it also needs a line for
  /// the run, one for the count of the rest, and one for the cursor.
  private static func room(_ traits: TerminalTraits, _ filesShown: Int) -> Int {
    traits.rows.map { min(filesShown, $0 - 3) } ?? filesShown
  }
}

/// Draws frames of ``IngestBars`` in place. Call ``frame(_:throughput:above:traits:)`` on a timer, never for each
/// event, and ``clear(traits:)`` before anything else is written to the same terminal.
///
/// It stores what is on the screen, but nothing of the run. The escape sequences are those of ECMA-48 (cursor up, erase
/// in line, erase in page) and DEC's autowrap mode.
package struct BarsRenderer: Sendable {
  private let filesShown: Int
  /// The number of cells of each line on the screen.
  private var drawn: [Int] = []

  /// - Parameter filesShown: the largest number of lines for files in flight.
  package init(filesShown: Int = IngestBars.filesShown) {
    self.filesShown = filesShown
  }

  /// Returns what to write so that the screen shows `state`.
  ///
  /// - Parameters:
  ///   - above: lines that stay, from ``ProblemSummary/lines(for:_:)``; they scroll up above the bars.
  ///   - traits: of the terminal as it is now, because the window may have been resized.
  package mutating func frame(
    _ state: IngestState, throughput: RunThroughput? = nil, above: [String] = [], traits: TerminalTraits
  ) -> String {
    let lines = IngestBars.frame(state, throughput: throughput, traits: traits, filesShown: filesShown)
    var text = backToTop(traits)
    // Erase first: after a line that fills the width, xterm's cursor is still in the last cell.
    for line in above { text += Self.eraseToEndOfLine + line + "\n" }
    // Without wrapping, a line that is wider than computed can't become two.
    text += Self.wrapOff
    for line in lines { text += line.text(traits) + Self.eraseToEndOfLine + "\n" }
    text += Self.wrapOn + Self.eraseBelow
    drawn = lines.map(\.columns)
    return text
  }

  /// Returns what to write to remove the bars from the screen; the cursor is then where they began.
  package mutating func clear(traits: TerminalTraits) -> String {
    guard !drawn.isEmpty else { return "" }
    defer { drawn = [] }
    return backToTop(traits) + Self.eraseBelow
  }

  /// Moves the cursor to the first line. In terminals that reflow, a narrower window has broken the lines that no
  /// longer fit.
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

struct FileLine {
  let file: FileInFlight
  let traits: TerminalTraits

  /// The line, at least one cell narrower than the terminal.
  func line() -> StyledLine {
    let columns = traits.redrawColumns
    let line =
      switch columns {
      case ..<30: narrow(columns)
      case ..<60: middling(columns)
      default: wide(columns)
      }
    return line.cut(to: columns, mark: traits.ellipsis)
  }

  /// `clip.mov  45%`
  private func narrow(_ columns: Int) -> StyledLine {
    let short: String? = if case .retrying = file.step { nil } else { file.percent }
    let right = DisplayWidth.paddedLeft(short ?? file.shortStepWord, to: FileInFlight.percentColumns)
    return name(columns - FileInFlight.percentColumns - 1) + " " + StyledLine(right, stepStyle)
  }

  /// `clip.mov  uploading  45%`
  private func middling(_ columns: Int) -> StyledLine {
    let right = FileInFlight.stepColumns + FileInFlight.percentColumns + 3
    return name(columns - right) + "  " + step(then: file.percent.map(percent))
  }

  /// `clip.mov  uploading [====------]  45%`
  private func wide(_ columns: Int) -> StyledLine {
    let bar = min(30, columns / 4)
    let right = FileInFlight.stepColumns + FileInFlight.percentColumns + bar + 6
    return name(columns - right) + "  "
      + step(then: file.percent.map { self.bar(bar) + " " + percent($0) })
  }

  private func name(_ columns: Int) -> StyledLine {
    let name = traits.sanitized(file.file.path.fileName ?? file.file.path.text)
    let cut = DisplayWidth.cuttingMiddle(name, to: columns, mark: traits.ellipsis)
    return StyledLine(DisplayWidth.padded(cut, to: columns))
  }

  private func step(then progress: StyledLine?) -> StyledLine {
    guard let progress else { return StyledLine(file.stepWord, stepStyle) }
    return StyledLine(DisplayWidth.padded(file.stepWord, to: FileInFlight.stepColumns), stepStyle) + " "
      + progress
  }

  private var stepStyle: StyledLine.TextStyle {
    if case .retrying = file.step { .warning } else { .dim }
  }

  private func percent(_ text: String) -> StyledLine {
    StyledLine(DisplayWidth.paddedLeft(text, to: FileInFlight.percentColumns))
  }

  private func bar(_ columns: Int) -> StyledLine {
    let (sent, total) = (file.progress?.sent ?? 0, file.progress?.total ?? 1)
    let share = Double(min(max(0, sent), total)) / Double(max(1, total))
    let full = Int(share * Double(columns))
    return StyledLine(
      "[" + String(repeating: "=", count: full) + String(repeating: "-", count: columns - full) + "]")
  }
}

extension FileInFlight {
  /// The progress of its transfer; nil before that begins.
  var progress: TransferProgress? {
    switch step {
    case .reading, .probed, .named: nil
    case .uploading(let progress), .retrying(let progress): progress
    }
  }

  /// What is being done with the file, in at most ``stepColumns`` cells.
  var stepWord: String {
    switch step {
    case .reading: "reading"
    case .probed: "probed"
    case .named: "starting"
    case .uploading: "uploading"
    case .retrying(let progress): progress.attempt < 1000 ? "retry \(progress.attempt)" : "retry"
    }
  }

  static let stepColumns = 9

  /// The same in at most ``percentColumns`` cells.
  var shortStepWord: String {
    switch step {
    case .reading, .probed: "read"
    case .named: "open"
    case .uploading: "send"
    case .retrying(let progress): progress.attempt < 10 ? "try\(progress.attempt)" : "try+"
    }
  }

  /// `45%` once the upload has begun.
  var percent: String? {
    progress.flatMap { HumanNumber.percent($0.sent, of: $0.total) }
  }

  /// The number of cells of `100%`.
  static let percentColumns = 4
}
