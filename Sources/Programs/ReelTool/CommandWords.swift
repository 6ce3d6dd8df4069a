import ArgumentParser
import ReelCore

/// The words at the beginning of a command line that choose a command. The parser takes one that is none for a value, and
/// says nothing of it where help is asked for.
enum CommandWords {
  /// - Throws: a usage error for a word that is not a command, with the one that may have been meant.
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
        // What follows a command that has none is its own.
        if commands.isEmpty, !isHelp { return }
        throw unknown(word, of: command, commands)
      }
      command = next
    }
  }

  /// In `-dash.mp4` the parser finds the flag `-h`, and prints help. (`-o=x.jpg` has a value.)
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

  /// What other tools call it.
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
