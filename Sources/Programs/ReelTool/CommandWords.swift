import ArgumentParser
import ReelCore

/// The words at the beginning of a command line that choose a command. The argument parser takes an unknown one for a
/// value, and does not report it where help is asked for.
enum CommandWords {
  /// - Throws: a usage error for a word that is not a command; it suggests the command that may have been meant.
  static func check(_ arguments: some Collection<String>) throws {
    try checkFlags(arguments)
    let isHelp = arguments.first == "help"
    var command: any ParsableCommand.Type = ReelTool.self
    for word in isHelp ? arguments.dropFirst() : arguments[...] {
      if word.hasPrefix("-") || word == "help" {
        if isHelp { continue } else { return }
      }
      let commands = command.configuration.subcommands
      guard let next = commands.first(where: { $0._commandName == word }) else {
        // The command has no subcommands, so the words that follow are its arguments.
        if commands.isEmpty, !isHelp { return }
        throw unknown(word, of: command, commands)
      }
      command = next
    }
  }

  /// Rejects a file name such as `-dash.mp4`, in which the parser finds the flag `-h`, and prints help. (`-o=x.jpg` is
  /// allowed: an option with a value.)
  private static func checkFlags(_ arguments: some Collection<String>) throws {
    for argument in arguments.prefix(while: { $0 != "--" }) {
      guard argument.hasPrefix("-"), !argument.hasPrefix("--"), argument.contains("h"),
        !argument.contains("="),
        argument.contains(where: { $0 == "." || $0 == "/" })
      else { continue }
      throw ValidationError(
        "there is no option '\(argument)'; for a file of that name write './\(argument)'.")
    }
  }

  /// The names that other tools give to these commands.
  private static let elsewhere = [
    "add": "ingest", "import": "ingest", "upload": "ingest", "scan": "ingest", "list": "feed", "ls": "feed",
    "search": "feed", "delete": "remove", "rm": "remove", "undo": "restore", "undelete": "restore",
    "info": "probe", "inspect": "probe", "check": "validate", "fix": "mend", "repair": "doctor",
    "thumbnail": "poster",
  ]

  private static func unknown(
    _ word: String, of command: any ParsableCommand.Type, _ commands: [any ParsableCommand.Type]
  ) -> ValidationError {
    let path = command == ReelTool.self ? "reel" : "reel \(command._commandName)"
    let nearest =
      (command == ReelTool.self ? elsewhere[word] : nil)
      ?? NearestWord.nearest(to: word, among: commands.map { $0._commandName })
    return ValidationError(
      "there is no command '\(path) \(word)'; "
        + (nearest.map { "did you mean '\(path) \($0)'?" } ?? "'\(path) --help' lists the commands."))
  }
}
