import ArgumentParser
import FoundationEssentials
import ReelCore

/// What begins as an option does and is none of its command's. The parser tells it only where nothing else is missing, and
/// takes for near what has no letter in common.
enum UnknownOption {
  /// The first of them, in words; nil where there is none.
  static func told(in arguments: [String]) -> String? {
    var command: any ParsableCommand.Type = ReelTool.self
    var rest = arguments[...]
    while let next = command.configuration.subcommands.first(where: { $0._commandName == rest.first }) {
      command = next
      rest = rest.dropFirst()
    }
    let options = options(of: command)
    let names = rest.prefix { $0 != "--" }.filter(isOption).map { String($0.prefix { $0 != "=" }) }
    guard let unknown = names.first(where: { options[$0] == nil }) else { return nil }
    let shown = options.filter(\.value).keys.filter { $0.hasPrefix("--") }.map { String($0.dropFirst(2)) }
    let nearest = NearestWord.nearest(to: String(unknown.drop { $0 == "-" }), among: shown)
    return "unknown option '\(unknown)'" + (nearest.map { ". Did you mean '--\($0)'?" } ?? "")
  }

  /// `--long`, `--long=value`, `-s`: no number, and no row of letters.
  private static func isOption(_ argument: String) -> Bool {
    let letters = argument.drop { $0 == "-" }
    return argument.hasPrefix("-") && letters.first?.isLetter == true
      && (argument.hasPrefix("--") || letters.prefix { $0 != "=" }.count == 1)
  }

  /// The names, and whether help shows them.
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
