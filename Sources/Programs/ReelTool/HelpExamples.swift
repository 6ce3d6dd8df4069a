import ArgumentParser

extension CommandConfiguration {
  /// The parser has no place for examples, so they end the discussion, where scripts/lib/man-pages.py finds them, too.
  /// - Parameter examples: command lines that show what the command is for, each as it is typed.
  init(commandName: String, abstract: String, discussion: String = "", examples: [String]) {
    let lines = examples.map { "  \($0)" }.joined(separator: "\n")
    self.init(
      commandName: commandName, abstract: abstract,
      discussion: (discussion.isEmpty ? "" : discussion + "\n\n") + "Examples:\n" + lines)
  }
}
