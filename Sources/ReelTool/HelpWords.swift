import ArgumentParser

/// `reel help WORDS`. The parser prints the help of what it knows of the words, and takes the rest for done.
enum HelpWords {
  /// - Throws: a usage error for a word that is not a command.
  static func check(_ arguments: some Collection<String>) throws {
    guard arguments.first == "help" else { return }
    var command: any ParsableCommand.Type = ReelTool.self
    for word in arguments.dropFirst() where !word.hasPrefix("-") && word != "help" {
      guard let next = command.configuration.subcommands.first(where: { $0._commandName == word }) else {
        throw ValidationError("There is no command '\(word)'.")
      }
      command = next
    }
  }
}
