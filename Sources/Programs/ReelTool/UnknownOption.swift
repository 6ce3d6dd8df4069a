import ArgumentParser
import FoundationEssentials
import ReelCore

/// An argument that looks like an option but is none of its command's. The parser reports it only if nothing else is
/// missing, and suggests names that have not one letter in common with it.
enum UnknownOption {
  /// The message about the first such argument; nil where there is none.
  static func told(in arguments: [String]) -> String? {
    var command: any ParsableCommand.Type = ReelTool.self
    var rest = arguments[...]
    while let next = command.configuration.subcommands.first(where: { $0._commandName == rest.first }) {
      command = next
      rest = rest.dropFirst()
    }
    let options = options(of: command)
    let words = rest.prefix { $0 != "--" }
    if let file = words.first(where: { $0.hasPrefix("-") && RawArguments.path($0).fileStatus != nil }),
      options[file] == nil
    {
      let path = RawArguments.bytes(of: file)
      return
        "\(SourcePath(bytes: path).text) is taken for an option; write the file's name as \(ShellWord.quoted(path))"
    }
    let names = words.filter(isOption).map { String($0.prefix { $0 != "=" }) }
    guard let unknown = names.first(where: { options[$0] == nil }) else { return nil }
    let shown = options.filter(\.value).keys.filter { $0.hasPrefix("--") }.map { String($0.dropFirst(2)) }
    let nearest = NearestWord.nearest(to: String(unknown.drop { $0 == "-" }), among: shown)
    return "unknown option '\(unknown)'" + (nearest.map { ". Did you mean '--\($0)'?" } ?? "")
  }

  /// Whether an argument is written like an option (`--long`, `--long=value`, `-s`); a number or a row of letters is
  /// not.
  private static func isOption(_ argument: String) -> Bool {
    let letters = argument.drop { $0 == "-" }
    return argument.hasPrefix("-") && letters.first?.isLetter == true
      && (argument.hasPrefix("--") || letters.prefix { $0 != "=" }.count == 1)
  }

  /// The command's option names, and whether help shows each.
  private static func options(of command: any ParsableCommand.Type) -> [String: Bool] {
    let dump = try? JSONDecoder().decode(Dump.self, from: Data(command._dumpHelp().utf8))
    var options = ["--help": true, "-h": true, "--version": true]
    for argument in dump?.command.arguments ?? [] {
      for name in argument.names ?? [] {
        options[(name.kind == "long" ? "--" : "-") + name.name] = argument.shouldDisplay
      }
    }
    return options
  }

  private struct Dump: Decodable {
    struct Command: Decodable { let arguments: [Argument]? }
    struct Argument: Decodable {
      let names: [Name]?
      let shouldDisplay: Bool
    }
    struct Name: Decodable { let kind: String, name: String }
    let command: Command
  }
}
