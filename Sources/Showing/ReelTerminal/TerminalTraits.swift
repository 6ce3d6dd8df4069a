import Glibc
import ReelCore

/// What an output can display. ``init(isTerminal:columns:rows:environment:)`` is pure and decides from given facts;
/// ``of(descriptor:environment:)`` asks the system for them.
package struct TerminalTraits: Hashable, Sendable {
  /// Whether it is a terminal, where people see the text as it is written.
  package var isTerminal: Bool
  /// The number of cells in a line, at least 1. Nil for a file, a pipe or a log, whose lines have no limit.
  package var columns: Int?
  /// The number of lines on the screen, at least 1; nil if unknown.
  package var rows: Int?
  /// Whether colors may be used. They only help: nothing is conveyed by color alone.
  package var colour: Bool
  /// Whether characters beyond ASCII can be shown.
  package var unicode: Bool
  /// Whether lines already written can be overwritten (not with `TERM=dumb`, not in a pipe).
  package var canRedraw: Bool
  /// Whether a CI runner keeps the output as a log, even if it provides a terminal.
  package var isKept = false

  /// - Parameters:
  ///   - columns: nil for no limit; values below 1 count as 1.
  ///   - rows: nil if unknown; values below 1 count as 1.
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

  /// Creates traits from what the system and the environment say.
  ///
  /// - `COLUMNS` is used if the system does not know the width; a terminal without either has 80.
  /// - Color: as `REEL_COLOR` says, `always` or `never` (`--color` sets it); otherwise never with `NO_COLOR`
  ///   (no-color.org: set and not empty) or `TERM=dumb`; otherwise anywhere with `CLICOLOR_FORCE`, and on a terminal
  ///   unless `CLICOLOR=0` (bixense.com/clicolors).
  /// - Unicode: by the first of `LC_ALL`, `LC_CTYPE`, `LANG` that is set and not empty. If none is, yes: terminals and
  ///   logs of today are UTF-8, and a container often has a bare environment.
  package init(isTerminal: Bool, columns: Int?, rows: Int? = nil, environment: [String: String]) {
    let kind = environment["TERM"] ?? ""
    // The largest width that a terminal can report.
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
  /// Sanitizes untrusted `text` for this output.
  package func sanitized(_ text: String) -> String {
    SanitizedText.line(text, asciiOnly: !unicode)
  }

  /// A command of words quoted by ``ShellWord``, to be copied from here. In ASCII output it uses shell quoting, because
  /// an escape would make it another command.
  func command(_ text: String) -> String { sanitized(unicode ? text : ShellWord.inASCII(text)) }

  /// Stands for characters that were left out.
  var ellipsis: String { unicode ? "…" : "..." }

  /// The sign between the two sides of a rectangle.
  var times: String { unicode ? "×" : "x" }

  /// The number of cells that a line drawn in place may take. The last cell stays free, because terminals behave
  /// differently after a character in it.
  var redrawColumns: Int { max(1, (columns ?? 80) - 1) }

  /// As much of `text`, already sanitized, as a line drawn in place may hold, because a wrapped line can't be redrawn.
  package func redrawn(_ text: String) -> String {
    DisplayWidth.cuttingEnd(text, to: redrawColumns, mark: ellipsis)
  }
}

extension TerminalTraits {
  /// Asks the system for the kind and size of `descriptor`. Cheap enough to call before each frame, so that no signal
  /// is needed when a window is resized.
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
