import Glibc
import ReelCore

/// What the place that text goes to can show. Pure: ``init(isTerminal:columns:rows:environment:)`` decides from
/// given facts, ``of(descriptor:environment:)`` asks the system for them.
package struct TerminalTraits: Hashable, Sendable {
  /// Whether a person sees it as it is written.
  package var isTerminal: Bool
  /// Cells in a line, at least 1. Nil where lines have no end: a file, a pipe, a log.
  package var columns: Int?
  /// Lines of the screen, at least 1; nil when unknown.
  package var rows: Int?
  /// Whether colours may be used. They only help: no fact is told by colour alone.
  package var colour: Bool
  /// Whether characters beyond ASCII can be shown.
  package var unicode: Bool
  /// Whether lines that were written can be written over (not `TERM=dumb`, not a pipe).
  package var canRedraw: Bool
  /// Whether a CI runner keeps what is written as a log, even where it gives a terminal.
  package var isKept = false

  /// - Parameters:
  ///   - columns: nil for no limit; values below 1 count as 1.
  ///   - rows: nil for unknown; values below 1 count as 1.
  package init(
    isTerminal: Bool = false, columns: Int? = nil, rows: Int? = nil, colour: Bool = false,
    unicode: Bool = true,
    canRedraw: Bool = false
  ) {
    self.isTerminal = isTerminal
    self.columns = columns.map { max(1, $0) }
    self.rows = rows.map { max(1, $0) }
    self.colour = colour
    self.unicode = unicode
    self.canRedraw = canRedraw
  }

  /// From what the system and the environment say.
  ///
  /// - `COLUMNS` stands in for a width that the system does not know; a terminal without either has 80.
  /// - Colour: as `REEL_COLOR` says, `always` or `never` (`--color` sets it); else never with `NO_COLOR` (no-color.org: set and not empty) or `TERM=dumb`; else anywhere with
  ///   `CLICOLOR_FORCE`, and on a terminal unless `CLICOLOR=0` (bixense.com/clicolors).
  /// - Unicode: by the first of `LC_ALL`, `LC_CTYPE`, `LANG` that says something. When none does, yes: terminals
  ///   and logs of today are UTF-8, and a container's environment is often bare.
  package init(isTerminal: Bool, columns: Int?, rows: Int? = nil, environment: [String: String]) {
    let kind = environment["TERM"] ?? ""
    // As many as a terminal can say that it has.
    let named = environment["COLUMNS"].flatMap { UInt16($0) }.flatMap { $0 > 0 ? Int($0) : nil }
    self.init(
      isTerminal: isTerminal,
      columns: columns ?? named ?? (isTerminal ? 80 : nil),
      rows: rows,
      colour: Self.allowsColour(environment, isTerminal: isTerminal && !kind.isEmpty),
      unicode: Self.showsUnicode(environment),
      canRedraw: isTerminal && !kind.isEmpty && kind != "dumb")
    isKept = environment["CI"].map { !["", "0", "false"].contains($0) } ?? false
  }

  private static func allowsColour(_ environment: [String: String], isTerminal: Bool) -> Bool {
    switch environment["REEL_COLOR"] {
    case "always": return true
    case "never": return false
    default: break
    }
    if let refused = environment["NO_COLOR"], !refused.isEmpty { return false }
    if environment["TERM"] == "dumb" { return false }
    if let force = environment["CLICOLOR_FORCE"], !force.isEmpty, force != "0" { return true }
    return isTerminal && environment["CLICOLOR"] != "0"
  }

  private static func showsUnicode(_ environment: [String: String]) -> Bool {
    let said = ["LC_ALL", "LC_CTYPE", "LANG"].lazy.compactMap { environment[$0] }.first { !$0.isEmpty }
    guard let said = said?.lowercased() else { return true }
    return said.contains("utf-8") || said.contains("utf8")
  }
}

extension TerminalTraits {
  /// `text` from a file or a stranger, made harmless for this place.
  package func sanitized(_ text: String) -> String {
    SanitizedText.line(text, asciiOnly: !unicode)
  }

  /// A command of words that ``ShellWord`` has quoted, to be copied from here: an escape would make it another one.
  func command(_ text: String) -> String { sanitized(unicode ? text : ShellWord.inASCII(text)) }

  /// What stands for characters that were left out.
  var ellipsis: String { unicode ? "…" : "..." }

  /// Between two sides of a rectangle.
  var times: String { unicode ? "×" : "x" }

  /// Cells that a line drawn in place may take: the last one stays free, because terminals differ in what they do
  /// after a character in it.
  var redrawColumns: Int { max(1, (columns ?? 80) - 1) }

  /// As much of `text`, harmless already, as a line that is drawn in place may hold: one that wraps is not drawn over.
  package func redrawn(_ text: String) -> String {
    DisplayWidth.cuttingEnd(text, to: redrawColumns, mark: ellipsis)
  }
}

extension TerminalTraits {
  /// What `descriptor` is now: asks the system for its kind and size. Cheap; ask again before each frame, and a
  /// resized window needs no signal.
  package static func of(descriptor: Int32, environment: [String: String]) -> TerminalTraits {
    let isTerminal = isatty(descriptor) == 1
    var size = winsize()
    let hasSize = isTerminal && ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0
    return TerminalTraits(
      isTerminal: isTerminal,
      columns: hasSize && size.ws_col > 0 ? Int(size.ws_col) : nil,
      rows: hasSize && size.ws_row > 0 ? Int(size.ws_row) : nil,
      environment: environment)
  }

  package static func standardOutput() -> TerminalTraits {
    of(descriptor: STDOUT_FILENO, environment: environment())
  }

  package static func standardError() -> TerminalTraits {
    of(descriptor: STDERR_FILENO, environment: environment())
  }

  static func environment() -> [String: String] {
    let names = [
      "TERM", "COLUMNS", "CI", "REEL_COLOR", "NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "LC_ALL", "LC_CTYPE",
      "LANG",
    ]
    return names.reduce(into: [:]) { found, name in
      found[name] = getenv(name).map { String(cString: $0) }
    }
  }
}
