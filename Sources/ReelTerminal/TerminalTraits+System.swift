import Glibc

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

  /// Of standard output, by this process's environment.
  package static func standardOutput() -> TerminalTraits {
    of(descriptor: STDOUT_FILENO, environment: environment())
  }

  /// Of standard error, by this process's environment.
  package static func standardError() -> TerminalTraits {
    of(descriptor: STDERR_FILENO, environment: environment())
  }

  /// The variables that matter here.
  private static func environment() -> [String: String] {
    let names = [
      "TERM", "COLUMNS", "NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "LC_ALL", "LC_CTYPE", "LANG",
    ]
    return names.reduce(into: [:]) { found, name in
      found[name] = getenv(name).map { String(cString: $0) }
    }
  }
}
