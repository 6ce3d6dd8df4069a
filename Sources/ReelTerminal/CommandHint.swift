import ReelCore

/// Writes the commands that hints name, so that they can be copied as they are: a library that was named by a flag
/// is named by it again.
package struct CommandHint: Hashable, Sendable {
  private let library: String?

  /// - Parameter library: what `--library` was given; nil when it was not, for then the next command finds the
  ///   library the same way.
  package init(library: String? = nil) { self.library = library }

  /// `arguments` behind the program's name, with the library behind the first of them, the command's name.
  package func text(_ command: String, _ arguments: String = "") -> String {
    let place = library.map { " --library " + ShellWord.quoted(Array($0.utf8)) } ?? ""
    return "reel \(command)\(place)" + (arguments.isEmpty ? "" : " " + arguments)
  }
}
